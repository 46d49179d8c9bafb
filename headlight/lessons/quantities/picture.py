"""Quantities of one computed picture: its maps, its vectors, and what it says comes next."""

from cachetools import LRUCache

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.link.limits import HEADS_WITHOUT_ASKING, WITHOUT_ASKING
from headlight.picture import next_token, pictures
from headlight.picture.pictures import Picture
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core.errors import HeadlightError
from mha_core.measure import measures, surprise
from mha_core.measure.rounding import of_sums


def similarity(picture: Picture, other: Picture) -> Value:
    """`sim`: the cosine of the sentence vector to the other picture's."""
    return Value.number(measures.cosine(picture.run.sentence, other.run.sentence))


@single_flight(LRUCache(256), lambda picture: picture.settings)
def loss(picture: Picture) -> Value:
    """`L`: the mean loss of the tokens in nats, the first left out. Raises a HeadlightError of other models.

    Kept: the rules of a step ask for the same few losses again and again.
    """
    model, run = picture.model, picture.run
    with pass_slot(len(run.ids), models.heads(model)):
        return Value.number(float(surprise.surprise(model, run)[1:].mean()))


def next_word(picture: Picture, word: str) -> Value:
    """`p("word")`: how likely this word is to come next. Raises a RuleError where that cannot be told."""
    try:
        return Value.number(next_token.chance_of(picture, word)[0])
    except HeadlightError as error:
        raise RuleError(f"“{word}”: {error}") from None


def need(picture: Picture) -> Value:
    """`need`, (l, h): how far the sentence vector turns without each head alone, 1 − cosine.

    Raises a RuleError where that would take long: of many tokens, or of a large model.
    """
    tokens, heads = len(picture.run.tokens), models.heads(picture.model)
    if tokens > WITHOUT_ASKING or heads > HEADS_WITHOUT_ASKING:
        most = f"{WITHOUT_ASKING} tokens and {HEADS_WITHOUT_ASKING} heads"
        raise RuleError(f"without each head: only up to {most}, here are {tokens} and {heads}")
    return Value.of(1 - pictures.cosines_without(picture.settings).double(), "l h")


def model_rounding(picture: Picture) -> Value:
    """`model_rounding`: the relative difference up to which two such pictures differ by rounding alone.

    A layer's attention projects, weighs, mixes and projects again; around it are two norms and a feed-forward network.
    """
    sizes, n = picture.model.sizes, len(picture.run.tokens)
    c, d_head, wide = sizes.d_model, sizes.d_model // sizes.n_heads, sizes.d_feed_forward
    return Value.number(sizes.n_layers * of_sums(c, d_head, n, n, c, c, c, wide, c))
