"""The Texts page as a visitor meets it."""

from __future__ import annotations

from .tab import Tab

__all__ = ["Texts"]


class Texts(Tab):
    """The page in one tab."""

    PATH = "/texts"
