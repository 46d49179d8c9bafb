"""The step view: the traces that it shows, the state that goes with them, and what comes back."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import streamlit as st
import torch

from mha_core import IMPLEMENTATIONS, Model, Step, Trace
from pages.kit.draw import events
from pages.kit.draw.packing import pack_memory
from pages.kit.draw.view import Event, View
from pages.kit.frame.view_events import sizes_of, take_at
from pages.kit.picture.limits import MOST_FEATURES
from pages.kit.picture.pictures import model_of
from pages.kit.picture.place import At
from pages.kit.picture.traces import Traced, parents
from pages.kit.picture.words import label

VIEW = View("step_view", "steps", "steps.js", "steps", carrier=("trace", "trace"))


def show(
    model: Model, traced: list[Traced], at: At, step: str, feature: int, notices: list[str], *, chosen: bool
) -> None:
    """Draws one trace, or two side by side, at a step.

    Args:
        at: layer, head, query and key in focus; `chosen`: the visitor, not the page, chose the query.
        feature: the channel of the head in focus.
    """
    state = {
        **VIEW.turns(),
        "step": step,
        "layer": at.layer,
        "head": at.head,
        "row": at.row,
        "key": at.key,
        "chosen": chosen,
        "feature": feature,
        "notices": notices,
        "label": f"layer {at.layer}, {model.origin} weights",
        "count": len(traced),
    }
    sizes = sizes_of(model)
    packed = [pack_trace(layer, step, side, at.head) for side, layer in enumerate(traced)]

    def take(event: Event) -> None:
        """Writes the step and the cell that the visitor looks at into the link."""
        take_at(event, sizes)
        chosen_step, chosen_feature = events.text(event, "step"), events.whole(event, "feature")
        if chosen_step is not None and usable(chosen_step):
            st.session_state["step"] = chosen_step
        if chosen_feature is not None and 0 <= chosen_feature < MOST_FEATURES:
            st.session_state["f"] = chosen_feature

    VIEW.show(state, take, *packed)


def usable(step: str) -> bool:
    """True when some implementation has a step of that name."""
    return re.sub(r"\.head\d{1,2}$", ".head0", step, flags=re.ASCII) in _names_of_steps()


@lru_cache(maxsize=1)
def _names_of_steps() -> frozenset[str]:
    """The names of all steps of all implementations, from a tiny pass of each."""
    names = set()
    for kind in IMPLEMENTATIONS.values():
        trace = Trace()
        kind(2, 1)(torch.zeros(1, 2, 2), allow=torch.ones(2, 2, dtype=torch.bool), trace=trace)
        names |= {step.name for step in trace.steps}
    return frozenset(names)


def find(steps: tuple[Step, ...], name: str, head: int = 0) -> int:
    """The step of that name; where an implementation has none, the one it leads to, or the first.

    "q.transpose" leads to "q", "qkv.view" to "q", and a step of a single head to that of `head`, the one in focus.
    The browser finds it the same way (findStep in assets/web/tensor.js).
    """
    names = [step.name for step in steps]
    of_head, base = re.sub(r"\.head\d+$", f".head{head}", name), name.split(".")[0]
    return next((names.index(known) for known in (of_head, base, base[:1]) if known in names), 0)


def pack_trace(layer: Traced, step: str, side: int = 0, head: int = 0) -> bytes:
    """The steps of a layer and the memory they lie in, as bytes for the browser."""
    steps = layer.steps
    sources = {source.where: source for source in map(layer.source, steps)}
    d_head = next(step.shape[-1] for step in steps if step.name == "q")
    here = find(steps, step, head)
    header = {
        "side": side,
        "digest": layer.settings.digest,
        "implementation": layer.implementation,
        "label": label(layer.settings, model_of(layer.settings)),
        "layer": layer.layer,
        "tokens": layer.tokens,
        "heads": steps[-1].shape[-1] // d_head,
        "dHead": d_head,
        "steps": [_packed(layer, number, list(sources)) for number in range(len(steps))],
        "sources": [{"where": one.where, "first": one.first, "lines": one.lines} for one in sources.values()],
    }
    return pack_memory(header, [one.value for one in steps], [here, *parents(layer, here)])


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
    }
