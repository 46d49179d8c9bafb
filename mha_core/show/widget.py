"""A run as a widget of a notebook: the layer, head and row that are chosen in the browser are attributes in Python.

It needs anywidget (`pip install anywidget`); Jupyter, VS Code, Colab and marimo draw it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import HeadlightError, SizeError
from .html import described, message, script

if TYPE_CHECKING:
    from ..models.run import Run

MAX_BYTES = 32 * 2**20  # of the float32 maps of all heads; of a larger run the layer in focus has them


def widget(run: Run, *, layer: int = 0, head: int = 0, row: int = 0, title: str = "") -> Any:
    """A widget that draws the run. Its state, which `observe` tells of and which may be set, counts from 0:

    layer, head: of the map that stands large; row: the query in focus; key: a chosen key, None without one.
    `chosen` is the row in focus, (j,), out of `run.weights`.

    Raises:
        SizeError: the run has no such layer, head or row, here or when one is set.
        HeadlightError: anywidget is not installed.
    """
    said = described(run, layer=layer, head=head, row=row, title=title)
    layers, heads = run.weights.shape[:2]
    whole = 4 * run.weights.numel() <= MAX_BYTES
    exact = [(at, h) for at in (range(layers) if whole else [layer]) for h in range(heads)]
    return widget_class()(run=run, message=message(run, said, exact), layer=layer, head=head, row=row)


@cache
def widget_class() -> Any:
    """The class of `widget`, made when it is asked for: its base is of a library that need not be there."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise HeadlightError("the widget needs anywidget: pip install anywidget") from error

    class Heads(anywidget.AnyWidget):  # type: ignore[misc]
        """A run, and what is looked at in it."""

        _esm = _code()
        message = traitlets.Bytes().tag(sync=True)
        layer = traitlets.Int(0).tag(sync=True)
        head = traitlets.Int(0).tag(sync=True)
        row = traitlets.Int(0).tag(sync=True)
        key = traitlets.Int(None, allow_none=True).tag(sync=True)

        def __init__(self, run: Run, **state: Any) -> None:
            self.run = run
            super().__init__(**state)

        @property
        def chosen(self) -> Any:
            """The row in focus, (j,)."""
            return self.run.weights[self.layer, self.head, self.row]

        @traitlets.validate("layer", "head", "row", "key")  # type: ignore[untyped-decorator]
        def _is_there(self, proposal: Any) -> Any:
            name, got = proposal["trait"].name, proposal["value"]
            count = self.run.weights.shape[("layer", "head", "row", "key").index(name)]
            if got is not None and not 0 <= got < count:
                raise SizeError(f"{name}={got} is not there; this run has {name}s 0 to {count - 1}")
            return got

    return Heads


@cache
def _code() -> str:
    """The module that anywidget loads: the view, its styles, and what keeps both sides the same."""
    return script("widget.js").decode("utf-8")
