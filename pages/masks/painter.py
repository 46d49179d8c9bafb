"""The Masks view: what the script tells it, and what comes back. Its picture comes over the wire (`message`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from mha_core import Model
from mha_core.errors import HeadlightError
from pages.kit.draw import events
from pages.kit.draw.view import Event, View
from pages.kit.frame import view_link
from pages.kit.frame.controls import NOT_A_RULE, WRITTEN_FORMS
from pages.kit.frame.layout import say_next
from pages.kit.frame.view_events import sizes_of, take_at, take_text
from pages.kit.picture import rules
from pages.kit.picture.limits import LONGEST_RULE
from pages.kit.picture.place import At
from pages.kit.picture.query import WRITTEN, Query
from pages.kit.picture.settings import Settings

from .clicks import RULE

VIEW = View("painter", "masks", "painter.js")


def show(model: Model, settings: Settings, at: At, *, box: str, notices: list[str], unusable: Sequence[str]) -> None:
    """The view at what is to be shown.

    Args:
        settings: with the last sentence that can be used, and with what is painted, for whatever length it is.
        at: layer, head and, where the visitor chose them, row and key.
        box: what stands in the sentence box.
        notices: what the controls have to say.
        unusable: keys of the link's texts that could not be used.
    """
    sizes, rule = sizes_of(model), settings.mask

    def take(event: Event) -> None:
        """Controls and link agree on what the visitor did."""
        take_text(event)
        take_at(event, sizes)
        _take_mask(event, rule)

    state = {
        **VIEW.turns(),
        **view_link.of({"": settings}, unusable, at=str(at)),
        "at": str(at),
        "box": box,
        "typed": settings.text,
        "notices": notices,
        "unusable": list(unusable),
    }
    VIEW.show(state, take)


def _take_mask(event: Event, now: str) -> None:
    """Sets the controls of the mask to what the event says of the link, as far as it can be used.

    A rule may be told to be joined to the one in use, `now` or that of the event: when it is too long to be written.
    """
    said = {key: text for key in (*RULE, "on", "p") if (text := events.text(event, key)) is not None}
    painting = _mask_of({**said, "mask": "painted"}) if "p" in said else None
    if painting is not None:  # it is kept, in use or not
        st.session_state.update(on=painting.mask, p=painting.painted)
    mask = _mask_of(said) if "mask" in said else None
    written = said.get(WRITTEN.get(said.get("mask", ""), ""))
    if mask is None and written is not None and not rules.usable(written):
        say_next(f"{NOT_A_RULE} Still using “{now}”. {WRITTEN_FORMS}")
    if mask is not None:
        now = mask.mask
        painted = said["mask"] == "painted"
        st.session_state.update({"mask": "painted"} if painted else rules.controls_of(now))
    join, other = (events.text(event, name) or "" for name in ("join", "other"))
    if join in rules.JOINS and rules.usable(other):
        made = rules.joined(now, join, other)
        if made is None:
            say_next(f"{now} {join} {other} takes more than {LONGEST_RULE} characters as a rule.")
        else:
            st.session_state.update(rules.controls_of(made))


def _mask_of(said: Mapping[str, str]) -> Settings | None:
    """Rule and painting that these keys of a link say, None when they cannot be used."""
    try:
        return Query(urlencode(said).encode()).settings()
    except HeadlightError:
        return None
