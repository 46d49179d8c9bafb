"""Suggested comparisons, as values of the controls."""

from typing import Any

from headlight.link.fields import DEFAULTS
from headlight.link.presets import PRESETS
from headlight.picture import words
from headlight.registry import MINILM, get_source, models
from mha_core import Model

DEFAULT_CURSOR = "0.2"  # a previous-token head, which shows the effect of positions best
CAUSAL = "no positions: with and without a causal mask"
# Comparisons of MiniLM: name -> the controls that differ from this page's defaults.
SUGGESTIONS: dict[str, dict[str, Any]] = {
    "with and without positions": {},
    "tired / wide": {"s": PRESETS[0], "s2": PRESETS[1], "pos2": "as trained", "at": "3.1.10.2"},
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
_KEYS = ("s", "s2", "mask", "mask2", "pos", "pos2", "t", "t2", "off", "off2", "order", "at")


def suggest(name: str, model: Model) -> dict[str, dict[str, Any]]:
    """Return the suggested comparisons of a model by title, with the values of all controls."""
    defaults, suggestions = {"at": DEFAULT_CURSOR}, SUGGESTIONS
    if name != MINILM:
        defaults, presets = get_source(name).defaults, get_source(name).presets
        fixed = models.disabled_controls(model)
        suggestions = {} if "pos" in fixed else {"with and without positions": {}}
        if "pos" in fixed and "t" not in fixed:
            suggestions["sharper and softer attention"] = {"t": 0.5, "t2": 2.0, "pos2": "as trained"}
        if model.own_mask == "none" and not {"pos", "mask"} & set(fixed):
            suggestions[CAUSAL] = SUGGESTIONS[CAUSAL]
        if len(presets) > 1:
            suggestions[f"two {words.input_noun(model)}s"] = {"s2": presets[1], "pos2": "as trained"}
    base = {key: DEFAULTS[key] for key in _KEYS} | defaults
    return {title: base | values for title, values in suggestions.items()}
