"""The record of a training run: the events that it yields, their lines of JSON, and the history that they make."""

from .history import History
from .kinds import LONGEST, End, Evaluation, Event, Snapshot, Start, Step
from .lines import from_line, from_values, to_line

__all__ = [
    "LONGEST",
    "End",
    "Evaluation",
    "Event",
    "History",
    "Snapshot",
    "Start",
    "Step",
    "from_line",
    "from_values",
    "to_line",
]
