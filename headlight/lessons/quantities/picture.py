"""Quantities of one picture: its maps, vectors and next-word predictions."""

from cachetools import LRUCache

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.link.limits import AUTO_ABLATION_HEADS, AUTO_ABLATION_TOKENS
from headlight.picture import next_token, pictures
from headlight.picture.pictures import Picture
from headlight.queue.single_flight import run_heavy, single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core.errors import HeadlightError
from mha_core.measure import measures, surprise
from mha_core.measure.rounding import sum_bound


def similarity(picture: Picture, other: Picture) -> Value:
    """Return `sim`: the cosine of the two pictures' sentence vectors."""
    return Value.number(measures.cosine(picture.run.sentence, other.run.sentence))


@single_flight(LRUCache(256), lambda picture: picture.settings)
def loss(picture: Picture) -> Value:
    """Return `L`: the mean loss of all tokens but the first, in nats.

    It is cached, as the rules of a step use the same few losses repeatedly.

    Raises:
        HeadlightError: the model is not a language model.
    """
    model, run = picture.model, picture.run
    with pass_slot(len(run.ids), models.count_heads(model)):
        return Value.number(float(surprise.surprise(model, run)[1:].mean()))


def next_word(picture: Picture, word: str) -> Value:
    """Return `p("word")`: the probability of the next word; raise a RuleError if there is none."""
    try:
        return Value.number(next_token.word_probability(picture, word)[0])
    except HeadlightError as error:
        raise RuleError(f"“{word}”: {error}") from None


def need(picture: Picture) -> Value:
    """Return `need`, (l, h): 1 − cosine of the sentence vector to the one with a single head ablated.

    Raises:
        RuleError: there are too many tokens or heads, so that it would take long.
    """
    tokens, heads = len(picture.run.tokens), models.count_heads(picture.model)
    if tokens > AUTO_ABLATION_TOKENS or heads > AUTO_ABLATION_HEADS:
        limits = f"{AUTO_ABLATION_TOKENS} tokens and {AUTO_ABLATION_HEADS} heads"
        raise RuleError(f"ablating each head is allowed up to {limits}, not {tokens} and {heads}")
    return Value.from_tensor(1 - run_heavy(pictures.ablation_cosines, picture.settings).double(), "l h")


def model_rounding(picture: Picture) -> Value:
    """Return `model_rounding`: a bound on the relative difference of two equal pictures due to rounding.

    Each layer has the projections, scores, mixing and output of attention, two norms and a feed-forward network.
    """
    sizes, n = picture.model.sizes, len(picture.run.tokens)
    c, d_head, wide = sizes.d_model, sizes.d_model // sizes.n_heads, sizes.d_feed_forward
    return Value.number(sizes.n_layers * sum_bound(c, d_head, n, n, c, c, c, wide, c))
