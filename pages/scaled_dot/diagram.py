"""The two figures of attention as boxes and arrows, from below to above; each box opens its step on Shapes."""

from dataclasses import dataclass

from pages.kit.draw import pages
from pages.kit.draw.sheet import Block

SHAPES = "shapes"


@dataclass(frozen=True)
class Box:
    """A step of a figure.

    Attributes:
        step: of Shapes that it opens.
        columns: the first and the last of the three that it stands in; row: from below, counted from 0.
        from_: the boxes, by their place in the figure, that an arrow leads from.
        letter: of the axis or tensor that gives it its colour, "" for none.
        also: what the link to Shapes says beside the step.
        input_: it is what comes in, not a step.
    """

    text: str
    step: str
    columns: tuple[float, float]
    row: int
    from_: tuple[int, ...] = ()
    letter: str = ""
    also: str = ""
    input_: bool = False


ONE_HEAD = (
    Box("Q", "q", (0, 0), 0, letter="i", input_=True),
    Box("K", "k", (1, 1), 0, letter="j", input_=True),
    Box("V", "v", (2, 2), 0, letter="j", input_=True),
    Box("MatMul: Q Kᵀ", "scores.product", (0, 1), 1, (0, 1)),
    Box("Scale: ÷ √d", "scores", (0, 1), 2, (3,)),
    Box("Mask (optional)", "masked", (0, 1), 3, (4,), also="mask=causal"),
    Box("SoftMax over the keys", "weights", (0, 1), 4, (5,)),
    Box("MatMul: weights · V", "mixed", (0, 2), 5, (6, 2)),
)
ALL_HEADS = (
    Box("Q", "x", (0, 0), 0, letter="i", input_=True),
    Box("K", "x", (1, 1), 0, letter="j", input_=True),
    Box("V", "x", (2, 2), 0, letter="j", input_=True),
    Box("Linear", "q.project", (0, 0), 1, (0,)),
    Box("Linear", "k.project", (1, 1), 1, (1,)),
    Box("Linear", "v.project", (2, 2), 1, (2,)),
    Box("split into h heads", "q.transpose", (0, 2), 2, (3, 4, 5), "h"),
    Box("Scaled dot-product attention", "weights", (0, 2), 3, (6,), "h"),
    Box("Concat", "joined", (0, 2), 4, (7,)),
    Box("Linear", "out", (0, 2), 5, (8,)),
)
FIGURES = {"Scaled dot-product attention": ONE_HEAD, "Multi-head attention": ALL_HEADS}


def figures() -> list[Block]:
    """A block for each figure; a box is a link to Shapes with all that is said elsewhere, at its step."""
    return [_figure(name, boxes) for name, boxes in FIGURES.items()]


def _figure(name: str, boxes: tuple[Box, ...]) -> Block:
    drawn = [
        {
            "text": box.text,
            "link": [["step", box.step], *([box.also.split("=")] if box.also else [])],
            "columns": list(box.columns),
            "row": box.row,
            "from": list(box.from_),
            "letter": box.letter,
            "input": box.input_,
        }
        for box in boxes
    ]
    path, title = pages.path(SHAPES), pages.PAGES[SHAPES].title
    return {"kind": "diagram", "name": name, "path": path, "title": title, "boxes": drawn}
