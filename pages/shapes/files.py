"""Files of a traced layer: the tensor of the step in sight, or those of all steps."""

from itertools import product

from headlight.link.place import Cursor
from headlight.picture import traces
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.picture.traces import Traced
from headlight.ui.tables import Table
from headlight.ui.tables import npz as arrays
from mha_core import Step

from . import random_layer
from .message import check, compute
from .step_names import axes_of, find


def tables(raw: bytes) -> list[Table]:
    """The tensor of the step in sight: columns are its last axis, rows all others. Raises a HeadlightError."""
    layer, at = _layer(raw)
    return [_table(layer.steps[at])]


def npz(raw: bytes) -> bytes:
    """The tensor of every step, in its own shape, and the tokens. Raises a HeadlightError."""
    layer, _ = _layer(raw)
    values = {step.name: step.value.float().cpu().numpy() for step in layer.steps}
    return arrays(values | {"tokens": layer.tokens})


def _layer(raw: bytes) -> tuple[Traced, int]:
    """The trace of the first implementation, and the step of it that is in sight."""
    query = LinkQuery(raw)
    check(query)
    settings, at = query.fitted_settings()[0], query.at
    (layer,), _ = compute(settings, at.layer, [query["impl"]], random_layer.chosen(query))
    return layer, find(layer.steps, query["step"], at.head)


def _table(step: Step) -> Table:
    *others, last = step.shape
    letters = [letter for _, letter, _ in axes_of(step)]
    rows = [
        " ".join(f"{letter}{number}" for letter, number in zip(letters, place, strict=False))
        for place in product(*map(range, others))
    ]
    columns = [f"{letters[-1]}{number}" for number in range(last)]
    name = f"{step.name} ({step.axes})"
    return Table(name, rows, columns, step.value.reshape(-1, last))


def sides_of_link(raw: bytes) -> tuple[dict[str, Settings], Cursor]:
    """What is shown, by its side, and the place looked at. Raises a HeadlightError."""
    query = LinkQuery(raw)
    return {"run": traces.settings_within(query.fitted_settings()[0], query.at.layer, query["impl"])[0]}, query.at
