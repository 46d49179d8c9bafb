"""Training tasks; each is generated from a seed or read from external data, and has a fingerprint."""

from collections.abc import Callable

from ...errors import HeadlightError
from . import made_up_news, order
from .base import Batch, Labelled, Language, Pairs, Row, TrainingData
from .characters import Characters
from .dates import Dates
from .shapes import Pictures, pictures
from .table import from_table
from .words import Names, Words

__all__ = [
    "NAMES",
    "Batch",
    "Characters",
    "Dates",
    "Labelled",
    "Language",
    "Pairs",
    "Pictures",
    "Row",
    "Task",
    "TrainingData",
    "build",
    "from_outside",
]

Task = Labelled | Language | Dates

# Tasks without external data: their titles and factories.
_TASKS: dict[str, tuple[str, Callable[[int], Task]]] = {
    "who": ("Who did what", order.who_did_what),
    "food": ("Food review", order.food),
    "brackets": ("Brackets", order.brackets),
    "words": ("Repeated random words", Words),
    "names": ("Full names", Names),
    "made_up": ("Made-up news", made_up_news.made_up),
    "dates": ("Dates", Dates),
    "shapes": ("Shapes", pictures),
}
NAMES = {name: title for name, (title, _) in _TASKS.items()}


def build(name: str, seed: int = 0) -> Task:
    """Build the task of that name; equal seeds give equal rows.

    Raises:
        HeadlightError: no task has this name.
    """
    if name not in _TASKS:
        raise HeadlightError(f"no task {name!r:.40}; choose one of {', '.join(NAMES)}")
    return _TASKS[name][1](seed)


def from_outside(data: TrainingData, *, seed: int = 0, length: int = 64) -> Task:
    """Build the task of external data; `length` is the context in characters of a text.

    Raises:
        HeadlightError: the data cannot be used.
    """
    return Characters(data.content, seed, length) if data.kind == "text" else from_table(data, seed)
