"""A dictionary: how the sources and the libraries name, order and mask the same thing (assets/dialects.json)."""

from __future__ import annotations

import json
from pathlib import Path

from pages.kit.draw.sheet import Block, table

_FILE = json.loads((Path(__file__).parents[2] / "assets" / "dialects.json").read_text(encoding="utf-8"))
DIALECTS: list[str] = _FILE["dialects"]
# idea -> its words, in the order of DIALECTS; "–" where a dialect has none
ROWS: dict[str, list[str]] = _FILE["ideas"]


def dictionary() -> Block:
    """A row for each idea, a column for each dialect."""
    rows = [[idea, *words] for idea, words in ROWS.items()]
    caption = "A row for each idea. Other sources: a lesson, a long post, an einsum notebook. Axes as in the pictures."
    return table(["", *DIALECTS], rows, caption, prose=True)
