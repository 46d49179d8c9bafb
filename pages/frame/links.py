"""The link of a form page: bounds of received values, warnings about unusable ones, and its maximum length.

Bound controls read and write it; keys without a control are read from `query` and written with `set_param`.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import streamlit as st

from headlight.link.fields import DEFAULTS, DROP_ORDER, FIELDS, MAX_LINK_BYTES
from headlight.link.limits import MAX_CHOICE_LENGTH, MAX_CHOICES
from headlight.picture.link_query import LinkQuery, to_param, warning_text
from headlight.ui.numbers import cut as cut_text
from mha_core.errors import HeadlightError

BINDING: Final = "query-params"
_TYPES: dict[str, tuple[type, ...]] = {  # kind of a field -> types of its values
    "text": (str,),
    "choice": (str,),
    "switch": (bool,),
    "number": (int, float),
    "choices": (list, tuple),
}


@dataclass
class _LinkState:
    """State of the link since the page was opened."""

    page: str
    pending: dict[str, list[str]]  # texts of the link that no control has read yet
    # key -> the value of its control and a warning, shown until the value changes
    warnings: dict[str, tuple[Any, str]] = field(default_factory=dict)
    unbound: set[str] = field(default_factory=set)  # keys of texts that are dropped from a link that would be too long
    # key without a control -> its text, and its earlier ones since the last run without an event; "" for the default
    changes: dict[str, tuple[str, set[str]]] = field(default_factory=dict)
    is_event: bool = False  # whether this run began with an event of a view


def enter(package: str) -> None:
    """Read the link when the page changes, before any control does, and apply `cut_values`."""
    if _link_state().page != package:
        texts = {key: st.query_params.get_all(key) for key in DEFAULTS if key in st.query_params}
        st.session_state["entered"] = _LinkState(package, texts)
        for key in filter(_is_huge, texts):
            st.session_state[key] = texts[key][0][: FIELDS[key].max_length]
    state = _link_state()
    if not state.is_event:
        state.changes.clear()  # as after Back, whose link holds earlier texts rightly
    state.is_event = False
    cut_values()


def _is_huge(key: str) -> bool:
    """Return whether the link's text is too long for its control, which is then not bound to it."""
    limit = FIELDS[key].max_length
    return FIELDS[key].kind == "text" and any(len(text) > limit for text in st.query_params.get_all(key))


def _link_state() -> _LinkState:
    entered: _LinkState = st.session_state.setdefault("entered", _LinkState("", {}))
    return entered


def cut_values() -> None:
    """Cut received values of controls to their bounds, before anything reads them."""
    for key in DEFAULTS.keys() & set(st.session_state):
        raw = st.session_state[key]
        short = _bounded(key, raw)
        if short is raw:
            continue
        if FIELDS[key].kind == "text" and isinstance(raw, str):
            st.session_state[key], name = short, FIELDS[key].noun or f"the text “{key}”"
            warning = f"{name[0].upper()}{name[1:]} had {len(raw):,} characters; the first {len(short):,} are kept."
            _link_state().warnings[key] = short, warning
        else:  # Streamlit refuses an unknown option; without a value the control shows its default
            del st.session_state[key]


def value(key: str) -> Any:
    """Return the value of a control within its bounds, also in callbacks, which run before `cut_values`."""
    return _bounded(key, st.session_state.get(key, DEFAULTS[key]))


def query(*, takes_model: bool = True) -> LinkQuery:
    """Return the link's query, with each text cut just above its bound; `takes_model` as in `LinkQuery`."""
    texts = {
        key: [text[: FIELDS[key].max_length + 1] for text in st.query_params.get_all(key)[:MAX_CHOICES]]
        for key in DEFAULTS
        if key in st.query_params
    }
    try:
        raw = urlencode(texts, doseq=True, quote_via=quote, errors="replace").encode()
        return LinkQuery(raw, takes_model=takes_model)
    except HeadlightError:
        return LinkQuery(b"")


def set_param(key: str, text: str, default: str) -> None:
    """Set a key without a control in the link, for use in callbacks."""
    changes, now = _link_state().changes, st.query_params.get(key, "")
    _, earlier = changes.get(key, ("", set()))
    changes[key] = "" if text == default else text, earlier | {now}
    _write_param(key, changes[key][0])


