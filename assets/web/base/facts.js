// Written by `python -m headlight.api.facts` from the Python side; do not edit.

/** The masks, each with what it does and the numbers that it takes: key, name, and what is usual. @type {{name: string, line: string, numbers: [string, string, number][]}[]} */
export const MASKS = [{"name": "none", "line": "every word sees every word", "numbers": []}, {"name": "causal", "line": "no word sees what comes after it", "numbers": []}, {"name": "window", "line": "each word sees only the words near it", "numbers": [["w", "words on each side, including itself", 3]]}, {"name": "prefix", "line": "each word sees the first words and all earlier ones", "numbers": [["first", "first words", 1]]}, {"name": "sinks", "line": "each word sees only the first words", "numbers": [["first", "first words", 1]]}, {"name": "dilated", "line": "each word sees only every 2nd (or s-th) word on each side", "numbers": [["w", "words on each side, including itself", 3], ["gap", "distance between them", 2]]}];

/** The encodings of the order, in a few words. @type {Record<string, string>} */
export const POSITIONS = {"as trained": "the encoding that the model was trained with", "none": "word order removed: the model sees a bag of words", "shuffled": "the learned table with its rows shuffled", "halved": "the learned table, scaled by 0.5", "doubled": "the learned table, scaled by 2", "sinusoidal": "sine waves of many wavelengths, added to each embedding", "rotary": "queries and keys are rotated by their position", "alibi": "scores decrease with the distance", "t5": "a bias on the score for each distance (random here)", "shaw": "a vector for each distance, added to the key (random here)"};

/** The keys of the link of one side of a picture. @type {string[]} */
export const SIDE = ["mask", "w", "first", "gap", "rule", "on", "p", "pos", "t", "off", "unheard"];

/** What `rule` of a link says by default. @type {string} */
export const RULE = "causal & window:4";

/** The model that is shown where the link names none. @type {string} */
export const MODEL = "minilm";

/** The one whose loading takes long enough to say so. @type {string} */
export const LARGE_MODEL = "smollm2";

/** The column for what of a row goes to no word. @type {string} */
export const NOBODY = "no word";

/** Bytes of the query of a link. @type {number} */
export const MAX_LINK_BYTES = 6000;

/** What a longer link leaves out, in this order. @type {string[]} */
export const LEFT_OUT = ["longer", "ask2", "ask", "pin", "order", "s2", "s"];

/** Bytes of a query that the server reads. @type {number} */
export const MAX_QUERY_BYTES = 60000;

/** Characters of a sentence that is computed. @type {number} */
export const MAX_SENTENCE_LENGTH = 12000;

/** Characters of a sentence that a box keeps. @type {number} */
export const MAX_TEXT_LENGTH = 24000;

/** Characters of a mask in written form. @type {number} */
export const MAX_RULE_LENGTH = 200;

/** The largest number of a mask. @type {number} */
export const MAX_WINDOW = 512;

/** The ends of the softmax temperature. @type {number[]} */
export const TEMPERATURES = [0.1, 5.0];

/** The texts of a link in a sentence. @type {Record<string, string>} */
export const CALLED = {"s": "the sentence", "s2": "the right sentence", "rule": "the rule", "rule2": "the rule of the right side", "on": "the rule under the painted cells", "on2": "the rule under the painted cells, right,", "order": "the new order", "pad": "the other sentence in the batch", "pin": "the pinned picture"};
