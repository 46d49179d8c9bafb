"""Quantities of the residual stream and of the logit lens."""

import torch
from cachetools import LRUCache

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures, residual
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core.measure import logit_lens

from .next_word import token_id

MAX_TOKENS = 64  # of a text whose lens is computed for every token


def attention_norm(query: Query, settings: Settings) -> Value:
    """Return `attention_norm`, (l, i): the length of what each layer's attention adds to the stream of a token."""
    return _of_stream(settings, residual.stream(settings).norms["attention"])


def mlp_norm(query: Query, settings: Settings) -> Value:
    """Return `mlp_norm`, (l, i): the length of what each layer's MLP adds to the stream of a token."""
    return _of_stream(settings, residual.stream(settings).norms["mlp"])


def attention_cosine(query: Query, settings: Settings) -> Value:
    """Return `attention_cosine`, (l, i): the cosine of what attention adds to the stream before it."""
    return _of_stream(settings, residual.stream(settings).cosines["attention"])


def mlp_cosine(query: Query, settings: Settings) -> Value:
    """Return `mlp_cosine`, (l, i): the cosine of what the MLP adds to the stream before it."""
    return _of_stream(settings, residual.stream(settings).cosines["mlp"])


def stream_norm(query: Query, settings: Settings) -> Value:
    """Return `stream_norm`, (l, i): the length of the stream, [0] before the first layer."""
    return _of_stream(settings, residual.stream(settings).lengths)


def lens(query: Query, settings: Settings, word: str) -> Value:
    """Return `lens("Rome")`, (l, i): the probability of a word as the next token after each layer, [0] before all."""
    return _of_stream(settings, _lens(settings, word)[0])


def lens_rank(query: Query, settings: Settings, word: str) -> Value:
    """Return `lens_rank("Rome")`, (l, i): the rank of that word there, 1 = the likeliest."""
    return _of_stream(settings, _lens(settings, word)[1])


def _of_stream(settings: Settings, values: torch.Tensor) -> Value:
    return Value.from_tensor(values, "l i", pictures.tokens(settings))


@single_flight(LRUCache(256))
def _lens(settings: Settings, word: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the probability and the rank of a word, (layers + 1, i) each."""
    picture = pictures.picture(settings)
    number, n = token_id(picture, word), len(picture.run.tokens)
    if n > MAX_TOKENS:
        raise RuleError(f"the lens is computed for every token of at most {MAX_TOKENS}, not of {n}")
    values, ranks = [], []
    with pass_slot(n, models.count_heads(picture.model)):
        for level in range(len(picture.run.hidden)):
            chances = logit_lens.logits(picture.model, picture.run, level).double().softmax(dim=-1)
            values.append(chances[:, number])
            ranks.append(1 + (chances > chances[:, number, None]).sum(dim=-1))
    return torch.stack(values), torch.stack(ranks)
