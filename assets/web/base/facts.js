// Written by `python -m headlight.api.facts` from the Python side; do not edit.

/** The masks, each with its effect and its numbers: key, name and default. @type {{name: string, line: string, numbers: [string, string, number][]}[]} */
export const MASKS = [{"name": "none", "line": "every word may look at every word", "numbers": []}, {"name": "causal", "line": "no word may look at what comes after it", "numbers": []}, {"name": "window", "line": "only at the words near it", "numbers": [["w", "words on either side, and itself", 3]]}, {"name": "prefix", "line": "at the first words and at what came before", "numbers": [["first", "first words", 1]]}, {"name": "sinks", "line": "only at the first words", "numbers": [["first", "first words", 1]]}, {"name": "dilated", "line": "at every s-th word to each side", "numbers": [["w", "words on either side, and itself", 3], ["gap", "steps between them", 2]]}];

/** Short descriptions of the positional encodings. @type {Record<string, string>} */
export const POSITIONS = {"as trained": "what the model learnt with", "none": "a bag of words: nothing says who stands where", "shuffled": "the learnt table, its rows in another order", "halved": "the learnt table, half as strong", "doubled": "the learnt table, twice as strong", "sinusoidal": "waves of many lengths, added to each word", "rotary": "queries and keys are turned by their place", "alibi": "scores fall with the distance", "t5": "a number for each distance, here random", "shaw": "a vector for each distance, here random"};

/** Keys of the link that each side of a picture has. @type {string[]} */
export const SIDE = ["mask", "w", "first", "gap", "rule", "on", "p", "pos", "t", "off", "unheard"];

/** Default of the link's `rule`. @type {string} */
export const RULE = "causal & window:4";

/** The default model. @type {string} */
export const MODEL = "minilm";

/** A model that takes long to load. @type {string} */
export const LARGE_MODEL = "smollm2";

/** Label of the column for weight that goes to no token. @type {string} */
export const NOBODY = "no word";

/** Longest query of a link, in bytes. @type {number} */
export const MAX_LINK_BYTES = 6000;

/** Keys that are dropped from a longer link, in this order. @type {string[]} */
export const LEFT_OUT = ["longer", "ask2", "ask", "pin", "order", "s2", "s"];

/** Longest query that the server accepts, in bytes. @type {number} */
export const MAX_QUERY_BYTES = 60000;

/** Longest sentence that is computed, in characters. @type {number} */
export const MAX_SENTENCE_LENGTH = 12000;

/** Longest sentence that a field accepts, in characters. @type {number} */
export const MAX_TEXT_LENGTH = 24000;

/** Longest rule of a mask, in characters. @type {number} */
export const MAX_RULE_LENGTH = 200;

/** Largest number in a rule of a mask. @type {number} */
export const MAX_WINDOW = 512;

/** Range of the softmax temperature. @type {number[]} */
export const TEMPERATURES = [0.1, 5.0];

/** Nouns for the texts of a link. @type {Record<string, string>} */
export const CALLED = {"s": "the sentence", "s2": "the right sentence", "rule": "the rule", "rule2": "the rule of the right side", "on": "the rule that is painted on", "on2": "the rule that is painted on, right,", "order": "the new order", "pad": "the other sentence in the batch", "pin": "the pinned picture"};
