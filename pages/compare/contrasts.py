"""What two settings differ in, in words: the names of the differences, and what each side has of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.link.limits import POSITIONS
from headlight.link.place import head_name
from headlight.picture import words
from headlight.picture.settings import Settings
from headlight.registry import source_of
from headlight.ui import numbers
from mha_core import Model
from mha_core.models import changes

MAX_NAME_LENGTH = 28  # characters of a sentence in a title
MAX_WORDS = 2  # that differ in two sentences and are named one by one
NAMES = {core: name for name, core in POSITIONS.items()}
SIDES = "Left", "Right"


@dataclass(frozen=True)
class Contrast:
    """One thing that differs: its name, its control's key in a link ("s": the sentences), and what each side has."""

    name: str
    key: str
    left: str
    right: str


def contrasts(left: Settings, right: Settings, model: Model, other: Model | None = None) -> list[Contrast]:
    """Everything that differs between two settings, in the order of the page's controls.

    `other`: the model of the right one, where that is another.
    """
    of_each = (left, model), (right, other or model)
    as_trained = all(changes.as_trained(side.position, own) for side, own in of_each)
    zeroed = [words.zeroed_values(side, own) or "every value" for side, own in of_each]
    masks = (left.mask, left.painted) != (right.mask, right.painted)
    positions = left.position != right.position and not as_trained
    degrees = [f"temperature {side.temperature:g}" for side, _ in of_each]
    rows = [
        (left.model != right.model, "model", "model", [source_of(side.model).title for side, _ in of_each]),
        (left.text != right.text, "sentence", "s", _sentences(left.text, right.text)),
        (masks, "mask", "mask", [_mask(side) for side, _ in of_each]),
        (positions, "positions", "pos", [_positions(side.position, own) for side, own in of_each]),
        (left.temperature != right.temperature, "temperature", "t", degrees),
        (left.heads_off != right.heads_off, "heads off", "off", [_heads(side.heads_off) for side, _ in of_each]),
        (left.values_off != right.values_off, "values zeroed", "unheard", zeroed),
    ]
    return [Contrast(name, key, *said) for differs, name, key, said in rows if differs]


def titles(found: Sequence[Contrast]) -> tuple[str, str]:
    """What each side is called: what it has of the differences; "Left" and "Right" where that does not tell them."""
    left, right = (", ".join(getattr(one, side) for one in found) for side in ("left", "right"))
    return SIDES if left == right else (numbers.capital(left), numbers.capital(right))


def line(found: Sequence[Contrast]) -> str:
    """The differences by name, and what follows where there are several."""
    if not found:
        return "Both sides are the same. Change one setting on either side."
    named = [one.name for one in found]
    if len(named) == 1:
        return f"One setting differs: {named[0]}."
    listed = f"{', '.join(named[:-1])} and {named[-1]}"
    return f"{len(named)} settings differ: {listed}. So it is unclear which of them caused a change."


def _sentences(left: str, right: str) -> list[str]:
    """The words that differ where they are few, otherwise the beginnings of both."""
    a, b = left.split(), right.split()
    pairs = [pair for pair in zip(a, b, strict=False) if pair[0] != pair[1]]
    if len(a) == len(b) and 0 < len(pairs) <= MAX_WORDS:
        left, right = (" ".join(side) for side in zip(*pairs, strict=True))
    return [f"“{numbers.cut(text, MAX_NAME_LENGTH)}”" for text in (left, right)]


def _mask(settings: Settings) -> str:
    if settings.painted:
        return "painted mask"
    rule = settings.mask.replace(":", " ")
    return "no mask" if rule == "none" else f"{rule} mask" if rule.isalpha() else f"mask {rule}"


def _positions(position: str, model: Model) -> str:
    """The encoding, named as what the model was trained with where it is that."""
    if model.encoder is None:
        return "no positions" if position == "none" else "its positions"
    if position == "trained" or changes.as_trained(position, model):
        return "no positions" if model.sizes.position == "none" else f"{model.sizes.position} positions"
    name = NAMES.get(position, position)
    untrained = " (untrained)" if position == model.sizes.position else ""
    return "no positions" if position == "none" else f"{name} positions{untrained}"


def _heads(off: Sequence[tuple[int, int]]) -> str:
    if not off:
        return "all heads on"
    return f"{head_name(*off[0])} off" if len(off) == 1 else f"{numbers.count(len(off), 'head')} off"
