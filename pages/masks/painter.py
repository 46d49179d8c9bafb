"""The Masks view: the gallery and the painter with the weights before and after, and what comes back from it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import streamlit as st

from mha_core import Model
from pages.kit.draw import events
from pages.kit.draw.packing import pack_focus
from pages.kit.draw.view import Event, View
from pages.kit.frame.layout import say_next
from pages.kit.frame.view_events import sizes_of, take_at
from pages.kit.picture import mask_codec, pictures, rules
from pages.kit.picture.fields import MASKS
from pages.kit.picture.limits import LONGEST_PAINTED, LONGEST_RULE, MOST_PAINTED, WIDEST_WINDOW
from pages.kit.picture.pictures import Picture
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings
from pages.kit.picture.words import label

from .effects import sums_in_words

VIEW = View("painter", "masks", "painter.js")


def before(settings: Settings) -> Settings:
    """What the weights are compared with: the rule alone where cells are painted, otherwise no mask at all."""
    return settings.unpainted if settings.painted else replace(settings, mask="none")


def show(model: Model, picture: Picture, at: At, notices: list[str], *, chosen: bool) -> None:
    """The view with everything that it writes. `chosen`: the visitor, not the page, chose the row in focus."""
    settings, tokens, heads = picture.settings, picture.run.tokens, model.sizes.n_heads
    n, other = len(tokens), before(settings)
    weights = [pictures.picture(own).run.weights[at.layer, at.head] for own in (other, settings)]
    state: dict[str, Any] = {
        **VIEW.turns(),
        "digest": settings.digest,
        "tokens": tokens,
        "layers": model.sizes.n_layers,
        "heads": heads,
        "layer": at.layer,
        "head": at.head,
        "drawn": [at.layer, at.head],
        "row": at.row,
        "key": at.key,
        "chosen": chosen,
        "rule": settings.mask,
        "painted": settings.painted,
        "base": mask_codec.forbidden(settings.mask, "", n, heads)[0],
        "forbidden": mask_codec.forbidden(settings.mask, settings.painted, n, heads),
        "forbiddenBefore": mask_codec.forbidden(other.mask, other.painted, n, heads),
        "cards": [asdict(card) for card in rules.gallery(tokens, heads, at.head, settings.mask, *_kept(n, heads))],
        "most": MOST_PAINTED,
        "longest": LONGEST_PAINTED,
        "without": "no mask" if other.mask == "none" else f"{other.mask} alone",
        "sums": sums_in_words(weights[1]),
        "label": f"Layer {at.layer}, head {at.head}, {label(settings, model)}, {model.origin} weights",
        "notices": notices,
    }
    sizes, rule = sizes_of(model), settings.mask

    def take(event: Event) -> None:
        take_at(event, sizes)
        _take_mask(event, heads, rule)

    VIEW.show(pack_focus(state, *weights), take)


def _kept(n: int, heads: int) -> tuple[str, str]:
    """The rule that is painted on and what is painted on it, as far as it is for so many tokens."""
    on = str(st.session_state.get("on", "none"))
    text = mask_codec.usable(str(st.session_state.get("p", "")), heads) or ""
    return on if rules.usable(on) else "none", text if text and mask_codec.tokens_of(text) == n else ""


def _take_mask(event: Event, heads: int, now: str) -> None:
    """Sets the controls of the mask to what the event says, as far as it can be used. `now`: the rule in use."""
    rule, on, join = (events.text(event, name) or "" for name in ("rule", "on", "join"))
    cells = events.text(event, "p")
    if cells is not None and rules.usable(on):
        cells = mask_codec.usable(cells, heads)
        if cells is not None:
            st.session_state.update({"mask": "painted", "on": on, "p": cells})
    elif event.get("kind") == "painted":
        st.session_state["mask"] = "painted"
    elif join in rules.JOINS and rules.usable(rule):
        made = rules.joined(now, join, rule)
        if made is None:
            say_next(f"{now} {join} {rule} takes more than {LONGEST_RULE} characters as a rule.")
        else:
            _set_rule(made)
    elif rules.usable(rule):
        _set_rule(rule)


def _set_rule(rule: str) -> None:
    """Chooses the kind of a rule and its numbers; one that has no kind of its own is a combination."""
    kind, *texts = rule.split(":")
    keys, numbers = MASKS.get(kind), [int(text) for text in texts if text.isdecimal()]
    if keys is not None and len(keys) == len(texts) and all(1 <= number <= WIDEST_WINDOW for number in numbers):
        st.session_state.update({"mask": kind, **dict(zip(keys, numbers, strict=True))})
    else:
        st.session_state.update({"mask": "combination", "rule": rule})