def begin_event() -> None:
    """Restore keys that earlier events changed, before an event that the browser sent with the link before them."""
    state = _link_state()
    state.is_event = True
    for key, (text, earlier) in state.changes.items():
        if st.query_params.get(key, "") in earlier:
            _write_param(key, text)


def _write_param(key: str, text: str) -> None:
    if text:
        st.query_params[key] = text
    elif key in st.query_params:
        del st.query_params[key]


def notices(handled: Collection[str] = ()) -> list[str]:
    """Return warnings about values that a control could not take, and about dropped keys.

    `handled` are keys whose warnings the page shows itself.
    """
    entered = _link_state()
    for key, values in list(entered.pending.items()):
        if key in st.session_state:  # otherwise its control is not on the page
            current = st.session_state[key]
            if key not in handled and set(_params(current)) != set(_normalized(current, values)):
                instead = "the default" if current is None else cut_text(", ".join(_params(current)), 40) or "nothing"
                entered.warnings[key] = current, warning_text(key, values, instead)
            del entered.pending[key]
    present = set(st.session_state)
    messages = [w for key, (now, w) in entered.warnings.items() if key in present and st.session_state[key] == now]
    dropped = [FIELDS[key].noun for key in dropped_keys() if st.session_state.get(key)]
    if dropped:
        messages.append(
            f"The full link would be longer than {MAX_LINK_BYTES:,} bytes, so it leaves out {' and '.join(dropped)}."
        )
    return messages


def dropped_keys() -> tuple[str, ...]:
    """Return the keys of `DROP_ORDER` that the link must omit to stay within `MAX_LINK_BYTES` bytes."""
    present = set(st.session_state)  # a set, as lookups in the session state are ten times slower
    values = {key: now for key in DEFAULTS if key in present and (now := value(key)) != DEFAULTS[key]}
    lengths = {key: sum(_length(key, text) for text in _params(now)) for key, now in values.items()}
    dropped: list[str] = []
    for key in DROP_ORDER:
        if sum(lengths.values()) - 1 > MAX_LINK_BYTES:  # the first key has no &
            dropped.append(key)
            lengths.pop(key, None)
    return tuple(dropped)


def binding_for(key: str) -> Literal["query-params"] | None:
    """Return the binding of a control, None for a long text in a link that is too long.

    A text that becomes short enough is bound again; a text that was too long on arrival is not in the link.
    """
    if _is_huge(key):
        return None
    if key not in DROP_ORDER:
        return BINDING
    unbound = _link_state().unbound
    if key in dropped_keys():
        unbound.add(key)
        return None
    if key in unbound:
        unbound.remove(key)
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]  # setting the value writes it into the link
    return BINDING


@lru_cache(maxsize=512)
def _length(key: str, text: str) -> int:
    """Return the number of bytes of a value in a link, with its key and the & before it."""
    return len(urlencode([(key, text)], quote_via=quote, errors="replace")) + 1


def _bounded(key: str, raw: Any) -> Any:
    """Return a control's value with a text cut to its bound, and the default for an invalid value."""
    spec = FIELDS[key]
    if spec.kind == "text" and isinstance(raw, str):
        return raw if len(raw) <= spec.max_length else raw[: spec.max_length]
    texts = raw if isinstance(raw, (list, tuple)) else [raw] if isinstance(raw, str) else []
    has_type = isinstance(raw, _TYPES[spec.kind]) and isinstance(raw, bool) == (spec.kind == "switch")
    fits = len(texts) <= MAX_CHOICES and all(isinstance(text, str) and len(text) <= MAX_CHOICE_LENGTH for text in texts)
    return raw if raw is None or (has_type and fits) else spec.default


def _params(value: Any) -> list[str]:
    """Return a control's value as texts of the link."""
    param = "None" if value is None else to_param(value)
    return [param] if isinstance(param, str) else param or [""]


def _normalized(current: Any, texts: list[str]) -> list[str]:
    """Return texts of the link in the spelling of `_params` if they mean the same."""
    if isinstance(current, bool):
        return [text.lower() for text in texts]
    if isinstance(current, (int, float)):
        with suppress(ValueError):
            return [f"{float(text):g}" for text in texts]
    return texts
