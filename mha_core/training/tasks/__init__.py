"""Training tasks; each is generated from a seed or read from external data, and has a fingerprint."""

from collections.abc import Callable

from ...errors import HeadlightError
from . import made_up_news, order
from .base import Batch, Labelled, Language, Pairs, Row, TrainingData, Translation
from .characters import Characters
from .dates import Dates
from .shapes import Pictures, pictures
from .table import from_csv
from .words import Names, Words

__all__ = [
    "NAMES",
    "Batch",
    "Labelled",
    "Language",
    "Pairs",
    "Pictures",
    "Row",
    "Task",
    "TrainingData",
    "Translation",
    "build",
    "from_csv",
    "from_outside",
    "from_text",
]

Task = Labelled | Language | Translation

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


def from_text(data: bytes | str, seed: int = 0, length: int = 64) -> Language:
    """Build a language task over the characters of a text; see `Characters`."""
    return Characters(data, seed, length)


def from_outside(data: TrainingData, *, seed: int = 0, length: int = 64) -> Task:
    """Build the task of external data; `length` is the context in characters of a text.

    Raises:
        HeadlightError: the data cannot be used.
    """
    if data.kind == "text":
        return from_text(data.content, seed=seed, length=length)
    return from_csv(
        data.content,
        text=data.text,
        label=data.label,
        seed=seed,
        keep_duplicates=data.keep_duplicates,
        name=data.kind,
    )
