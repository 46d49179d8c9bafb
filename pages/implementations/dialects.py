"""Dictionary of terms: the names, axis order and masks of texts and libraries (assets/dialects.json)."""

import json
from pathlib import Path

from headlight.ui.sheet import Block, Mark, table, text

_FILE = json.loads((Path(__file__).parents[2] / "assets" / "dialects.json").read_text(encoding="utf-8"))
DIALECTS: list[str] = _FILE["dialects"]
# idea -> its terms, in the order of DIALECTS; "–" where a dialect has none
ROWS: dict[str, list[str]] = _FILE["ideas"]
_CAPTION = (
    "There is one row per concept. The annotated code is labml.ai’s, with (length, batch, …) first, and its copy on a "
    "blog. The lesson’s three helpers split, attend and combine. Axes have the same names as in the pictures."
)


def dictionary(query: str = "") -> list[Block]:
    """Return the dictionary as a table, a row per idea and a column per dialect.

    With a query only matching rows are returned, with matching cells marked.
    """
    rows = [[idea, *words] for idea, words in ROWS.items()]
    word = query.strip().casefold()
    matches = [row for row in rows if any(word in cell.casefold() for cell in row)]
    if not matches:
        return [text(f"No tutorial or library in this table uses “{query.strip():.60}”.")]
    marks: dict[tuple[int, int], Mark] = {
        (i, j): "focus" for i, row in enumerate(matches) for j, cell in enumerate(row) if word in cell.casefold()
    }
    return [table(["", *DIALECTS], matches, _CAPTION, marks if word else None, prose=True)]
