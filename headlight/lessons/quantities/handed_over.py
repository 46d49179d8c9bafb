"""What is handed over beside the weights that are shown: lengths of values, and a column that is closed."""

from dataclasses import replace

import torch

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures, traces
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue.executor import yield_and_check_cancelled
from mha_core.measure import measures

MAX_TOKENS = 40  # that are closed one after another: a pass each


def value_lengths(query: Query, settings: Settings, layer: int) -> Value:
    """`value_lengths(1)`, (h, j): how long each token's value is, in every head of a layer."""
    layers = query.sizes[0]
    if layer not in range(layers):
        raise RuleError(f"this model has the layers 0 to {layers - 1}")
    return Value.of(traces.value_lengths(settings, layer), "h j", pictures.tokens(settings))


def handed_over(query: Query, settings: Settings, layer: int) -> Value:
    """`handed_over(1)`, (h, i, j): the share of each key in what a row is handed, weight times length of the value."""
    own = value_lengths(query, settings, layer).tensor
    run = pictures.picture(settings).run
    parts = run.weights[layer] * own[:, None]
    return Value.of(parts / parts.sum(dim=-1, keepdim=True), "h i j", run.tokens)


def from_behind(query: Query, settings: Settings) -> Value:
    """`from_behind`, (i, c): the last vectors of the words when they are read from behind, put back in their places."""
    here = pictures.picture(settings).run
    there = pictures.picture(replace(settings.without_painting, text=" ".join(reversed(settings.text.split())))).run
    places = measures.new_places(here.ids, there.ids)
    return Value.of(there.hidden[-1].cpu()[places], "i c", here.tokens)


def cosine_without(query: Query, settings: Settings) -> Value:
    """`cosine_without`, (j): the cosine of the sentence vector to the untouched one, when nobody may look at a token.

    The token itself still may. For each token alone.
    """
    whole = pictures.picture(settings.baseline).run
    if len(whole.ids) > MAX_TOKENS:
        raise RuleError(f"{len(whole.ids)} tokens are closed one after another; at most {MAX_TOKENS} are")
    cosines = list[float]()
    for at in range(len(whole.ids)):
        yield_and_check_cancelled()
        closed = pictures.picture(replace(settings.baseline, mask=f"unseen:{at}"))
        cosines.append(measures.cosine(closed.run.sentence, whole.sentence))
    return Value.of(torch.tensor(cosines), "j", whole.tokens)
