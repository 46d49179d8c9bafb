"""The public link format: which key keeps what, what a link may leave out, and what to say when it cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from mha_core import device as devices
from pages.kit.draw import echoes
from pages.kit.picture.fields import DEFAULTS, FIELDS, LEFT_OUT, LONGEST_LINK
from pages.kit.picture.limits import LONGEST_CHOICE, MOST_CHOSEN

from . import lent

BOUND: Final = "query-params"
_TYPES: dict[str, tuple[type, ...]] = {  # of a field's kind -> of what its control may say
    "text": (str,),
    "choice": (str,),
    "switch": (bool,),
    "number": (int, float),
    "choices": (list, tuple),
}


@dataclass
class Visit:
    """What the links of one visit keep from one run to the next.

    Attributes:
        asked: what the visitor's link said and no page has answered yet; None before the first run.
        cut: key -> how long a text was before it was cut; 0 for what a control cannot say.
        defaults: those of the present page that differ from `DEFAULTS`; chosen: their values when the page was left.
        kept: the values of every control so far, also of pages that were left; long: those that no link can carry.
        unbound: the texts that are out of the link because it would grow too long.
        repeated: sentences that the next run says once more; refused: texts that it sets to their defaults.
        page, before: the present one, as Streamlit names it, and until it is made the one before.
    """

    asked: dict[str, list[str]] | None = None
    cut: dict[str, int] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    chosen: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    long: dict[str, Any] = field(default_factory=dict)
    unbound: set[str] = field(default_factory=set)
    repeated: list[str] = field(default_factory=list)
    refused: frozenset[str] = frozenset()
    page: str = ""
    before: str = ""


def _visit() -> Visit:
    visit: Visit = st.session_state.setdefault("links_of_visit", Visit())
    return visit


def cut_texts(keys: Iterable[str] = DEFAULTS) -> None:
    """Cuts what the browser sent to its bounds: what controls say, and what the link says, which new ones take over.

    Call it before anything looks at them. `notices` tells what was cut.
    """
    visit, present, linked = _visit(), set(st.session_state), set(st.query_params)
    long: dict[str, list[str]] = {}
    for key in keys:
        values = st.query_params.get_all(key) if key in linked else []
        if len(values) > MOST_CHOSEN or any(len(text) > FIELDS[key].longest for text in values):
            long[key] = [text[: FIELDS[key].longest] for text in values[:MOST_CHOSEN]]
            if key not in present:
                visit.cut[key] = max(map(len, values))
        sent = st.session_state[key] if key in present else None
        cut = _within(key, sent)
        if cut is sent or (type(cut) is type(sent) and cut == sent):
            continue
        if FIELDS[key].kind == "text" and isinstance(sent, str):
            st.session_state[key], visit.cut[key] = cut, len(sent)
        else:  # an option that there is not would be refused if code set it; without a value the default comes back
            del st.session_state[key]
            visit.cut[key] = 0
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
    """Notes what the link asked for, before any control of the first run takes it in: a page begins with this.

    `own_defaults` are those that differ from `DEFAULTS` on this page. A value that is the default of the page that the
    visitor comes from becomes this page's, unless it was chosen where it is not the default.
    """
    visit, context = _visit(), get_script_run_ctx()
    echoes.answer()
    if context and context.page_script_hash != visit.page:
        visit.before, visit.page = visit.page, context.page_script_hash
        visit.kept |= lent.take_back()
    for key in visit.refused - {"model"}:  # which its picker takes back
        st.session_state[key] = (DEFAULTS | dict(own_defaults))[key]
    visit.refused = frozenset()
    visit.chosen.update({key: st.session_state.get(key) for key in visit.defaults})
    for key in {**visit.defaults, **own_defaults}:
        left, entered = (defaults.get(key, DEFAULTS[key]) for defaults in (visit.defaults, own_defaults))
        was_chosen = key not in visit.defaults and visit.chosen.get(key) == left
        if left != entered and st.session_state.get(key) == left and not was_chosen and key not in st.query_params:
            st.session_state[key] = entered
    visit.defaults = dict(own_defaults)
    if visit.asked is None:
        visit.asked = {key: st.query_params.get_all(key) for key in DEFAULTS if key in st.query_params}
    for key, text in visit.long.items():
        if key not in st.session_state and key not in st.query_params:
            st.session_state[key] = text
    visit.long = {}


def comes_from_another() -> bool:
    """Tells whether the visitor comes from another page by a link: the first run of this one, and not by Back."""
    context = get_script_run_ctx()
    return bool(_visit().before) and context is not None and not context.is_history_navigation


def always_say(key: str) -> None:
    """Has the link of this page say what this control says, also where it is the default; after `remember`."""
    visit = _visit()
    visit.defaults = {**visit.defaults, key: None}


def notices(usable: Mapping[str, bool], *, resets: bool = False) -> tuple[list[str], tuple[str, ...]]:
    """One sentence for each value of the link that could not be used, answered once, and one on what the link lacks.

    Args:
        usable: for the controls of this page that are texts, whether the text could be used.
        resets: the next run sets the texts that cannot be used to their defaults. Otherwise the browser does it, which
            begins a run that says the same once more.

    Returns:
        the sentences, and the keys of the texts that must leave the address.
    """
    visit = _visit()
    asked, cut, visit.asked, visit.cut = visit.asked or {}, visit.cut, {}, {}
    sentences = []
    for key, values in asked.items():
        if key not in st.session_state:  # its control is not on the page, as the width without a window
            continue
        now = st.session_state[key]
        if usable.get(key, set(_written(now)) == set(_normal(now, values))):
            continue
        instead = "the default" if key in usable or now is None else _short(", ".join(_written(now))) or "nothing"
        sent = cut.pop(key, 0)
        why = f"{sent:,} characters, too long to be" if sent else "which cannot be"
        sentences.append(
            f"The link says {key}={_short(', '.join(values))}, {why} used here; {instead} is used instead."
        )
    sentences += [_told(key, sent) for key, sent in cut.items()]
    unusable = tuple(key for key, used in usable.items() if key in asked and not used)
    said_before, visit.repeated = visit.repeated, list(sentences) if unusable and not resets else []
    visit.refused = frozenset(unusable if resets else ())
    sentences = [*said_before, *sentences]
    left_out = [FIELDS[key].called for key in too_long() if st.session_state.get(key)]
    if left_out:
        sentences.append(
            f"The full link would be longer than {LONGEST_LINK:,} bytes, so it omits {' and '.join(left_out)}."
        )
    return sentences, (*unusable, *lent.returned())


def repeat(sentence: str) -> None:
    """Has the next `notices` say this first."""
    _visit().repeated = [sentence]


def query(leave_out: tuple[str, ...] = ()) -> str:
    """The query of the present state's link: every bound value that is not its default."""
    return urlencode(_parts(_present(), leave_out, _visit().defaults), quote_via=quote, errors="replace")


