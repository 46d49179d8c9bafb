"""The public link format: which key keeps what, what a link may leave out, and what to say when it cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import streamlit as st

from mha_core import device as devices

from .presets import PRESETS
from .view import DEFAULT_AT

__all__ = [
    "BOUND",
    "DEFAULTS",
    "LONGEST_LINK",
    "bound_if_short",
    "kept",
    "notices",
    "query",
    "remember",
    "too_long",
]

LONGEST_LINK = 6000
# What a link leaves out when it would grow too long, in this order.
LEFT_OUT = {
    "longer": "the long text",
    "ask2": "the other question",
    "ask": "the question",
    "pin": "the pinned picture",
    "order": "the new order",
    "s2": "the right sentence",
    "s": "the sentence",
}
BOUND: Final = "query-params"
DEFAULTS: dict[str, Any] = {
    "s": PRESETS[0],
    "mask": "none",
    "w": 3,
    "first": 1,
    "gap": 2,
    "rule": "causal & window:4",
    "on": "none",
    "p": "",
    "pos": "as trained",
    "t": 1.0,
    "off": [],
    "dev": None,  # the best device present
    "model": "minilm",
    "at": DEFAULT_AT,
    "look": "",
    "pin": "",
    "big": False,
    "ex": "one head",
    "src": "as given",
    "sqrt": False,
    "qw": "how are you",
    "kw": "you can",
    "m": "",
    # compare: the right side
    "s2": "",  # the same sentence
    "mask2": "none",
    "w2": 3,
    "first2": 1,
    "gap2": 2,
    "rule2": "causal & window:4",
    "on2": "none",
    "p2": "",
    "pos2": "none",
    "t2": 1.0,
    "off2": [],
    "order": "",  # of the shuffle test: a random one
    "shuffle": 1,
    # masks
    "pad": "how are you",
    # shapes
    "step": "q.transpose",
    "f": 0,
    "vs": "none",
    "lesson": "no transpose",
    # positions
    "enc": "sinusoidal",
    "enc2": "learned",
    "ch": ["0", "1", "30", "31"],
    "pair": 0,
    "at_pos": 1,
    "hd": 0,
    "far": 600,
    "amp": 1.0,
    # implementations
    "diff": "relative",
    "b": 1,
    "n": 128,
    "d": 384,
    "h": 12,
    "what": "forward with maps",
    "race": ["naive", "efficient", "fused", "einsum", "sequence_first", "sdpa", "torch"],
    "secs": 3,
    "sweep": True,
    "impl": "efficient",
    "beside": "einsum",
    # train; None is what suits the task
    "task": "who did what",
    "post": "my own",
    "pe": ["none", "sinusoidal", "rotary"],
    "by": ["fused"],
    "nl": [],
    "keep": ["on"],
    "ampl": 1.0,
    "seeds": 3,
    "dm": None,
    "nh": None,
    "ff": None,
    "res": None,
    "nrm": None,
    "pool": None,
    "init": None,
    "vocab": None,
    "steps": None,
    "batch": None,
    "thr": None,
    "cut": None,
    "lr": None,
    "sched": None,
    "budget": None,
    "ratio": True,
    "tc": "text",
    "lc": "label",
    "dups": False,
    "apart": False,
    "ask": "",
    "ask2": "",
    "longer": "",
    "more": 12,
    "temp": 0.0,
    "dice": 0,
    "cand": None,  # the first one
    "head": "mean of layer 0",
    "film": "",
}


def remember(own_defaults: Mapping[str, Any]) -> None:
    """Notes what the link asked for, before any control of the first run takes it in. Call it first on every page.

    `own_defaults` are those that differ from `DEFAULTS` on this page. A value that is the default of the page that the
    visitor comes from becomes this page's, unless it was chosen where it is not the default.
    """
    before, chosen = st.session_state.get("own_defaults", {}), st.session_state.setdefault("chosen", {})
    chosen.update({key: st.session_state.get(key) for key in before})
    for key in {**before, **own_defaults}:
        left, entered = (defaults.get(key, DEFAULTS[key]) for defaults in (before, own_defaults))
        was_chosen = key not in before and chosen.get(key) == left
        if left != entered and st.session_state.get(key) == left and not was_chosen and key not in st.query_params:
            st.session_state[key] = entered
    st.session_state["own_defaults"] = dict(own_defaults)
    if "asked" not in st.session_state:
        st.session_state["asked"] = {key: st.query_params.get_all(key) for key in DEFAULTS if key in st.query_params}
    for key, text in st.session_state.pop("long", {}).items():
        if key not in st.session_state and key not in st.query_params:
            st.session_state[key] = text


def notices(**usable: bool) -> list[str]:
    """One sentence for each value of the link that could not be used, answered once, and one on what the link lacks.

    Args:
        usable: for the controls of this page that are texts, whether the text could be used.
    """
    asked: dict[str, list[str]] = st.session_state["asked"]
    st.session_state["asked"] = {}
    found = []
    for key, values in asked.items():
        if key not in st.session_state:  # its control is not on the page, as the width without a window
            continue
        got = st.session_state[key]
        if usable.get(key, set(_written(got)) == set(_normal(got, values))):
            continue
        said = ", ".join(values)
        said = said if len(said) <= 40 else said[:39] + "…"
        instead = "the default" if key in usable else ", ".join(_written(got)) or "nothing"
        found.append(f"The link says {key}={said}, which cannot be used here; {instead} is used instead.")
    told = st.session_state.pop("told", [])
    # the view answers by writing their defaults into the link, and that run says the same once more
    st.session_state["unusable"] = [key for key, used in usable.items() if key in asked and not used]
    if st.session_state["unusable"]:
        st.session_state["told"] = list(found)
    found = [*told, *found]
    left_out = [LEFT_OUT[key] for key in too_long() if st.session_state.get(key)]
    if left_out:
        found.append(f"A link to this would pass {LONGEST_LINK:,} bytes, so it leaves out {' and '.join(left_out)}.")
    return found


def query(leave_out: tuple[str, ...] = ()) -> str:
    """The query of the present state's link: every bound value that is not its default."""
    parts = _parts(_present(), leave_out, st.session_state["own_defaults"])
    return urlencode(parts, quote_via=quote, errors="replace")


