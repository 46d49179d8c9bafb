"""All heads by every measure: what the browser draws as a table and a scatter, and averages over a text collection."""

from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import torch
from cachetools import LRUCache

from headlight.link.place import named_heads, parse_view
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.registry import models
from headlight.ui.tables import Table
from mha_core import Model, Run
from mha_core.errors import Unsupported
from mha_core.heads.kinds import repeated_ids
from mha_core.heads.measures import HeadMeasures, head_measures
from mha_core.measure.value_norms import handed_lengths
from mha_core.models.inputs import head_mask
from mha_core.show.packing import pack_focus, pack_parts

from . import layer_flow

SENTENCES = Path(__file__).parents[2] / "assets" / "sentences.txt"  # a text collection, one sentence a line
EFFECT = "effect"  # of switching a head off: the route `each` has it, once somebody asks
MAX_RANDOM_TOKENS = 25  # random tokens, each once; fewer where the model cannot read or tell so many
NO_VALUES = "Some values are zeroed here, so norms do not show what is passed on."


# name -> its title, its unit, and what it is
MEASURES = {
    "previous": ("previous token", "weight", "average weight on the previous token"),
    "next": ("next token", "weight", "average weight on the next token"),
    "itself": ("itself", "weight", "average weight on the token itself, without the first row"),
    "first": ("first token", "weight", "average weight of all other rows on the first token"),
    "same": ("same token", "weight", "average weight on earlier occurrences of the same token"),
    "induction": ("induction", "weight", "average weight on what followed the same token before"),
    "entropy": (
        "entropy",
        "bits",
        "how spread out a row is: 0 bits = one token, 3 bits = as even as over eight tokens",
    ),
    "distance": ("distance", "tokens", "average distance between query and key"),
    "value": ("value-weighted share", "share", "share of the layer’s output: weights × norms of the values"),
    EFFECT: ("effect of ablation", "1 − cosine", "how much the sentence vector rotates without this head"),
}
# what heads are called that do a thing, and who named them
NAMES = [
    ("previous", "a previous-token head", "Elhage et al. 2021"),
    ("induction", "an induction head", "Olsson et al. 2022"),
    ("same", "a duplicate-token head", "Wang et al. 2022"),
    ("first", "an attention-sink head (first token)", "Xiao et al. 2023"),
]


class HeadMeasure(TypedDict):
    name: str
    title: str
    unit: str
    says: str
    rows: int  # of how many rows of a map it is the mean; of 0 there is none,
    missing: str  # for this reason, or until it is asked for


class HeadsOverview(TypedDict):
    """What the browser is told; of each measure that has rows (layers, heads) follow as float32."""

    layers: int
    heads: int
    tokens: int
    measures: list[HeadMeasure]
    names: list[tuple[str, str, str]]  # measure, what heads are called that have much of it, who named them


def answer(raw: bytes) -> bytes:
    """All heads by every measure, on a query's sentence or on random tokens, said twice. Raises a HeadlightError."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    tokens, found = _on(settings, parse_view(query["view"])[1])
    no_effect = "" if "heads" in query.model.can else models.reason(query.model, "heads")
    missing = {**found.missing, EFFECT: no_effect}
    measures: list[HeadMeasure] = []
    for name, (title, unit, says) in MEASURES.items():
        rows, why = found.rows.get(name, 0), missing.get(name, "")
        measures.append({"name": name, "title": title, "unit": unit, "says": says, "rows": rows, "missing": why})
    layers, heads = query.sizes
    header: HeadsOverview = {"layers": layers, "heads": heads, "tokens": tokens, "measures": measures, "names": NAMES}
    return pack_parts(pack_focus(header, *(found.values[name] for name in MEASURES if name in found.values)))


def sentences(raw: bytes) -> bytes:
    """Our text collection, a sentence a line; whatever the query says."""
    return SENTENCES.read_bytes()


def table(settings: Settings, state: str) -> Table:
    """The same for a file: a row a head."""
    _, found = _on(settings, state)
    layers, heads = next(iter(found.values.values())).shape
    columns = [f"{title} ({unit})" for title, unit, _ in (MEASURES[name] for name in found.values)]
    return Table(
        "head",
        list(named_heads(layers, heads)),
        columns,
        torch.stack([own.flatten() for own in found.values.values()], dim=1),
    )


def _on(settings: Settings, state: str) -> tuple[int, HeadMeasures]:
    """Of the sentence, or of random tokens in its place."""
    random = "random" in state.split(".")
    return _measured(replace(settings, text="", painted="") if random else settings, random)


@single_flight(LRUCache(256))
def _measured(settings: Settings, random: bool) -> tuple[int, HeadMeasures]:
    """Of how many tokens, and the measures. Raises what `Model.run` raises."""
    model = pictures.model_of(settings)
    run = _on_random_tokens(model, settings) if random else pictures.picture(settings).run
    maps, why = pictures.among_tokens(run), layer_flow.no_norm(model) or (NO_VALUES if settings.values_off else "")
    n = len(run.tokens)
    lengths = None
    with pass_slot(n, models.heads(model)):
        if not why and (maps is not None or run.extras.values):  # of another text the pass itself tells the values
            heads = head_mask(settings.heads_off, model.sizes)
            lengths = handed_lengths(model, run) * (1 if heads is None else heads[..., None])
        found = head_measures(run.weights if maps is None else maps, None if maps is None else run.ids, lengths)
    return n, replace(found, missing=found.missing | {"value": why}) if why else found


def _on_random_tokens(model: Model, settings: Settings) -> Run:
    if "text" in model.reasons:
        raise Unsupported(model.reasons["text"])
    sizes = model.sizes
    ids = repeated_ids(sizes.vocabulary, min(MAX_RANDOM_TOKENS, sizes.vocabulary, sizes.max_len // 2))
    with pass_slot(len(ids), models.heads(model)):
        return settings.run(model, ids)
