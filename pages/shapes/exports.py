"""The files that Shapes exports: the tensors of a traced layer."""

from itertools import product

from headlight.link.cursor import Cursor
from headlight.picture import traces
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.picture.traces import LayerTrace
from headlight.ui.tables import Table
from headlight.ui.tables import npz_bytes as arrays

from . import random_layer
from .handlers import check, compute
from .step_names import describe_axes, find


def tables(raw: bytes) -> list[Table]:
    """Return the tensor of the visible step as a table whose columns are its last axis."""
    layer, index = _layer(raw)
    step = layer.steps[index]
    *others, last = step.shape
    letters = [letter for _, letter, _ in describe_axes(step)]
    rows = [
        " ".join(f"{letter}{number}" for letter, number in zip(letters, place, strict=False))
        for place in product(*map(range, others))
    ]
    columns = [f"{letters[-1]}{number}" for number in range(last)]
    return [Table(f"{step.name} ({step.axes})", rows, columns, step.value.reshape(-1, last))]


def npz(raw: bytes) -> bytes:
    """Return the tensors of all steps, and the tokens, as NPZ."""
    layer, _ = _layer(raw)
    values = {step.name: step.value.float().cpu().numpy() for step in layer.steps}
    return arrays(values | {"tokens": layer.tokens})


def _layer(raw: bytes) -> tuple[LayerTrace, int]:
    """Return the trace of the first implementation, and the index of the visible step."""
    query = LinkQuery(raw)
    check(query)
    settings, cursor = query.fitted_settings()[0], query.cursor
    (layer,), _ = compute(settings, cursor.layer, [query["impl"]], random_layer.parse(query))
    return layer, find(layer.steps, query["step"], cursor.head)


def sides_from_link(raw: bytes) -> tuple[dict[str, Settings], Cursor]:
    """Return the settings of the run, and the cursor."""
    query = LinkQuery(raw)
    return {
        "run": traces.supported_settings(query.fitted_settings()[0], query.cursor.layer, query["impl"])[0]
    }, query.cursor
