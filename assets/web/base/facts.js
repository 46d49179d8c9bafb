// Written by `python -m headlight.api.facts` from the Python side; do not edit.

/** What heads do and how it is measured: the one list of names. @type {Record<string, {title: string, text: string}>} */
export const HEAD_KINDS = {"previous": {"title": "previous token", "text": "average weight on the previous token"}, "next": {"title": "next token", "text": "average weight on the next token"}, "itself": {"title": "itself", "text": "average weight on the token itself, without the first row"}, "first": {"title": "first token", "text": "average weight of all other rows on the first token"}, "same": {"title": "same token", "text": "average weight on earlier occurrences of the same token"}, "induction": {"title": "induction", "text": "average weight on what followed the same token before"}, "entropy": {"title": "entropy", "text": "how spread out a row is: 0 bits = one token, 3 bits = as even as over eight tokens"}, "distance": {"title": "distance", "text": "average distance between query and key"}, "value": {"title": "value-weighted share", "text": "share of the layer’s output: weights × norms of the values"}, "effect": {"title": "effect of ablation", "text": "how much the sentence vector rotates without this head"}, "last": {"title": "last token", "text": ""}, "ends": {"title": "first and last", "text": ""}, "pair": {"title": "word pair", "text": ""}, "near": {"title": "neighbours", "text": ""}, "spread": {"title": "spread out", "text": ""}};

/** Size of the texts of every chart’s axes, in pixels. @type {{tick: number, title: number}} */
export const AXIS = {"tick": 13, "title": 14};

/** The masks, each with its effect and its numbers: key, name and default. @type {{name: string, line: string, numbers: [string, string, number][]}[]} */
export const MASKS = [{"name": "none", "line": "every word sees every word", "numbers": []}, {"name": "causal", "line": "no word sees what comes after it", "numbers": []}, {"name": "window", "line": "each word sees only the words near it", "numbers": [["w", "words on each side, including itself", 3]]}, {"name": "prefix", "line": "each word sees the first words and all earlier ones", "numbers": [["first", "first words", 1]]}, {"name": "sinks", "line": "each word sees only the first words", "numbers": [["first", "first words", 1]]}, {"name": "dilated", "line": "each word sees only every 2nd (or s-th) word on each side", "numbers": [["w", "words on each side, including itself", 3], ["gap", "distance between them", 2]]}];

/** Short descriptions of the positional encodings. @type {Record<string, string>} */
export const POSITIONS = {"as trained": "the encoding that the model was trained with", "none": "the words without their order, a bag of words", "shuffled": "the learned table with its rows shuffled", "halved": "the learned table, scaled by 0.5", "doubled": "the learned table, scaled by 2", "sinusoidal": "sine waves of many wavelengths, added to each embedding", "rotary": "queries and keys are rotated by their position", "alibi": "scores decrease with the distance", "t5": "a bias on the score for each distance (random here)", "shaw": "a vector for each distance, added to the key (random here)"};

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

/** Longest sentence that a field accepts, in characters. @type {number} */
export const MAX_TEXT_LENGTH = 24000;

/** Longest rule of a mask, in characters. @type {number} */
export const MAX_RULE_LENGTH = 200;

/** Largest number in a rule of a mask. @type {number} */
export const MAX_WINDOW = 512;

/** Range of the softmax temperature. @type {number[]} */
export const TEMPERATURES = [0.1, 5.0];

/** Nouns for the texts of a link. @type {Record<string, string>} */
export const CALLED = {"s": "the sentence", "s2": "the right sentence", "rule": "the rule", "rule2": "the rule of the right side", "on": "the rule under the painted cells", "on2": "the rule under the painted cells, right,", "order": "the new order", "pad": "the other sentence in the batch", "pin": "the pinned picture"};