def kept() -> list[tuple[str, str]]:
    """What a link to another page must carry: the values that earlier pages left behind. A page ends with this.

    The values of this page's own controls are in the address, and Streamlit takes them along; twice would be once too
    often. A text that is too long for any link is kept for the next page of this visit.
    """
    visit = _visit()
    visit.before = ""
    visit.kept.update(_present())
    visit.long = {key: visit.kept[key] for key in too_long() if key in visit.kept}
    return _parts({key: value for key, value in visit.kept.items() if key not in st.session_state}, (), {})


def too_long() -> tuple[str, ...]:
    """What the link must leave out to stay within `LONGEST_LINK` bytes: as much of `LEFT_OUT` as it takes."""
    lengths: dict[str, int] = {}
    for key, text in _parts(_present(), (), _visit().defaults):
        lengths[key] = lengths.get(key, 0) + _length(key, text)
    total = sum(lengths.values()) - 1  # nothing stands before the first key
    left_out: list[str] = []
    for key in LEFT_OUT:
        if total > LONGEST_LINK:
            left_out.append(key)
            total -= lengths.get(key, 0)
    return tuple(left_out)


def bound(key: str) -> Literal["query-params"] | None:
    """Binds a control to the link, a long text unless the link would grow too long with it.

    A text that is short again goes back into the link.
    """
    if key not in LEFT_OUT:
        return BOUND
    cut_texts([key])  # a fragment begins here
    if long := key in too_long():
        _visit().unbound.add(key)
    elif key in _visit().unbound:
        _visit().unbound.remove(key)
        if key in st.session_state:
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


def _within(key: str, sent: Any) -> Any:
    """What a control says, a text cut to its bound; the default in place of what no control says."""
    known = FIELDS[key]
    if known.kind == "text" and isinstance(sent, str):
        return sent[: known.longest]
    texts = sent if isinstance(sent, (list, tuple)) else [sent] if isinstance(sent, str) else []
    is_of_kind = isinstance(sent, _TYPES[known.kind]) and isinstance(sent, bool) == (known.kind == "switch")
    short = len(texts) <= MOST_CHOSEN and all(isinstance(text, str) and len(text) <= LONGEST_CHOICE for text in texts)
    return sent if sent is None or (is_of_kind and short) else known.default


def _told(key: str, sent: int) -> str:
    """That a text was cut, or, with `sent` 0, that a control said what it cannot say."""
    if not sent:
        return f"What came for “{key}” cannot be used; its default is used instead."
    name = FIELDS[key].called or f"the text “{key}” of the link"
    return f"{name[0].upper()}{name[1:]} had {sent:,} characters; the first {FIELDS[key].longest:,} are kept."


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


def _normal(now: Any, asked: list[str]) -> list[str]:
    """What was asked, in the spelling of `_written` where it means the same."""
    if isinstance(now, bool):
        return [text.lower() for text in asked]
    if isinstance(now, (int, float)):
        with suppress(ValueError):
            return [f"{float(text):g}" for text in asked]
    return asked
