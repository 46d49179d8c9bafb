"""The public link format: which key keeps what, what a link may leave out, and what to say when it cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import NoneType
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from mha_core import device as devices
from pages.kit.picture.limits import LONGEST, LONGEST_CHOICE, MOST_CHOSEN

from .fields import DEFAULTS

__all__ = [
    "BOUND",
    "DEFAULTS",
    "LONGEST_LINK",
    "bound_if_short",
    "cut_texts",
    "kept",
    "notices",
    "query",
    "remember",
    "too_long",
    "value",
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
# The other texts that a visitor types, by what a sentence calls them.
TYPED = LEFT_OUT | {
    "pad": "the other sentence in the batch",
    "qw": "the words of the queries",
    "kw": "the words of the keys",
    "rule": "the rule",
    "rule2": "the rule of the right side",
    "on": "the rule that is painted on",
    "on2": "the rule that is painted on, right,",
    "tc": "the column of the texts",
    "lc": "the column of the labels",
}
_KINDS: dict[type, tuple[type, ...]] = {  # of a default -> of what its control may say; None is an empty control
    NoneType: (str, int, float),
    str: (str,),
    bool: (bool,),
    int: (int, float),
    float: (int, float),
    list: (list, tuple),
}


def cut_texts(keys: Iterable[str] = DEFAULTS) -> None:
    """Cuts what the browser sent to its bounds: what controls say, and what the link says, which new ones take over.

    Call it before anything looks at them. `notices` tells what was cut.
    """
    told = st.session_state.setdefault("cut_texts", {})
    present, linked, long = set(st.session_state), set(st.query_params), {}
    for key in keys:
        values = st.query_params.get_all(key) if key in linked else []
        if len(values) > MOST_CHOSEN or any(len(text) > _longest(key) for text in values):
            long[key] = [text[: _longest(key)] for text in values[:MOST_CHOSEN]]
            if key not in present:
                told[key] = max(map(len, values))
        sent = st.session_state[key] if key in present else None
        cut = _within(key, sent)
        if cut is sent or (type(cut) is type(sent) and cut == sent):
            continue
        if key in LONGEST and isinstance(sent, str):
            st.session_state[key], told[key] = cut, len(sent)
        else:  # an option that there is not would be refused if code set it; without a value the default comes back
            del st.session_state[key]
            told[key] = 0
    context = get_script_run_ctx()
    if long and context is not None:
        # not st.query_params[key] = …: a control would still take its first value from what the browser sent
        with context.session_state.query_params() as link:
            for key, texts in long.items():
                link.set_corrected_value(key, texts if len(texts) > 1 else texts[0], "string_array_value")
            link.set_initial_query_params_from_current()


def value(key: str) -> Any:
    """What a control says, within its bounds, also before `cut_texts`: callbacks come first."""
    return _within(key, st.session_state.get(key, DEFAULTS[key]))


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
    cut: dict[str, int] = st.session_state.pop("cut_texts", {})
    found = []
    for key, values in asked.items():
        if key not in st.session_state:  # its control is not on the page, as the width without a window
            continue
        got = st.session_state[key]
        if usable.get(key, set(_written(got)) == set(_normal(got, values))):
            continue
        instead = "the default" if key in usable or got is None else _short(", ".join(_written(got))) or "nothing"
        sent = cut.pop(key, 0)
        why = f"{sent:,} characters, too long to be" if sent else "which cannot be"
        found.append(f"The link says {key}={_short(', '.join(values))}, {why} used here; {instead} is used instead.")
    found += [_told(key, sent) for key, sent in cut.items()]
    told = st.session_state.pop("told_before", [])
    # the view answers by writing their defaults into the link, and that run says the same once more
    st.session_state["unusable"] = [key for key, used in usable.items() if key in asked and not used]
    if st.session_state["unusable"]:
        st.session_state["told_before"] = list(found)
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
    lengths: dict[str, int] = {}
    for key, text in _parts(_present(), (), st.session_state["own_defaults"]):
        lengths[key] = lengths.get(key, 0) + _length(key, text)
    total = sum(lengths.values()) - 1  # nothing stands before the first key
    left_out: list[str] = []
    for key in LEFT_OUT:
        if total > LONGEST_LINK:
            left_out.append(key)
            total -= lengths.get(key, 0)
    return tuple(left_out)


def bound_if_short(key: str) -> Literal["query-params"] | None:
    """Binds a text to the link unless the link would grow too long; a text that is short again goes back into it."""
    cut_texts([key])  # a fragment begins here
    long = key in too_long()
    was_long = st.session_state.get(f"long_{key}", False)
    st.session_state[f"long_{key}"] = long
    if was_long and not long and key in st.session_state:
        st.session_state[key] = st.session_state[key]  # a value that code sets is written into the link
    return None if long else BOUND


def _present() -> dict[str, Any]:
    """The values of the controls that this page has."""
    present = set(st.session_state)  # once: to ask for each key takes ten times as long
    return {key: value(key) for key in DEFAULTS if key in present}


@lru_cache(maxsize=512)
def _length(key: str, text: str) -> int:
    """How many bytes a value takes in a link, with its key and the & before it."""
    return len(urlencode([(key, text)], quote_via=quote, errors="replace")) + 1


def _longest(key: str) -> int:
    return LONGEST.get(key, LONGEST_CHOICE)


def _within(key: str, sent: Any) -> Any:
    """What a control says, a text cut to its bound; the default in place of what no control says."""
    if key in LONGEST and isinstance(sent, str):
        return sent[: _longest(key)]
    default = DEFAULTS[key]
    texts = sent if isinstance(sent, (list, tuple)) else [sent] if isinstance(sent, str) else []
    is_of_kind = isinstance(sent, _KINDS[type(default)]) and isinstance(sent, bool) == isinstance(default, bool)
    short = len(texts) <= MOST_CHOSEN and all(isinstance(text, str) and len(text) <= LONGEST_CHOICE for text in texts)
    return sent if sent is None or (is_of_kind and short) else default


def _told(key: str, sent: int) -> str:
    """That a text was cut, or, with `sent` 0, that a control said what it cannot say."""
    if not sent:
        return f"What came for “{key}” cannot be used; its default is used instead."
    name = TYPED.get(key, f"the text “{key}” of the link")
    return f"{name[0].upper()}{name[1:]} had {sent:,} characters; the first {_longest(key):,} are kept."


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


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
