"""The words of the field, each in one sentence, with the page where one meets it."""

from typing import NamedTuple


class Term(NamedTuple):
    """A word, what it means, and the package of the page that shows it."""

    name: str
    meaning: str
    page: str


TERMS: dict[str, tuple[Term, ...]] = {
    "Words and tokens": (
        Term("token", "What the model reads: a word, a piece of one, or a sign.", "explore"),
        Term("##", "Continues the piece before it: “story” is read as sto ##ry.", "explore"),
        Term(
            "[CLS], [SEP]",
            "Mark the start and the end of a sentence; many heads look there when nothing fits.",
            "explore",
        ),
        Term("[UNK]", "Stands for every token that the model does not know.", "explore"),
        Term("[PAD]", "Fills up the short sentences of a batch; no token may look at it.", "masks"),
        Term("embedding", "The vector that a token begins with.", "by_hand"),
    ),
    "Attention": (
        Term("query", "What a token is looking for; a row of the map.", "explore"),
        Term("key", "What a token offers to the tokens that look at it; a column of the map.", "explore"),
        Term("value", "What a token passes on to the tokens that look at it.", "explore"),
        Term("score", "How well a key fits a query: their product over √d.", "by_hand"),
        Term("weight", "The share of a query’s attention that one key gets; a row sums to 1.", "by_hand"),
        Term("scaled dot product", "The product of a query and a key over √d, which makes a score.", "scaled_dot"),
        Term("barycentre", "A weighted mean of points: it lies among them, as an output among values.", "by_hand"),
        Term("softmax", "Turns a row of scores into weights: none below 0, together 1.", "by_hand"),
        Term("temperature", "Divides the scores: below 1 sharpens a row, above 1 blurs it.", "explore"),
        Term("head", "One way of looking: its own queries, keys and values, so its own map.", "explore"),
        Term(
            "explanation",
            "A map is none: it shows where a head looks, not why; switch the head off to test it.",
            "compare",
        ),
        Term("layer", "Several heads, then a small network; each reads what the one before wrote.", "explore"),
        Term("stride", "How many places in memory one step along an axis jumps.", "shapes"),
        Term("view", "The same numbers read in another shape; nothing moves.", "shapes"),
        Term("contiguous", "Numbers lie in memory in the order in which they are read.", "shapes"),
    ),
    "Masks": (
        Term("mask", "Which query may look at which key; what it forbids gets the weight 0.", "masks"),
        Term("causal", "No word may look at what comes after it.", "masks"),
        Term("window", "Each word may look only at its neighbours, up to a chosen distance.", "masks"),
        Term("prefix", "Each word may look at the first words and at the words before it.", "masks"),
        Term("sinks", "Each word may look only at the first words.", "masks"),
        Term("dilated", "Each word may look at every s-th word to each side.", "masks"),
        Term("documents", "Each word may look only at the words of its own text.", "masks"),
        Term("combination", "Several rules joined by and, or, not.", "masks"),
        Term("painted", "Cells that you allow or block yourself, for all heads or for one.", "masks"),
    ),
    "Positions": (
        Term(
            "positional encoding", "Tells the model where each word stands; without it the order is lost.", "positions"
        ),
        Term("sinusoidal", "Waves of many lengths, added to the embeddings.", "positions"),
        Term("learned", "A vector for each place, learnt in training.", "positions"),
        Term("rotary", "Queries and keys are turned by an angle that grows with their place.", "positions"),
        Term("alibi", "A score falls with the distance, in each head at its own pace.", "positions"),
        Term("t5", "A learnt number for each distance, added to the score.", "positions"),
        Term("shaw", "A learnt vector for each distance, added to the key.", "positions"),
    ),
    "Training": (
        Term("loss", "How surprised the model is by the right answer; training makes it small.", "train"),
        Term("seed", "Where the random numbers begin; another one gives another run.", "train"),
        Term("epoch", "Once through all training rows.", "train"),
        Term("accuracy", "The share of sentences it never saw that it answers rightly.", "train"),
        Term("logits", "The model’s score for each answer, before the softmax.", "train"),
        Term("confusion", "A table of which answers the model takes for which.", "train"),
    ),
}
