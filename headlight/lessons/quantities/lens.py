"""Quantities of the residual stream and of the logit lens."""

from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures, residual
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from mha_core.measure.logit_lens import Lens

from .next_word import token_id

MAX_TOKENS = 64  # of a text whose lens is computed for every token


def attention_norm(query: Query, settings: Settings) -> Value:
    """Return `attention_norm`, (l, i): the length of what each layer's attention adds to the stream of a token."""
    return _by_token(settings, residual.stream(settings).norms[0])


def mlp_norm(query: Query, settings: Settings) -> Value:
    """Return `mlp_norm`, (l, i): the length of what each layer's MLP adds to the stream of a token."""
    return _by_token(settings, residual.stream(settings).norms[1])


def attention_cosine(query: Query, settings: Settings) -> Value:
    """Return `attention_cosine`, (l, i): the cosine of what attention adds to the stream before it."""
    return _by_token(settings, residual.stream(settings).cosines[0])


def mlp_cosine(query: Query, settings: Settings) -> Value:
    """Return `mlp_cosine`, (l, i): the cosine of what the MLP adds to the stream before it."""
    return _by_token(settings, residual.stream(settings).cosines[1])


def stream_norm(query: Query, settings: Settings) -> Value:
    """Return `stream_norm`, (l, i): the length of the stream, [0] before the first layer."""
    return _by_token(settings, residual.stream(settings).lengths)


def lens(query: Query, settings: Settings, word: str) -> Value:
    """Return `lens("Rome")`, (l, i): the probability of a word as the next token after each layer, [0] before all."""
    return _by_token(settings, _lens(settings, word).followed_probability)


def lens_rank(query: Query, settings: Settings, word: str) -> Value:
    """Return `lens_rank("Rome")`, (l, i): the rank of that word there, 1 = the likeliest."""
    return _by_token(settings, _lens(settings, word).followed_rank)


def _by_token(settings: Settings, values: Tensor) -> Value:
    return Value.from_tensor(values, "l i", pictures.tokens(settings))


def _lens(settings: Settings, word: str) -> Lens:
    picture = pictures.picture(settings)
    if (n := len(picture.run.tokens)) > MAX_TOKENS:
        raise RuleError(f"the lens is computed for every token of at most {MAX_TOKENS}, not of {n}")
    return residual.lens(settings, 0, n, token_id(picture, word))
