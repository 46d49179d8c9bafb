"""What stands side by side: one model under several positions, or the models of one task that differ in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mha_core import Model
from pages.kit.picture import models
from pages.kit.picture.limits import POSITIONS
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.picture.words import computed_by, position_note

USUAL = ("as trained", "none", "sinusoidal")  # as the long post compares them
MOST = 4  # pictures
TWICE = PRESETS[2]  # what is shown at first: of a word that stands there twice, only the place tells its rows apart
MOST_TOKENS = 24  # beyond, no number fits into a cell


@dataclass(frozen=True)
class Side:
    """One of the pictures: its name, and what it is made of."""

    name: str
    settings: Settings


def under(settings: Settings, names: Sequence[str]) -> list[Side]:
    """The same model under each of these positions, in the order in which they are offered."""
    kept = [name for name in POSITIONS if name in names][:MOST]
    return [Side(name, replace(settings, position=POSITIONS[name])) for name in kept]


def siblings(name: str) -> dict[str, str]:
    """The models that were trained on the same task with the same seed: what tells them apart -> the model's name.

    Empty where there are fewer than two.
    """
    parts = name.split("-")
    if name not in models.shipped() or len(parts) != 3:
        return {}
    task, _, seed = parts
    found = {
        other.split("-")[1]: other
        for other in models.shipped()
        if other.startswith(f"{task}-") and other.endswith(f"-{seed}") and other.count("-") == 2
    }
    return found if len(found) > 1 else {}


def of_task(settings: Settings, names: dict[str, str]) -> list[Side]:
    """Each of these models on its own terms."""
    return [Side(told, replace(settings, model=model)) for told, model in list(names.items())[:MOST]]


def note(side: Side, model: Model) -> str:
    """What its positions are in this model, and what computes it where that is not what it was trained in."""
    return f"{position_note(side.settings.position, model)} {computed_by(model)}".strip()
