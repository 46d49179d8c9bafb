"""The words of the field, each in one sentence, with the page where one meets it.

The glossary lists them. On every page the first use of one is marked, and a bubble says its sentence: base/terms.js.
"""

from typing import NamedTuple


class Term(NamedTuple):
    """A word, what it means, and the package of the page that shows it."""

    name: str
    meaning: str
    page: str


TERMS: dict[str, tuple[Term, ...]] = {
    "Models and words": (
        Term("model", "A model turns words into numbers and computes with what it learned in training.", "explore"),
        Term("language model", "A language model has learned from text how words go together.", "explore"),
        Term(
            "pretrained", "A pretrained model has learned from much text before; here it is used as it is.", "explore"
        ),
        Term("encoder", "An encoder reads the whole sentence at once, in both directions.", "explore"),
        Term("decoder", "A decoder reads from left to right and says which word comes next.", "explore"),
        Term("next word", "A model that writes gives every word a probability to be the next word.", "explore"),
        Term("token", "A token is what the model reads: a word, a piece of one, or a sign.", "explore"),
        Term("##", "## continues the piece before it: “story” is read as sto ##ry.", "explore"),
        Term(
            "[CLS], [SEP]", "They mark the start and the end; a head that finds nothing useful looks there.", "explore"
        ),
        Term("[UNK]", "[UNK] stands for every token that the model does not know.", "explore"),
        Term("[PAD]", "[PAD] fills up the short sentences of a batch; no token may look at it.", "masks"),
        Term("vocabulary", "The vocabulary is the list of all tokens that the model knows.", "explore"),
        Term("vector", "A vector is a list of numbers; the model keeps one for each token.", "by_hand"),
        Term("embedding", "An embedding is the vector that a token begins with.", "by_hand"),
        Term("cosine", "The cosine says how alike two vectors are: 1 = same direction, 0 = unrelated.", "compare"),
        Term("bag of words", "In a bag of words only the words count, not their order.", "positions"),
        Term("batch", "A batch is several sentences that the model reads at once.", "masks"),
    ),
    "Attention": (
        Term("attention", "Attention lets each word take in what other words pass on, each by its weight.", "explore"),
        Term("map", "A map shows the weights of one head: each row is one word that looks at others.", "explore"),
        Term("query", "A query is what a token looks for; it makes a row of the map.", "explore"),
        Term("key", "A key is what a token offers to those that look at it; it makes a column.", "explore"),
        Term("value", "A value is what a token passes on to those that look at it.", "explore"),
        Term("score", "A score says how well a key fits a query: their product over √d.", "by_hand"),
        Term("weight", "A weight is the share of a query’s attention that one key gets; a row sums to 1.", "by_hand"),
        Term(
            "scaled dot product", "It is the product of a query and a key over √d, which makes a score.", "scaled_dot"
        ),
        Term("softmax", "The softmax turns a row of scores into weights: none below 0, together 1.", "by_hand"),
        Term("temperature", "The temperature divides the scores: below 1 sharpens a row, above 1 blurs it.", "explore"),
        Term("entropy", "The entropy says how spread out a row is: it is 0 where one key gets all.", "scaled_dot"),
        Term("head", "A head is one way of looking: its own queries, keys and values, so its own map.", "explore"),
        Term("layer", "A layer is several heads, then a small network; it reads what the one before wrote.", "explore"),
        Term("copying head", "A copying head looks at the word that followed the same word last time.", "explore"),
        Term("barycentre", "A barycentre is a weighted mean of points, as an output is of values.", "by_hand"),
        Term("explanation", "A map is no explanation: it shows where a head looks, not what that causes.", "compare"),
    ),
    "Inside a layer": (
        Term("tensor", "A tensor is a block of numbers with one axis or several.", "shapes"),
        Term("axis", "An axis is a direction of a tensor: batch, query, key, head, feature or channel.", "shapes"),
        Term("channel", "A channel is one place in a token’s vector.", "shapes"),
        Term("feature", "A feature is one place in a head’s part of that vector.", "shapes"),
        Term("projection", "A projection multiplies a vector by a learned matrix, to make a query, say.", "shapes"),
        Term("bias", "A bias is a learned number that is added, after a projection or to a score.", "shapes"),
        Term("masked", "The masked scores are those that a mask still allows.", "shapes"),
        Term("mixed", "The mixed values of a head are added up by its weights.", "shapes"),
        Term("joined", "The joined vector has what all heads found, side by side.", "shapes"),
        Term("stride", "A stride says how many places in memory one step along an axis jumps.", "shapes"),
        Term("view", "A view reads the same numbers in another shape; nothing moves.", "shapes"),
        Term("contiguous", "Contiguous numbers lie in memory in the order in which they are read.", "shapes"),
        Term("rounding", "Rounding is the tiny error of computing with a fixed number of digits.", "implementations"),
    ),
    "Masks": (
        Term("mask", "A mask says which query may look at which key; what it forbids gets weight 0.", "masks"),
        Term("causal", "With a causal mask no word may look at what comes after it.", "masks"),
        Term("window", "Each word may look only at its neighbours, up to a chosen distance.", "masks"),
        Term("prefix", "Each word may look at the first words and at the words before it.", "masks"),
        Term("sinks", "Each word may look only at the first words.", "masks"),
        Term("dilated", "Each word may look at every s-th word to each side.", "masks"),
        Term("documents", "Each word may look only at the words of its own text.", "masks"),
        Term("combination", "A combination joins several rules by and, or, not.", "masks"),
        Term("painted", "Painted cells you allow or block yourself, for all heads or for one.", "masks"),
    ),
    "Positions": (
        Term(
            "positional encoding",
            "It tells the model where each word stands; without it the order is lost.",
            "positions",
        ),
        Term("sinusoidal", "Sinusoidal positions are waves of many lengths, added to the embeddings.", "positions"),
        Term("learned", "Learned positions are a vector for each place, learnt in training.", "positions"),
        Term("rotary", "Rotary positions turn queries and keys by an angle that grows with their place.", "positions"),
        Term("alibi", "ALiBi lowers a score with the distance, in each head at its own pace.", "positions"),
        Term("t5", "T5’s encoding adds a learnt number for each distance to the score.", "positions"),
        Term("shaw", "Shaw’s encoding adds a learnt vector for each distance to the key.", "positions"),
    ),
    "Training": (
        Term("parameter", "A parameter is a number of the model that training sets.", "train"),
        Term("loss", "The loss says how surprised the model is by the right answer; training lowers it.", "train"),
        Term("gradient", "The gradient says how the loss changes when a parameter does.", "train"),
        Term("seed", "A seed is where the random numbers begin; another one gives another run.", "train"),
        Term("epoch", "An epoch is one pass through all training rows.", "train"),
        Term("accuracy", "The accuracy is the share of unseen sentences that it answers rightly.", "train"),
        Term("logits", "The logits are the model’s scores of the answers, before the softmax.", "train"),
        Term("confusion", "The confusion table shows which answers the model takes for which.", "train"),
    ),
}
# everyday words too, which no text marks
_EVERYDAY = {
    "##",
    "[CLS], [SEP]",
    "view",
    "window",
    "prefix",
    "documents",
    "painted",
    "learned",
    "masked",
    "mixed",
    "joined",
}
MARKED = {term.name: term.meaning for terms in TERMS.values() for term in terms if term.name not in _EVERYDAY}
