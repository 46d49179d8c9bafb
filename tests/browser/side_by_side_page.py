"""The Side by side page as a visitor meets it."""

from __future__ import annotations

from .tab import Tab

__all__ = ["SideBySide"]


class SideBySide(Tab):
    """The page in one tab."""

    PATH = "/side-by-side"
