"""The paper's two figures of attention as boxes and arrows, from below to above; each box opens its step on Shapes."""

from typing import Any

from headlight.ui import pages, sheet
from headlight.ui.sheet import Block


def _box(
    text: str, step: str, first: int, last: int, row: int, *sources: int, letter: str = "", **link: str
) -> dict[str, Any]:
    """A step of a figure; in the lowest row stands what comes in.

    Args:
        step: of Shapes that it opens; link: what the link says beside it.
        first, last: of the three columns that it stands in; row: from below, counted from 0.
        sources: the boxes, by their place in the figure, that an arrow leads from.
        letter: of the axis that gives it its colour, "" for none.
    """
    return {
        "text": text,
        "link": [["step", step], *map(list, link.items())],
        "columns": [first, last],
        "row": row,
        "from": sources,
        "letter": letter,
        "input": not row,
    }


FIGURES = {
    "Scaled dot-product attention": [
        _box("Q", "q", 0, 0, 0, letter="i"),
        _box("K", "k", 1, 1, 0, letter="j"),
        _box("V", "v", 2, 2, 0, letter="j"),
        _box("MatMul: Q Kᵀ", "scores.product", 0, 1, 1, 0, 1),
        _box("Scale: ÷ √d", "scores", 0, 1, 2, 3),
        _box("Mask (optional)", "masked", 0, 1, 3, 4, mask="causal"),
        _box("SoftMax over the keys", "weights", 0, 1, 4, 5),
        _box("MatMul: weights · V", "mixed", 0, 2, 5, 6, 2),
    ],
    "Multi-head attention": [
        _box("Q", "x", 0, 0, 0, letter="i"),
        _box("K", "x", 1, 1, 0, letter="j"),
        _box("V", "x", 2, 2, 0, letter="j"),
        *(_box("Linear", f"{name}.project", at, at, 1, at) for at, name in enumerate("qkv")),
        _box("split into h heads", "q.transpose", 0, 2, 2, 3, 4, 5, letter="h"),
        _box("Scaled dot-product attention", "weights", 0, 2, 3, 6, letter="h"),
        _box("Concat", "joined", 0, 2, 4, 7),
        _box("Linear", "out", 0, 2, 5, 8),
    ],
}


def figures() -> Block:
    path, title = pages.path("shapes"), pages.PAGES["shapes"].title
    drawn = [
        {"kind": "diagram", "name": name, "path": path, "title": title, "boxes": boxes}
        for name, boxes in FIGURES.items()
    ]
    return sheet.panel(
        "The same as two figures", [sheet.row(drawn)], "read upwards; press a box to see its step on Shapes"
    )
