"""Texts of assets/step_lessons.toml with computed values in their braces."""

from collections.abc import Mapping, Sequence
from typing import Any

from headlight import read_toml

from . import numbers, sheet
from .sheet import Block, Mark

WORDS = read_toml("step_lessons")


class Phrases:
    """The texts of a lesson with its values: texts, integers, and numbers that are formatted as differences."""

    def __init__(self, name: str, **values: Any) -> None:
        self.words, self.values = WORDS[name], {key: _cell(value) for key, value in values.items()}

    def __call__(self, key: str, **more: Any) -> str:
        """Return a text."""
        text: str = self.words[key]
        return text.format(**self.values, **more)

    def table(
        self, key: str, rows: Sequence[Sequence[Any]], marks: Mapping[tuple[int, int], Mark] | None = None
    ) -> Block:
        """Return a table with the heads and the caption of this name."""
        heads = [head.format(**self.values) for head in self.words[key]["head"]]
        cells = [list(map(_cell, row)) for row in rows]
        return sheet.table(heads, cells, self.words[key]["caption"].format(**self.values), marks)


def _cell(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else f"{value:,}"
        if isinstance(value, int)
        else numbers.difference(float(value))
    )
