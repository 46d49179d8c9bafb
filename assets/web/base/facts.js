// @ts-check
// Written by `python -m pages.kit.picture.facts` from the Python side; do not edit.

/** The masks, each with what it does and the numbers that it takes: key, name, and what is usual. @type {{name: string, line: string, numbers: [string, string, number][]}[]} */
export const MASKS = [{"name": "none", "line": "every word may look at every word", "numbers": []}, {"name": "causal", "line": "no word may look at what comes after it", "numbers": []}, {"name": "window", "line": "only at the words near it", "numbers": [["w", "words on either side, and itself", 3]]}, {"name": "prefix", "line": "at the first words and at what came before", "numbers": [["first", "first words", 1]]}, {"name": "sinks", "line": "only at the first words", "numbers": [["first", "first words", 1]]}, {"name": "dilated", "line": "at every s-th word to each side", "numbers": [["w", "words on either side, and itself", 3], ["gap", "steps between them", 2]]}];

/** The encodings of the order, in a few words. @type {Record<string, string>} */
export const POSITIONS = {"as trained": "what the model learnt with", "none": "a bag of words: nothing says who stands where", "shuffled": "the learnt table, its rows in another order", "halved": "the learnt table, half as strong", "doubled": "the learnt table, twice as strong", "sinusoidal": "waves of many lengths, added to each word", "rotary": "queries and keys are turned by their place", "alibi": "scores fall with the distance", "t5": "a number for each distance, here random", "shaw": "a vector for each distance, here random"};

/** The keys of the link of one side of a picture. @type {string[]} */
export const SIDE = ["mask", "w", "first", "gap", "rule", "on", "p", "pos", "t", "off", "unheard"];

/** What `rule` of a link says by default. @type {string} */
export const RULE = "causal & window:4";

/** The words of the field that a text marks, each with its sentence. @type {Record<string, string>} */
export const TERMS = {"model": "A model turns words into numbers and computes with what it learned in training.", "language model": "A language model has learned from text how words go together.", "pretrained": "A pretrained model has learned from much text before; here it is used as it is.", "encoder": "An encoder reads the whole sentence at once, in both directions.", "decoder": "A decoder reads from left to right and says which word comes next.", "next word": "A model that writes gives every word a probability to be the next word.", "token": "A token is what the model reads: a word, a piece of one, or a sign.", "[UNK]": "[UNK] stands for every token that the model does not know.", "[PAD]": "[PAD] fills up the short sentences of a batch; no token may look at it.", "vocabulary": "The vocabulary is the list of all tokens that the model knows.", "vector": "A vector is a list of numbers; the model keeps one for each token.", "embedding": "An embedding is the vector that a token begins with.", "cosine": "The cosine says how alike two vectors are: 1 = same direction, 0 = unrelated.", "bag of words": "In a bag of words only the words count, not their order.", "batch": "A batch is several sentences that the model reads at once.", "attention": "Attention lets each word take in what other words pass on, each by its weight.", "map": "A map shows the weights of one head: each row is one word that looks at others.", "query": "A query is what a token looks for; it makes a row of the map.", "key": "A key is what a token offers to those that look at it; it makes a column.", "value": "A value is what a token passes on to those that look at it.", "score": "A score says how well a key fits a query: their product over √d.", "weight": "A weight is the share of a query’s attention that one key gets; a row sums to 1.", "scaled dot product": "It is the product of a query and a key over √d, which makes a score.", "softmax": "The softmax turns a row of scores into weights: none below 0, together 1.", "temperature": "The temperature divides the scores: below 1 sharpens a row, above 1 blurs it.", "entropy": "The entropy says how spread out a row is: it is 0 where one key gets all.", "head": "A head is one way of looking: its own queries, keys and values, so its own map.", "layer": "A layer is several heads, then a small network; it reads what the one before wrote.", "copying head": "A copying head looks at the word that followed the same word last time.", "barycentre": "A barycentre is a weighted mean of points, as an output is of values.", "explanation": "A map is no explanation: it shows where a head looks, not what that causes.", "tensor": "A tensor is a block of numbers with one axis or several.", "axis": "An axis is a direction of a tensor: batch, query, key, head, feature or channel.", "channel": "A channel is one place in a token’s vector.", "feature": "A feature is one place in a head’s part of that vector.", "projection": "A projection multiplies a vector by a learned matrix, to make a query, say.", "bias": "A bias is a learned number that is added, after a projection or to a score.", "stride": "A stride says how many places in memory one step along an axis jumps.", "contiguous": "Contiguous numbers lie in memory in the order in which they are read.", "rounding": "Rounding is the tiny error of computing with a fixed number of digits.", "mask": "A mask says which query may look at which key; what it forbids gets weight 0.", "causal": "With a causal mask no word may look at what comes after it.", "sinks": "Each word may look only at the first words.", "dilated": "Each word may look at every s-th word to each side.", "combination": "A combination joins several rules by and, or, not.", "positional encoding": "It tells the model where each word stands; without it the order is lost.", "sinusoidal": "Sinusoidal positions are waves of many lengths, added to the embeddings.", "rotary": "Rotary positions turn queries and keys by an angle that grows with their place.", "alibi": "ALiBi lowers a score with the distance, in each head at its own pace.", "t5": "T5’s encoding adds a learnt number for each distance to the score.", "shaw": "Shaw’s encoding adds a learnt vector for each distance to the key.", "parameter": "A parameter is a number of the model that training sets.", "loss": "The loss says how surprised the model is by the right answer; training lowers it.", "gradient": "The gradient says how the loss changes when a parameter does.", "seed": "A seed is where the random numbers begin; another one gives another run.", "epoch": "An epoch is one pass through all training rows.", "accuracy": "The accuracy is the share of unseen sentences that it answers rightly.", "logits": "The logits are the model’s scores of the answers, before the softmax.", "confusion": "The confusion table shows which answers the model takes for which."};

/** The model that is shown where the link names none. @type {string} */
export const MODEL = "minilm";

/** The one whose loading takes long enough to say so. @type {string} */
export const LARGE_MODEL = "smollm2";

/** Bytes of the query of a link. @type {number} */
export const LONGEST_LINK = 6000;

/** What a longer link leaves out, in this order. @type {string[]} */
export const LEFT_OUT = ["longer", "ask2", "ask", "pin", "order", "s2", "s"];

/** Bytes of a query that the server reads. @type {number} */
export const LONGEST_QUERY = 60000;

/** Characters of a sentence that a box keeps. @type {number} */
export const LONGEST_TEXT = 4000;

/** The largest number of a mask. @type {number} */
export const WIDEST = 512;

/** The ends of the softmax temperature. @type {number[]} */
export const TEMPERATURES = [0.1, 5.0];

/** The texts of a link in a sentence. @type {Record<string, string>} */
export const CALLED = {"s": "the sentence", "s2": "the right sentence", "rule": "the rule", "rule2": "the rule of the right side", "on": "the rule that is painted on", "on2": "the rule that is painted on, right,", "order": "the new order", "pad": "the other sentence in the batch", "pin": "the pinned picture"};

/** A single weight between two words that makes a head's kind. @type {number} */
export const STRONG = 0.5;

/** The share of a row that does. @type {number} */
export const MOST_OF_IT = 0.6;
