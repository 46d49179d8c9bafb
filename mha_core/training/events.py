"""Events of a training run, their JSON values, and the history that they make up.

Files may come from an untrusted source, so every field is validated.
"""

import base64
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self, get_type_hints

from ..errors import HeadlightError
from .recipe import ENDS, Recipe, fits

MAX_TOKENS = 1024  # tokens of a text, as in `Recipe.check`


@dataclass(frozen=True)
class Start:
    """First event of a run.

    Attributes:
        recipe: the recipe of the run.
        title: of the task.
        classes: names of the classes; empty for a language model.
        rows_train: the number of training rows; 0 if every batch is generated.
        rows_test: the number of test rows.
        fingerprint: of the training and the test data.
        notes: how the data were cleaned (duplicates, cut texts), in whole sentences.
        vocabulary: the number of tokens in this model's vocabulary.
        parameters: the number of parameters of this model.
        longest: the number of tokens of its longest text.
        probes: tokens of each text whose maps are kept; of a translation those of the target.
        columns: of a translation the source tokens of each probe; otherwise empty.
        target_length: the number of target positions of a translation; otherwise 0.
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
    """Optimizer step: its number from 1, the loss of its batch, and the run's training seconds so far."""

    step: int
    loss: float
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """Evaluation on the test rows after `step` steps.

    Attributes:
        step: the number of steps so far.
        seconds: of training so far.
        train_loss: over the batches since the last evaluation; at the first one, over as many training rows.
        train_accuracy: over the same rows.
        test_loss: over the test rows (of a language model: over the scored positions).
        test_accuracy: over the same rows.
        pair_accuracy: share of mirror pairs with both members right; None without pairs.
        induction: of a language model, for each layer and head, the mean weight on the key that holds the answer;
            otherwise empty.
        previous: of a language model, for each layer and head, the mean weight on the previous token; otherwise empty.
        aligned: of a translation the share of target tokens whose largest weight is on their source word, see
            `scores.aligned`; otherwise None.
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
    """All maps of one probe after `step` steps.

    Attributes:
        step: the number of steps so far.
        probe: its index in `Start.probes`.
        shape: (layers, h, i, j).
        maps: uint8, weights times 255, rounded.
    """

    step: int
    probe: int
    shape: list[int]
    maps: bytes


@dataclass(frozen=True)
class End:
    """Last event of a run.

    Attributes:
        reason: one of `recipe.ENDS`.
        step: the number of steps.
        seconds: of training alone: steps, not evaluations or snapshots.
        predicted: the class of every test row, in their order; empty for a language model.
    """

    reason: str
    step: int
    seconds: float
    predicted: list[int] = field(default_factory=list)


Event = Start | Step | Evaluation | Snapshot | End


@dataclass
class History:
    """All events of a run so far; add each event with `take`."""

    recipe: Recipe
    start: Start | None = None
    steps: list[Step] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    end: End | None = None

    def take(self, event: Event) -> None:
        """Add an event."""
        match event:
            case Start():
                self.start = event
            case Step():
                self.steps.append(event)
            case Evaluation():
                self.evaluations.append(event)
            case Snapshot():
                self.snapshots.append(event)
            case End():
                self.end = event

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> Self:
        """Build the history of these events.

        Raises:
            HeadlightError: the first event is no start, events follow the end, or they do not fit the start.
        """
        events = list(events)
        first = events[0] if events else None
        if not isinstance(first, Start):
            raise HeadlightError("a run begins with its start")
        history = cls(first.recipe)
        for event in events:
            if history.end is not None or not _fits_start(event, first):
                raise HeadlightError(f"the {type(event).__name__.lower()} does not fit the run")
            history.take(event)
        return history

    @property
    def step(self) -> int:
        """Number of steps so far."""
        return self.end.step if self.end else self.steps[-1].step if self.steps else 0

    @property
    def seconds(self) -> float:
        """Seconds of training so far."""
        return self.end.seconds if self.end else self.steps[-1].seconds if self.steps else 0.0

    @property
    def snapshot_bytes(self) -> int:
        """Bytes of all maps."""
        return sum(len(shot.maps) for shot in self.snapshots)

    @property
    def epochs(self) -> float:
        """Number of passes over the training rows; 0 if every batch is generated."""
        if self.start is None or not self.start.rows_train:
            return 0.0
        return self.step / math.ceil(self.start.rows_train / self.recipe.batch)


def _fits_start(event: Event, start: Start) -> bool:
    """Return whether an event fits the start of a run.

    Raises:
        HeadlightError: maps that do not fit.
    """
    match event:
        case Start():
            sizes = (
                1 <= event.longest <= MAX_TOKENS
                and 0 <= event.target_length <= MAX_TOKENS
                and _is_valid_picture(event.picture)
            )
            fits = len(event.columns) == len(event.probes) if event.target_length else not event.columns
            return event is start and sizes and fits and min(event.rows_train, event.rows_test) >= 0
        case Snapshot():
            exists = 0 <= event.probe < len(start.probes)
            i = len(start.probes[event.probe]) if exists else 0
            j = len(start.columns[event.probe]) if exists and start.columns else i
            shape = [start.recipe.n_layers, start.recipe.n_heads, i, j]
            if not exists or event.shape != shape or len(event.maps) != math.prod(shape):
                raise HeadlightError(f"maps of shape {event.shape} do not fit the run")
        case Evaluation():
            if not _has_valid_scores(event, start):
                return False
        case End():
            classes = set(range(len(start.classes)))
            if event.reason not in ENDS or not set(event.predicted) <= classes:
                return False
            if len(event.predicted) not in (0, start.rows_test):
                return False
    return 0 <= event.step <= start.recipe.steps


def _is_valid_picture(picture: list[int]) -> bool:
    """Return whether the sizes of a picture are valid; no picture is valid too."""
    if not picture:
        return True
    side, patch, registers = picture if len(picture) == 3 else (0, 0, 0)
    is_divisible = side >= 1 and patch >= 1 and registers >= 0 and side % patch == 0
    return is_divisible and patch <= MAX_TOKENS and (side // patch) ** 2 + registers < MAX_TOKENS


def _has_valid_scores(event: Evaluation, start: Start) -> bool:
    """Return whether the scores are shares, one for each head or none at all."""
    every_head = [start.recipe.n_heads] * start.recipe.n_layers
    shares = [event.train_accuracy, event.test_accuracy, event.pair_accuracy or 0.0, event.aligned or 0.0]
    for scores in (event.induction, event.previous):
        if [len(row) for row in scores] not in ([], every_head):
            return False
        shares += [share for row in scores for share in row]
    return all(0 <= share <= 1.001 for share in shares)


_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Start, Step, Evaluation, Snapshot, End)}
_HINTS = {kind: get_type_hints(kind) for kind in _KINDS.values()}


def to_values(event: Event) -> dict[str, Any]:
    """Convert an event to plain values for JSON."""
    values = {"kind": type(event).__name__, **asdict(event)}
    if isinstance(event, Snapshot):
        values["maps"] = base64.b64encode(event.maps).decode("ascii")
    return values


def from_values(values: Mapping[str, Any]) -> Event:
    """Rebuild an event from the values of `to_values`.

    Raises:
        HeadlightError: they are no event.
    """
    try:
        values = {**values}
        kind = _KINDS[values.pop("kind")]
        if kind is Start:
            values["recipe"] = Recipe.from_json(values["recipe"])
        if kind is Snapshot:
            values["maps"] = base64.b64decode(values["maps"], validate=True)
        event: Event = kind(**values)
        hints = _HINTS[kind]
        unfit = [name for name, value in vars(event).items() if not fits(value, hints[name])]
        if unfit:
            raise TypeError(", ".join(unfit))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise HeadlightError(f"this is no event of a training run ({type(error).__name__}: {error!s:.80})") from error
    return event
