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
        Term("##", "Goes on the piece before: “story” read as sto ##ry.", "explore"),
        Term("[CLS], [SEP]", "Marks at both ends of a sentence; many heads look there when nothing fits.", "explore"),
        Term("[UNK]", "Stands for every token that the model does not know.", "explore"),
        Term("[PAD]", "Fills up the short sentences of a batch; nobody may look at it.", "masks"),
        Term("embedding", "The vector that a token begins with.", "by_hand"),
    ),
    "Attention": (
        Term("query", "What a token is looking for; a row of the map.", "explore"),
        Term("key", "What a token offers to those who look; a column of the map.", "explore"),
        Term("value", "What a token hands on to those who look at it.", "explore"),
        Term("score", "How well a key fits a query: their product over √d.", "by_hand"),
        Term("weight", "How much of one word’s look goes to one other: a share; a row sums to 1.", "by_hand"),
        Term("scaled dot product", "The product of a query and a key over √d, which makes a score.", "scaled_dot"),
        Term("barycentre", "A weighted mean of points: it lies among them, as an output among values.", "by_hand"),
        Term("softmax", "Turns a row of scores into weights: none below 0, together 1.", "by_hand"),
        Term("temperature", "Divides the scores: below 1 sharpens a row, above 1 blurs it.", "explore"),
        Term("head", "One way of looking: its own queries, keys and values, so its own map.", "explore"),
        Term("explanation", "No map is one: it shows where a head looks, not why; switch it off to test.", "compare"),
        Term("layer", "Several heads, then a small network; each reads what the one before wrote.", "explore"),
        Term("stride", "How many places in memory one step along an axis jumps.", "shapes"),
        Term("view", "The same numbers read in another shape; nothing moves.", "shapes"),
        Term("contiguous", "Numbers lie in memory in the order in which they are read.", "shapes"),
    ),
    "Masks": (
        Term("mask", "Which query may look at which key; what it forbids gets the weight 0.", "masks"),
        Term("causal", "No word may look at what comes after it.", "masks"),
        Term("window", "Only at words fewer than so many steps away.", "masks"),
        Term("prefix", "At the first words, and at what came before.", "masks"),
        Term("sinks", "Only at the first words.", "masks"),
        Term("dilated", "At every so many words, like a comb.", "masks"),
        Term("documents", "Only within one's own part of the text.", "masks"),
        Term("combination", "Several rules joined by and, or, not.", "masks"),
        Term("painted", "Cells that you turn round yourself, for all heads or one.", "masks"),
    ),
    "Positions": (
        Term("positional encoding", "Tells attention who stands where; without it the order is lost.", "positions"),
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
        Term("logits", "What the model writes down for each answer, before the softmax.", "train"),
        Term("confusion", "Which answers are taken for which.", "train"),
    ),
}
