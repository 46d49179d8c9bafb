"""The view of two pictures side by side: the state that goes with it, and what comes back."""

from __future__ import annotations

from typing import Any

import streamlit as st

from mha_core import Model
from mha_core.measure import compare
from pages.kit.draw import events, numbers
from pages.kit.draw.packing import pack_focus
from pages.kit.draw.view import Event, View
from pages.kit.frame.view_events import sizes_of, take_at, take_look
from pages.kit.picture import models, words
from pages.kit.picture.fields import DEFAULTS
from pages.kit.picture.mask_codec import forbidden
from pages.kit.picture.models import MINILM
from pages.kit.picture.place import At, Look, write_heads
from pages.kit.picture.presets import PRESETS

from . import pairs
from .pairs import Pair

VIEW = View("pair_view", "pair", "pair.js")
HEADS = View("head_bars", "heads", "head_bars.js")
FIRST_AT = "0.2"  # the head that looks at the previous token: nothing shows positions better
# Comparisons of MiniLM that are one click away: name -> the controls that differ from this page's defaults.
TRY: dict[str, dict[str, Any]] = {
    "with and without positions": {},
    "tired / wide": {"s": PRESETS[0], "s2": PRESETS[1], "pos2": "as trained", "at": "3.1"},
    "causal alone": {"pos": "none", "mask2": "causal"},
    "can you can that": {"s": "can you can that"},
    "how are you / you how are": {"s": "how are you", "order": "you how are"},
}
_CHOSEN_BY_TRY = ("s", "s2", "mask", "mask2", "pos", "pos2", "t", "t2", "off", "off2", "order", "at")


def show(pair: Pair, at: At, look: Look, notices: list[str], *, model: Model, chosen: bool) -> None:
    """Draws both maps and their difference.

    Args:
        at: layer, head, query and key in focus; `chosen`: the visitor, not the page, chose the query.
    """
    left, right = pair.maps
    tries = _tries(pair.left.settings.model, model)
    sides = [
        {
            "tokens": picture.run.tokens,
            "label": f"{words.label(picture.settings, picture.model)}, {model.origin} weights",
            "fitness": pairs.fitness(picture),
            "forbidden": forbidden(
                picture.settings.mask,
                picture.settings.painted,
                len(picture.run.tokens),
                model.sizes.n_heads,
                model.own_mask,
            ),
        }
        for picture in (pair.left, pair.right)
    ]
    header = {
        **VIEW.turns(),
        "digest": f"{pair.left.settings.digest}-{pair.right.settings.digest}",
        "layers": model.sizes.n_layers,
        "heads": model.sizes.n_heads,
        "layer": at.layer,
        "head": at.head,
        "row": at.row,
        "key": at.key,
        "marked": pairs.marked(pair, at),
        "chosen": chosen,
        "look": str(look),
        "sides": sides,
        "tokens": pair.tokens,
        "fits": pair.fits,
        "said": pairs.difference(pair),
        "distances": compare.row_distances(left, right).tolist() if pair.fits else [],
        "figures": pairs.figures(pair, at),
        "sentences": pairs.sentences(pair),
        "try": list(tries),
        "tried": next((name for name, values in tries.items() if _is_tried(values)), ""),
        "notices": notices,
    }
    sizes = sizes_of(model)

    def take(event: Event) -> None:
        """What the visitor looks at, or what to try."""
        take_at(event, sizes)
        take_look(event, sizes)
        for key, value in tries.get(events.text(event, "try") or "", {}).items():
            st.session_state[key] = value

    VIEW.show(pack_focus(header, left, right), take)


def show_heads(cosines: list[list[float]], at: At, off: tuple[tuple[int, int], ...]) -> None:
    """Draws what switching off each head alone does; a click opens the head."""
    count = sum(map(len, cosines))
    worst, layer, head = min(
        (cosine, layer, head) for layer, own in enumerate(cosines) for head, cosine in enumerate(own)
    )
    state = {
        **HEADS.turns(),
        "cosines": cosines,
        "shown": [[numbers.cosine(cosine) for cosine in own] for own in cosines],
        "layer": at.layer,
        "head": at.head,
        "off": write_heads(off),
        "said": f"Switching off layer {layer} head {head} changes the left sentence vector most "
        f"(cosine {numbers.cosine(worst)}; {count} heads tried).",
    }
    HEADS.show(state, lambda event: take_at(event, (len(cosines), len(cosines[0]))))


def _tries(name: str, model: Model) -> dict[str, dict[str, Any]]:
    """What the controls must say for each of the comparisons that are offered of a model."""
    own, offered = {"at": FIRST_AT}, TRY
    if name != MINILM:
        own, presets = models.defaults(name), models.presets(name)
        offered = {"with and without positions": {}}
        if model.own_mask == "none":
            offered["causal alone"] = TRY["causal alone"]
        if len(presets) > 1:
            offered["two sentences"] = {"s2": presets[1], "pos2": "as trained"}
    plain = {key: DEFAULTS[key] for key in _CHOSEN_BY_TRY} | own
    return {title: plain | values for title, values in offered.items()}


def _is_tried(values: dict[str, Any]) -> bool:
    """True when the controls say this. Where it looks does not count."""
    return all(st.session_state.get(key, DEFAULTS[key]) == value for key, value in values.items() if key != "at")
