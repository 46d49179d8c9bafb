"""The Claims page as a visitor meets it."""

from __future__ import annotations

from .tab import Tab

__all__ = ["Claims"]


class Claims(Tab):
    """The page in one tab."""

    PATH = "/claims"
