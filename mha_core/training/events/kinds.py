"""The events of a training run: plain values, ready for JSON."""

from dataclasses import dataclass, field
from math import prod

from ...errors import HeadlightError
from ..recipe import Recipe

LONGEST = 1024  # tokens of a text, as in `Recipe.check`


@dataclass(frozen=True)
class Start:
    """The first event.

    Attributes:
        recipe: what is trained.
        title: the task's.
        classes: names of the classes; empty for a language model.
        rows_train, rows_test: how many; rows_train is 0 where every batch is made anew.
        fingerprint: of the data, both parts.
        notes: what was done to the data (duplicates, cut texts), in whole sentences.
        vocabulary, parameters, longest: sizes of this very model and of its longest text in tokens.
        probes: tokens of each text whose maps are kept; of a translation what is written.
        columns: of a translation for each probe the tokens that are looked at; otherwise empty.
        target_length: the places that a translation writes; 0 of the others.
        picture: of a vision transformer the side of its pictures and of a patch, and its registers; otherwise empty.
        versions: of torch, python and so on.
        machine: device and threads, in words.
    """

    recipe: Recipe
    title: str
    classes: list[str]
    rows_train: int
    rows_test: int
    fingerprint: str
    notes: list[str]
    vocabulary: int
    parameters: int
    longest: int
    probes: list[list[str]]
    versions: dict[str, str]
    machine: str
    columns: list[list[str]] = field(default_factory=list)
    target_length: int = 0
    picture: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Step:
    """One step of the optimiser: its number from 1, the loss of its batch, and the run's own seconds so far."""

    step: int
    loss: float
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """A look at the test rows, after `step` steps.

    Attributes:
        train_loss, train_accuracy: over the batches since the last look; of the first look, on as many training rows.
        test_loss, test_accuracy: over the test rows (of a language model: over the places that are scored).
        pair_accuracy: share of mirror pairs with both members right; None where there are no pairs.
        induction, previous: of a language model, for each layer and head, the mean weight on the key that holds the
            answer, and on the previous token; empty otherwise.
        aligned: of a translation the share of written tokens whose row looks most at the word that they come from, see
            `scores.aligned`; None otherwise.
    """

    step: int
    seconds: float
    train_loss: float
    train_accuracy: float
    test_loss: float
    test_accuracy: float
    pair_accuracy: float | None = None
    induction: list[list[float]] = field(default_factory=list)
    previous: list[list[float]] = field(default_factory=list)
    aligned: float | None = None


@dataclass(frozen=True)
class Snapshot:
    """Every map of one probe after `step` steps.

    Attributes:
        probe: its number in `Start.probes`.
        shape: (layers, h, i, j).
        maps: uint8, weights times 255, rounded.
    """

    step: int
    probe: int
    shape: list[int]
    maps: bytes

    def check(self, start: Start) -> None:
        """Raises a HeadlightError when these are not the maps of one of the run's probes."""
        known = 0 <= self.probe < len(start.probes)
        i = len(start.probes[self.probe]) if known else 0
        j = len(start.columns[self.probe]) if known and start.columns else i
        recipe = start.recipe
        if not known or self.shape != [recipe.n_layers, recipe.n_heads, i, j] or len(self.maps) != prod(self.shape):
            raise HeadlightError(f"maps of shape {self.shape} do not fit the run")


@dataclass(frozen=True)
class End:
    """The last event.

    Attributes:
        reason: one of `recipe.ENDS`.
        seconds: of training alone: steps, not evaluations or snapshots.
        predicted: the class of every test row, in their order; empty for a language model.
    """

    reason: str
    step: int
    seconds: float
    predicted: list[int] = field(default_factory=list)


Event = Start | Step | Evaluation | Snapshot | End
