"""Comparisons that are one click away: the values that the controls then have."""

from typing import Any

from headlight.link.fields import DEFAULTS
from headlight.link.presets import PRESETS
from headlight.picture import words
from headlight.registry import MINILM, models, source_of
from mha_core import Model

FIRST_AT = "0.2"  # the head that looks at the previous token: nothing shows positions better
CAUSAL = "no positions: with and without a causal mask"
# Comparisons of MiniLM: name -> the controls that differ from this page's defaults.
TRY: dict[str, dict[str, Any]] = {
    "with and without positions": {},
    "tired / wide": {"s": PRESETS[0], "s2": PRESETS[1], "pos2": "as trained", "at": "3.1"},
    CAUSAL: {"pos": "none", "mask2": "causal"},
    "can you can that": {"s": "can you can that"},
    "how are you / you how are": {
        "s": "how are you",
        "s2": "you how are",
        "order": "you how are",
        "pos": "none",
        "pos2": "none",
    },
}
_CHOSEN_BY_TRY = ("s", "s2", "mask", "mask2", "pos", "pos2", "t", "t2", "off", "off2", "order", "at")


def tries(name: str, model: Model) -> dict[str, dict[str, Any]]:
    """What the controls must say for each of the comparisons that are offered of a model of this name."""
    own, offered = {"at": FIRST_AT}, TRY
    if name != MINILM:
        own, presets = source_of(name).defaults, source_of(name).presets
        fixed = models.fixed(model)
        offered = {} if "pos" in fixed else {"with and without positions": {}}
        if "pos" in fixed and "t" not in fixed:
            offered["sharper and softer attention"] = {"t": 0.5, "t2": 2.0, "pos2": "as trained"}
        if model.own_mask == "none" and not {"pos", "mask"} & set(fixed):
            offered[CAUSAL] = TRY[CAUSAL]
        if len(presets) > 1:
            offered[f"two {words.thing(model)}s"] = {"s2": presets[1], "pos2": "as trained"}
    plain = {key: DEFAULTS[key] for key in _CHOSEN_BY_TRY} | own
    return {title: plain | values for title, values in offered.items()}
