"""What the step view is told over the wire: what is said of a layer's traces, then one message a trace."""

from __future__ import annotations

import re
from typing import Any

from mha_core.errors import HeadlightError
from pages.kit.draw.packing import pack, pack_memory, pack_parts
from pages.kit.picture import fitting, models, pictures, traces, words
from pages.kit.picture.query import Query
from pages.kit.picture.settings import Settings
from pages.kit.picture.source import Excerpt
from pages.kit.picture.traces import RandomLayer, Traced, parents

from . import random_layer, text_words
from .reshape_lessons import QUESTIONS
from .step_names import find, usable

MOST_AT_FIRST = 2**18  # bytes of a message that comes with the page


def steps(raw: bytes) -> bytes:
    """The answer to a query: what is said, then its traces. Raises a HeadlightError."""
    return _message(Query(raw))


def first(raw: bytes) -> bytes:
    """What a page begins with: the same with no more numbers than are in sight. Raises a HeadlightError."""
    query = Query(raw)
    fitting.fits_at_first(pictures.tokens(query.settings()))
    message = _message(query, 0)
    if len(message) > MOST_AT_FIRST:
        raise HeadlightError(f"a page begins with at most {MOST_AT_FIRST:,} bytes, here are {len(message):,}")
    return message


def _message(query: Query, most: int | None = None) -> bytes:
    """What is said, then the traces; of a trace of more than `most` bytes only the numbers in sight."""
    check(query["step"])
    settings, notices = fitting.within(query.settings())
    at = query.at
    instead = random_layer.chosen(query)
    traced, unable = compute(settings, at.layer, implementations(query["impl"], query["vs"]), instead)
    place, model = at.on(traced[0].tokens), query.model
    run = [sentence for layer in traced for sentence in layer.notices]
    header = {
        "layers": model.sizes.n_layers,
        "layer": at.layer,
        "head": at.head,
        "step": query["step"],
        "cut": most == 0,
        "typed": settings.text,
        "lessons": QUESTIONS,
        "row": place.row,
        "key": place.key,
        "label": f"layer {at.layer}, {instead.label if instead else f'{model.origin} weights'}",
        "notices": list(dict.fromkeys([*notices, *unable, *run, *models.unknown(model, settings.text)])),
    }
    packed = [pack_trace(layer, query["step"], at.head, most) for layer in traced]
    return pack_parts(pack(header), *packed)


def check(step: str) -> None:
    """Raises a HeadlightError where no implementation has a step of this name."""
    if not usable(step):
        raise HeadlightError(f"no implementation has a step “{step:.40}”")


def implementations(first: str, second: str) -> list[str]:
    """What is shown, one beside the other; of two equal ones only one."""
    return [first] if second in ("none", first) else [first, second]


def compute(
    settings: Settings, layer: int, names: list[str], instead: RandomLayer | None = None
) -> tuple[list[Traced], list[str]]:
    """One trace an implementation, and what the implementations cannot do, as whole sentences."""
    traced, notices = [], []
    for name in names:
        within, left_out = traces.settings_within(settings, layer, name)
        traced.append(random_layer.traced(within, layer, name, instead))
        notices += [*left_out, *random_layer.told(name, instead)]
    return traced, notices


def pack_trace(layer: Traced, step: str, head: int = 0, most: int | None = None) -> bytes:
    """The steps of a layer and the memory they lie in, as bytes for the browser.

    Args:
        step, head: those in sight, whose numbers go first where not all can be sent.
        most: bytes of numbers that are sent whole; None = as many as a message may have.
    """
    steps = layer.steps
    sources = {source.where: source for source in map(layer.source, steps)}
    d_head = next(step.shape[-1] for step in steps if step.name == "q")
    here = find(steps, step, head)
    header = {
        "digest": layer.settings.digest,
        "implementation": layer.implementation,
        "label": layer.instead.label
        if layer.instead
        else words.label(layer.settings, pictures.model_of(layer.settings)),
        "layer": layer.layer,
        "tokens": layer.tokens,
        "heads": steps[-1].shape[-1] // d_head,
        "dHead": d_head,
        "steps": [_packed(layer, number, list(sources)) for number in range(len(steps))],
        "sources": [_source(one) for one in sources.values()],
    }
    return pack_memory(header, [one.value for one in steps], [here, *parents(layer, here)], most=most)


def _source(of: Excerpt) -> dict[str, Any]:
    """A function's lines, and which of them only record."""
    return {"where": of.where, "first": of.first, "lines": of.lines, "records": of.records}


def _packed(layer: Traced, number: int, sources: list[str]) -> dict[str, Any]:
    """A step as the browser gets it, but for its numbers."""
    step = layer.steps[number]
    source = layer.source(step)
    groups = re.findall(r"\(.*?\)|\S+", step.axes)
    letters = [next((letter for letter in group if letter.isalpha()), "") for group in groups]
    axes = zip((group.strip("()") for group in groups), letters, step.shape, strict=True)
    return {
        "name": step.name,
        "expression": step.expression,
        "axes": [{"text": text, "letter": letter, "size": size} for text, letter, size in axes],
        "strides": step.strides,
        "contiguous": step.contiguous,
        "view": step.is_view,
        "bytes": step.value.numel() * step.value.element_size(),
        "from": parents(layer, number),
        "source": sources.index(source.where),
        "marked": source.marked,
        "recorded": step.line - source.first,
        "texts": text_words.of(layer.implementation, step.name),
    }
