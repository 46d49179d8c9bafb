"""All heads by every measure, for the browser's table, scatter plot and averages over a text collection."""

from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import torch
from cachetools import LRUCache

from headlight import read_toml
from headlight.link.cursor import heads_by_name, parse_view
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
from mha_core.measure.value_norms import transformed_norms
from mha_core.models.inputs import head_mask
from mha_core.show.packing import pack_focus, pack_parts

from . import layer_flow

SENTENCES = Path(__file__).parents[2] / "assets" / "sentences.txt"  # a text collection, one sentence a line
EFFECT = "effect"  # of ablating a head; the browser requests it from the route `each`
MAX_RANDOM_TOKENS = 25  # distinct ones; fewer if the vocabulary or the context is too small
NO_VALUES = "Some values are zeroed here, so norms do not show what is passed on."


_TEXTS = read_toml("heads")
# name -> title, unit, description
MEASURES = {name: (row["title"], row["unit"], row["text"]) for name, row in _TEXTS["measures"].items()}
# measure, the usual name of heads with a high value, and its source
NAMES = [(row["measure"], row["name"], row["source"]) for row in _TEXTS["names"]]


class HeadMeasure(TypedDict):
    """A head measure and its display texts."""

    name: str
    title: str
    unit: str
    description: str
    rows: int  # the number of a map's rows that it averages; 0 if it is missing
    missing: str  # the reason why; "" if it can be requested


class HeadsOverview(TypedDict):
    """The header of the answer; for each measure with rows (layers, heads) follow as float32."""

    layers: int
    heads: int
    tokens: int
    measures: list[HeadMeasure]
    names: list[tuple[str, str, str]]  # see `NAMES`


def answer(raw: bytes) -> bytes:
    """Return all heads by every measure, on the query's sentence or on a repeated random sequence."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    tokens, result = _measure(settings, parse_view(query["view"])[1])
    no_effect = "" if "heads" in query.model.can else models.reason(query.model, "heads")
    missing = {**result.missing, EFFECT: no_effect}
    measures: list[HeadMeasure] = []
    for name, (title, unit, text) in MEASURES.items():
        rows, reason = result.rows.get(name, 0), missing.get(name, "")
        measures.append(HeadMeasure(name=name, title=title, unit=unit, description=text, rows=rows, missing=reason))
    layers, heads = query.sizes
    header: HeadsOverview = {"layers": layers, "heads": heads, "tokens": tokens, "measures": measures, "names": NAMES}
    return pack_parts(pack_focus(header, *(result.values[name] for name in MEASURES if name in result.values)))


def sentences(raw: bytes) -> bytes:
    """Return the text collection, one sentence a line; the query is ignored."""
    return SENTENCES.read_bytes()


def table(settings: Settings, state: str) -> Table:
    """Return the measures as a table for a file, one row for each head."""
    _, result = _measure(settings, state)
    layers, heads = next(iter(result.values.values())).shape
    columns = [f"{title} ({unit})" for title, unit, _ in (MEASURES[name] for name in result.values)]
    return Table(
        "head",
        list(heads_by_name(layers, heads)),
        columns,
        torch.stack([values.flatten() for values in result.values.values()], dim=1),
    )


def _measure(settings: Settings, state: str) -> tuple[int, HeadMeasures]:
    """Return the number of tokens and the measures, of the sentence or of random tokens."""
    random = "random" in state.split(".")  # then neither the sentence nor its painted mask applies
    return _cached_measures(replace(settings, text="", painted="") if random else settings, random)


@single_flight(LRUCache(256))
def _cached_measures(settings: Settings, random: bool) -> tuple[int, HeadMeasures]:
    """Return the number of tokens and the measures. Raises what `Model.run` raises."""
    model = pictures.model_for(settings)
    run = _run_random_tokens(model, settings) if random else pictures.picture(settings).run
    maps = pictures.among_tokens(run)
    reason = layer_flow.norm_problem(model) or (NO_VALUES if settings.values_off else "")
    n = len(run.tokens)
    lengths = None
    with pass_slot(n, models.count_heads(model)):
        if not reason and (maps is not None or run.extras.values):  # cross-attention needs the values of its pass
            heads = head_mask(settings.silent_heads(model), model.sizes)
            lengths = transformed_norms(model, run) * (1 if heads is None else heads[..., None])
        result = head_measures(run.weights if maps is None else maps, None if maps is None else run.ids, lengths)
    return n, replace(result, missing=result.missing | {"value": reason}) if reason else result


def _run_random_tokens(model: Model, settings: Settings) -> Run:
    if "text" in model.reasons:
        raise Unsupported(model.reasons["text"])
    sizes = model.sizes
    ids = repeated_ids(sizes.vocabulary, min(MAX_RANDOM_TOKENS, sizes.vocabulary, sizes.max_len // 2))
    with pass_slot(len(ids), models.count_heads(model)):
        return settings.run(model, ids)
