"""The step view: the traces that it shows, the state that goes with them, and what comes back."""

from __future__ import annotations

import re
import secrets
from functools import lru_cache
from typing import Any

import streamlit as st
import torch

from mha_core import IMPLEMENTATIONS, Step, Trace
from pages.kit.draw import canvas, events
from pages.kit.draw.packing import pack_memory
from pages.kit.frame import controls
from pages.kit.picture.limits import MOST_FEATURES
from pages.kit.picture.place import At
from pages.kit.picture.traces import Traced, parents
from pages.kit.picture.words import label

__all__ = ["find", "pack_trace", "show", "usable"]


def show(
    shown: list[Traced], at: At, step: str, feature: int, notices: list[str], *, origin: str, chosen: bool
) -> None:
    """Draws one trace, or two side by side, at a step.

    Args:
        at: layer, head, query and key in focus; `chosen`: the visitor, not the page, chose the query.
        feature: the channel of the head in focus.
    """
    state = {
        # a new session counts its turns anew
        "visit": st.session_state.setdefault("visit", secrets.token_hex(4)),
        "heard": st.session_state.get("steps_heard", 0),
        "step": step,
        "layer": at.layer,
        "head": at.head,
        "row": at.row,
        "key": at.key,
        "chosen": chosen,
        "feature": feature,
        "notices": notices,
        "label": f"layer {at.layer}, {origin} weights",
        "count": len(shown),
    }
    packed = [pack_trace(found, step, side, at.head) for side, found in enumerate(shown)]
    canvas.step_view(packed, state, _on_act)


def usable(step: str) -> bool:
    """True when some implementation has a step of that name."""
    return re.sub(r"\.head\d{1,2}$", ".head0", step, flags=re.ASCII) in _known()


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
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
    """
    names = [step.name for step in steps]
    own, base = re.sub(r"\.head\d+$", f".head{head}", name), name.split(".")[0]
    return next((names.index(known) for known in (own, base, base[:1]) if known in names), 0)


def pack_trace(found: Traced, step: str, side: int = 0, head: int = 0) -> bytes:
    """The steps of a layer and the memory they lie in, as bytes for the browser."""
    steps = found.steps
    sources: dict[str, dict[str, Any]] = {}
    listed = []
    for number, own in enumerate(steps):
        text = found.source(own)
        sources.setdefault(text.where, {"where": text.where, "first": text.first, "lines": text.lines})
        listed.append(
            {
                "name": own.name,
                "expression": own.expression,
                "axes": _axes(own),
                "strides": own.strides,
                "contiguous": own.contiguous,
                "view": own.is_view,
                "bytes": own.value.numel() * own.value.element_size(),
                "from": parents(found, number),
                "source": list(sources).index(text.where),
                "marked": text.marked,
            }
        )
    here = find(steps, step, head)
    header = {
        "side": side,
        "digest": found.settings.digest,
        "implementation": found.implementation,
        "label": label(found.settings),
        "layer": found.layer,
        "tokens": found.tokens,
        "heads": steps[-1].shape[-1] // _d_head(steps),
        "dHead": _d_head(steps),
        "steps": listed,
        "sources": list(sources.values()),
    }
    return pack_memory(header, [own.value for own in steps], [here, *parents(found, here)])


def _d_head(steps: tuple[Step, ...]) -> int:
    return next(step.shape[-1] for step in steps if step.name == "q")


def _axes(step: Step) -> list[dict[str, Any]]:
    """Each axis: how it is written, the letter that gives it its colour, its size."""
    groups = re.findall(r"\(.*?\)|\S+", step.axes)
    letters = [next((letter for letter in group if letter.isalpha()), "") for group in groups]
    return [
        {"text": group.strip("()"), "letter": letter, "size": size}
        for group, letter, size in zip(groups, letters, step.shape, strict=True)
    ]


def _on_act() -> None:
    """Takes the step and the cell that the visitor looks at over into the link."""
    event = canvas.take_event(canvas.STEPS_KEY)
    controls.take_at(event)
    step, feature = events.text(event, "step"), events.whole(event, "feature")
    if step is not None and usable(step):
        st.session_state["step"] = step
    if feature is not None and 0 <= feature < MOST_FEATURES:
        st.session_state["f"] = feature
    st.session_state["steps_heard"] = events.whole(event, "turn") or 0
