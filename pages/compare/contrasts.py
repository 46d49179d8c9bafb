"""The differences between two settings, by name and by each side's value."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.link.cursor import head_name
from headlight.link.limits import POSITIONS
from headlight.picture import words
from headlight.picture.settings import Settings
from headlight.registry import get_source
from headlight.ui import numbers
from mha_core import Model
from mha_core.models import interventions
from mha_core.token_text import quote

MAX_NAME_LENGTH = 28  # characters of a sentence in a title
MAX_WORDS = 2  # differing words that a title quotes
NAMES = {core: name for name, core in POSITIONS.items()}
SIDES = "Left", "Right"


@dataclass(frozen=True)
class Contrast:
    """A difference between two settings, with the value of each side."""

    name: str
    key: str  # the key of its control in a link; "s" for the sentences
    left: str
    right: str


def contrasts(left: Settings, right: Settings, model: Model, other: Model | None = None) -> list[Contrast]:
    """Return all differences between two settings, in the order of the page's controls.

    `other` is the right side's model if it differs from the left one.
    """
    sides = (left, model), (right, other or model)
    as_trained = all(interventions.is_as_trained(side.position, owner) for side, owner in sides)
    zeroed = [words.zeroed_values(side, owner) or "every value" for side, owner in sides]
    masks_differ = (left.mask, left.painted) != (right.mask, right.painted)
    positions_differ = left.position != right.position and not as_trained
    others = [(side.mlps_off, side.layers_off) for side, _ in sides]
    ablations = "heads off" if others[0] == others[1] else "ablated parts"
    degrees = [f"temperature {side.temperature:g}" for side, _ in sides]
    rows = [
        (left.model != right.model, "model", "model", [get_source(side.model).title for side, _ in sides]),
        (left.text != right.text, "sentence", "s", _sentences(left.text, right.text)),
        (masks_differ, "mask", "mask", [_mask(side) for side, _ in sides]),
        (positions_differ, "positions", "pos", [_positions(side.position, owner) for side, owner in sides]),
        (left.temperature != right.temperature, "temperature", "t", degrees),
        (_off(left) != _off(right), ablations, "off", [_off_text(side) for side, _ in sides]),
        (left.values_off != right.values_off, "values zeroed", "unheard", zeroed),
    ]
    return [Contrast(name, key, *values) for differs, name, key, values in rows if differs]


def titles(differences: Sequence[Contrast]) -> tuple[str, str]:
    """Return a title for each side from its values; "Left" and "Right" if these do not differ."""
    left, right = (", ".join(getattr(contrast, side) for contrast in differences) for side in ("left", "right"))
    return SIDES if left == right else (numbers.capital(left), numbers.capital(right))


def summary_sentence(differences: Sequence[Contrast]) -> str:
    """Return a sentence that names the differences, with a warning if there are several."""
    if not differences:
        return "Both sides are the same. Change one setting on either side."
    names = [contrast.name for contrast in differences]
    if len(names) == 1:
        return f"One setting differs: {names[0]}."
    listing = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{len(names)} settings differ: {listing}. So it is unclear which of them caused a change."


def _sentences(left: str, right: str) -> list[str]:
    """Quote the words that differ if they are few, otherwise the beginnings of both texts."""
    a, b = left.split(), right.split()
    pairs = [pair for pair in zip(a, b, strict=False) if pair[0] != pair[1]]
    if len(a) == len(b) and 0 < len(pairs) <= MAX_WORDS:
        left, right = (" ".join(side) for side in zip(*pairs, strict=True))
    return [quote(numbers.cut(text, MAX_NAME_LENGTH)) for text in (left, right)]


def _mask(settings: Settings) -> str:
    if settings.painted:
        return "painted mask"
    rule = settings.mask.replace(":", " ")
    return "no mask" if rule == "none" else f"{rule} mask" if rule.isalpha() else f"mask {rule}"


def _positions(position: str, model: Model) -> str:
    """Name the encoding; the trained one by its own name."""
    if model.encoder is None:
        return "no positions" if position == "none" else "its positions"
    if position == "trained" or interventions.is_as_trained(position, model):
        return "no positions" if model.sizes.position == "none" else f"{model.sizes.position} positions"
    name = NAMES.get(position, position)
    untrained = " (untrained)" if position == model.sizes.position else ""
    return "no positions" if position == "none" else f"{name} positions{untrained}"


def _off(side: Settings) -> dict[str, list[str]]:
    """Return the names of the ablated parts by their noun."""
    mlps, layers = ([f"L{layer}" for layer in layers] for layers in (side.mlps_off, side.layers_off))
    heads = [head_name(*pair) for pair in side.heads_off]
    return {"head": heads, "MLP": [f"{layer} MLP" for layer in mlps], "layer": layers}


def _off_text(side: Settings) -> str:
    parts = {noun: names for noun, names in _off(side).items() if names}
    if not parts:
        return "all heads on"
    counts = (names[0] if len(names) == 1 else numbers.count(len(names), noun) for noun, names in parts.items())
    return f"{', '.join(counts)} off"