def kept() -> list[tuple[str, str]]:
    """What a link to another page must carry: the values that earlier pages left behind. Call it last on a page.

    The values of this page's own controls are in the address, and Streamlit takes them along; twice would be once too
    often. A text that is too long for any link is kept for the next page of this visit.
    """
    values = st.session_state.setdefault("kept", {})
    values.update(_present())
    st.session_state["long"] = {key: values[key] for key in too_long() if key in values}
    return _parts({key: value for key, value in values.items() if key not in st.session_state}, (), {})


def too_long() -> tuple[str, ...]:
    """What the link must leave out to stay within `LONGEST_LINK` bytes: as much of `LEFT_OUT` as it takes."""
    every = tuple(LEFT_OUT)
    if len(st.session_state.get("s", "")) > LONGEST_LINK:  # no need to write it out to know
        return every
    return next((every[:count] for count in range(len(every)) if len(query(every[:count])) <= LONGEST_LINK), every)


def bound_if_short(key: str) -> Literal["query-params"] | None:
    """Binds a text to the link unless the link would grow too long; a text that is short again goes back into it."""
    long = key in too_long()
    was_long = st.session_state.get(f"long_{key}", False)
    st.session_state[f"long_{key}"] = long
    if was_long and not long and key in st.session_state:
        st.session_state[key] = st.session_state[key]  # a value that code sets is written into the link
    return None if long else BOUND


def _present() -> dict[str, Any]:
    """The values of the controls that this page has."""
    return {key: st.session_state[key] for key in DEFAULTS if key in st.session_state}


def _parts(
    values: Mapping[str, Any], leave_out: tuple[str, ...], own_defaults: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Keys and written values of a link, without defaults."""
    parts = []
    for key, default in (DEFAULTS | dict(own_defaults)).items():
        value = values.get(key, default)
        if value != default and key not in leave_out and not (key == "dev" and value == devices.available()[0]):
            parts += [(key, text) for text in _written(value) or [""]]
    return parts


def _written(value: Any) -> list[str]:
    """A control's value as the link writes it."""
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, (list, tuple)):
        return [str(part) for part in value]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


def _normal(got: Any, asked: list[str]) -> list[str]:
    """What was asked, in the spelling of `_written` where it means the same."""
    if isinstance(got, bool):
        return [text.lower() for text in asked]
    if isinstance(got, (int, float)):
        try:
            return [f"{float(text):g}" for text in asked]
        except ValueError:
            return asked
    return asked
