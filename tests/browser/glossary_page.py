"""The Glossary page as a visitor meets it."""

from __future__ import annotations

from .tab import Tab

__all__ = ["Glossary"]


class Glossary(Tab):
    """The page in one tab."""

    PATH = "/glossary"
