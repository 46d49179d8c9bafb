"""A run outside the app: one HTML file with the picture and its script, also in a notebook cell.

from pathlib import Path
from mha_core import load_model
from mha_core.show import standalone
run = load_model("minilm").run("The animal didn't cross the street because it was too tired")
Path("heads.html").write_text(standalone(run, layer=3, head=1, row=10), encoding="utf-8")
"""

import warnings
from typing import Any

from .html import HtmlView, standalone
from .widget import widget, widget_class

__all__ = ["HtmlView", "standalone", "widget", "widget_class"]


def __getattr__(name: str) -> Any:
    """Return `HtmlView` under its deprecated name `Shown`, which is removed in version 0.7."""
    if name != "Shown":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn("Shown is now called HtmlView", DeprecationWarning, stacklevel=2)
    return HtmlView
