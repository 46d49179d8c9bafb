"""Quantities of what the weights alone do not show: lengths of values, reversed words, hidden tokens."""

from dataclasses import replace

import torch

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures, traces
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue.executor import yield_and_check_cancelled
from mha_core.measure import measures

MAX_TOKENS = 40  # that are hidden in turn, with a pass each


def value_lengths(query: Query, settings: Settings, layer: int) -> Value:
    """Return `value_lengths(1)`, (h, j): the length of each token's value in each head of a layer."""
    layers = query.sizes[0]
    if layer not in range(layers):
        raise RuleError(f"this model has the layers 0 to {layers - 1}")
    return Value.from_tensor(traces.value_norms(settings, layer), "h j", pictures.tokens(settings))


def handed_over(query: Query, settings: Settings, layer: int) -> Value:
    """Return `handed_over(1)`, (h, i, j): each key's share of its row by weight times length of the value."""
    lengths = value_lengths(query, settings, layer).tensor
    run = pictures.picture(settings).run
    parts = run.weights[layer] * lengths[:, None]
    return Value.from_tensor(parts / parts.sum(dim=-1, keepdim=True), "h i j", run.tokens)


def from_behind(query: Query, settings: Settings) -> Value:
    """Return `from_behind`, (i, c): the last hidden states of the reversed words, in their original order."""
    forward = pictures.picture(settings).run
    backward = pictures.picture(replace(settings.without_painting, text=" ".join(reversed(settings.text.split())))).run
    places = measures.new_positions(forward.ids, backward.ids)
    return Value.from_tensor(backward.hidden[-1].cpu()[places], "i c", forward.tokens)


def cosine_without(query: Query, settings: Settings) -> Value:
    """Return `cosine_without`, (j): the cosine of the sentence vector to the baseline when one token is hidden.

    Each token is hidden in turn from all other queries.
    """
    baseline = pictures.picture(settings.baseline).run
    if len(baseline.ids) > MAX_TOKENS:
        raise RuleError(f"{len(baseline.ids)} tokens would be hidden in turn; at most {MAX_TOKENS} are allowed")
    cosines = list[float]()
    for index in range(len(baseline.ids)):
        yield_and_check_cancelled()
        masked = pictures.picture(replace(settings.baseline, mask=f"unseen:{index}"))
        cosines.append(measures.cosine(masked.run.sentence, baseline.sentence))
    return Value.from_tensor(torch.tensor(cosines), "j", baseline.tokens)
