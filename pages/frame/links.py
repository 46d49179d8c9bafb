"""The link of a form page: bounds of what a browser sends, what to say of values that cannot be used, what has no room.

The bound controls read and write it; what no control holds, the page reads with `asked` and writes with `put`.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import streamlit as st

from headlight.link.fields import DEFAULTS, DROP_ORDER, FIELDS, MAX_LINK_BYTES
from headlight.link.limits import MAX_CHOICE_LENGTH, MAX_CHOSEN
from headlight.picture.link_query import LinkQuery, to_param, warning_text
from headlight.ui.numbers import cut as cut_text
from mha_core.errors import HeadlightError

BOUND: Final = "query-params"
_TYPES: dict[str, tuple[type, ...]] = {  # of a field's kind -> of what its control may say
    "text": (str,),
    "choice": (str,),
    "switch": (bool,),
    "number": (int, float),
    "choices": (list, tuple),
}


@dataclass
class _Entered:
    """What holds since a page was entered.

    Attributes:
        asked: what the link said and no control has answered yet.
        told: key -> what its control said instead, and the sentence about it, which holds until that changes.
        unbound: the texts that are out of the link because it would grow too long.
    """

    page: str
    asked: dict[str, list[str]]
    told: dict[str, tuple[Any, str]] = field(default_factory=dict)
    unbound: set[str] = field(default_factory=set)


def enter(package: str) -> None:
    """Notes what the link says, if the page is another one, before any control takes it in; and `cut`s."""
    if _entered().page != package:
        asked = {key: st.query_params.get_all(key) for key in DEFAULTS if key in st.query_params}
        st.session_state["entered"] = _Entered(package, asked)
        for key in filter(_is_huge, asked):
            st.session_state[key] = asked[key][0][: FIELDS[key].longest]
    cut()


def _is_huge(key: str) -> bool:
    """Tells whether the link's text has no room in its control, which then is not bound to it."""
    longest = FIELDS[key].longest
    return FIELDS[key].kind == "text" and any(len(text) > longest for text in st.query_params.get_all(key))


def _entered() -> _Entered:
    entered: _Entered = st.session_state.setdefault("entered", _Entered("", {}))
    return entered


def cut() -> None:
    """Cuts what a browser sent to its bounds, before anything looks at it."""
    for key in DEFAULTS.keys() & set(st.session_state):
        sent = st.session_state[key]
        kept = _within(key, sent)
        if kept is sent:
            continue
        if FIELDS[key].kind == "text" and isinstance(sent, str):
            st.session_state[key], name = kept, FIELDS[key].noun or f"the text “{key}”"
            told = f"{name[0].upper()}{name[1:]} had {len(sent):,} characters; the first {len(kept):,} are kept."
            _entered().told[key] = kept, told
        else:  # an option that there is not would be refused if code set it; without a value the default comes back
            del st.session_state[key]


def value(key: str) -> Any:
    """What a control says, within its bounds, also before `cut`: callbacks come first."""
    return _within(key, st.session_state.get(key, DEFAULTS[key]))


def query(*, takes_model: bool = True) -> LinkQuery:
    """The link's query, each text cut to one character more than can be used; `takes_model` as in `LinkQuery`."""
    said = {
        key: [text[: FIELDS[key].longest + 1] for text in st.query_params.get_all(key)[:MAX_CHOSEN]]
        for key in DEFAULTS
        if key in st.query_params
    }
    try:
        raw = urlencode(said, doseq=True, quote_via=quote, errors="replace").encode()
        return LinkQuery(raw, takes_model=takes_model)
    except HeadlightError:
        return LinkQuery(b"")


def put(key: str, text: str, default: str) -> None:
    """Has the link say this of a key that no control holds: for callbacks."""
    if text != default:
        st.query_params[key] = text
    elif key in st.query_params:
        del st.query_params[key]


def notices(others: Collection[str] = ()) -> list[str]:
    """One sentence for each value of the link that a control could not take, and one on what the link lacks.

    `others`: keys of which the page says that itself.
    """
    entered = _entered()
    for key, values in list(entered.asked.items()):
        if key in st.session_state:  # otherwise its control is not on the page, as the width without a window
            now = st.session_state[key]
            if key not in others and set(_written(now)) != set(_normal(now, values)):
                instead = "the default" if now is None else cut_text(", ".join(_written(now)), 40) or "nothing"
                entered.told[key] = now, warning_text(key, values, instead)
            del entered.asked[key]
    present = set(st.session_state)
    told = [said for key, (now, said) in entered.told.items() if key in present and st.session_state[key] == now]
    left_out = [FIELDS[key].noun for key in too_long() if st.session_state.get(key)]
    if left_out:
        told.append(
            f"The full link would be longer than {MAX_LINK_BYTES:,} bytes, so it leaves out {' and '.join(left_out)}."
        )
    return told


def too_long() -> tuple[str, ...]:
    """Return the keys of `LEFT_OUT` that the link must omit to stay within `MAX_LINK_BYTES` bytes."""
    present = set(st.session_state)  # once: to ask for each key takes ten times as long
    said = {key: now for key in DEFAULTS if key in present and (now := value(key)) != DEFAULTS[key]}
    lengths = {key: sum(_length(key, text) for text in _written(now)) for key, now in said.items()}
    left_out: list[str] = []
    for key in DROP_ORDER:
        if sum(lengths.values()) - 1 > MAX_LINK_BYTES:  # nothing stands before the first key
            left_out.append(key)
            lengths.pop(key, None)
    return tuple(left_out)


def bound(key: str) -> Literal["query-params"] | None:
    """Binds a control to the link, a long text unless the link would grow too long with it.

    A text that is short again goes back into the link; what was too long when it came is not in it.
    """
    if _is_huge(key):
        return None
    if key not in DROP_ORDER:
        return BOUND
    unbound = _entered().unbound
    if key in too_long():
        unbound.add(key)
        return None
    if key in unbound:
        unbound.remove(key)
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]  # a value that code sets is written into the link
    return BOUND


@lru_cache(maxsize=512)
def _length(key: str, text: str) -> int:
    """How many bytes a value takes in a link, with its key and the & before it."""
    return len(urlencode([(key, text)], quote_via=quote, errors="replace")) + 1


def _within(key: str, sent: Any) -> Any:
    """What a control says, a text cut to its bound; the default in place of what no control says."""
    known = FIELDS[key]
    if known.kind == "text" and isinstance(sent, str):
        return sent if len(sent) <= known.longest else sent[: known.longest]
    texts = sent if isinstance(sent, (list, tuple)) else [sent] if isinstance(sent, str) else []
    is_of_kind = isinstance(sent, _TYPES[known.kind]) and isinstance(sent, bool) == (known.kind == "switch")
    few = len(texts) <= MAX_CHOSEN and all(isinstance(text, str) and len(text) <= MAX_CHOICE_LENGTH for text in texts)
    return sent if sent is None or (is_of_kind and few) else known.default


def _written(value: Any) -> list[str]:
    """A control's value as the link writes it."""
    written = "None" if value is None else to_param(value)
    return [written] if isinstance(written, str) else written or [""]


def _normal(now: Any, asked: list[str]) -> list[str]:
    """What was asked, in the spelling of `_written` where it means the same."""
    if isinstance(now, bool):
        return [text.lower() for text in asked]
    if isinstance(now, (int, float)):
        with suppress(ValueError):
            return [f"{float(text):g}" for text in asked]
    return asked
