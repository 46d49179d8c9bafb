"""A run as a notebook widget: layer, head and row chosen in the browser are attributes in Python.

It needs anywidget (`pip install anywidget`); Jupyter, VS Code, Colab and marimo display it.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import HeadlightError, SizeError
from .html import describe_run, message, script

if TYPE_CHECKING:
    from ..models.run import Run

MAX_BYTES = 32 * 2**20  # of the float32 maps of all heads; of a larger run the layer in focus has them


def widget(run: Run, *, layer: int = 0, head: int = 0, row: int = 0, title: str = "") -> Any:
    """Return a widget that displays the run.

    Its state can be set and observed, counted from 0: `layer` and `head` of the enlarged map, `row`, the query in
    focus, and `key`, a selected key or None. `row_weights` is the row in focus, (j,), of `run.weights`.

    Raises:
        SizeError: the run has no such layer, head or row, here or when one is set.
        HeadlightError: anywidget is not installed.
    """
    description = describe_run(run, layer=layer, head=head, row=row, title=title)
    layers, heads = run.weights.shape[:2]
    fits = 4 * run.weights.numel() <= MAX_BYTES
    exact = [(number, h) for number in (range(layers) if fits else [layer]) for h in range(heads)]
    return widget_class()(run=run, message=message(run, description, exact), layer=layer, head=head, row=row)


@cache
def widget_class() -> Any:
    """Return the widget's class, created on first use because anywidget is an optional dependency."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise HeadlightError("the widget needs anywidget: pip install anywidget") from error

    class Heads(anywidget.AnyWidget):  # type: ignore[misc]
        """Notebook widget with the run, and the map and row in focus."""

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
        def row_weights(self) -> Any:
            """Row in focus, (j,)."""
            return self.run.weights[self.layer, self.head, self.row]

        @property
        def chosen(self) -> Any:
            """`row_weights` under its deprecated name, which is removed in version 0.7."""
            warnings.warn("chosen is now called row_weights", DeprecationWarning, stacklevel=2)
            return self.row_weights

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
    """Return the module that anywidget loads: the view, its styles, and the synchronisation of its state."""
    return script("widget.js").decode("utf-8")
