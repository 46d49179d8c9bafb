"""The parts of the page as blocks: the shapes and numbers of one call, the comparison, the formulas with its sizes.

And the two figures of attention as boxes and arrows, from below to above; each box opens its step on Shapes.
"""

import inspect
from dataclasses import dataclass
from typing import Any

from headlight.ui import pages, paper, sheet
from headlight.ui.numbers import scientific, share, whole
from headlight.ui.sheet import Block
from mha_core.attention.functional import attention, softmax_over_keys
from mha_core.positions.added import sinusoids

from . import products
from .case import CASES, SOURCES, Case, Checked

WHAT = {
    "q": "the queries: …, i, d",
    "k": "the keys: …, j, d",
    "v": "the values: …, j, any width",
    "scores": "q kᵀ / √d: …, i, j",
    "weights": "softmax of the scores over j: …, i, j",
    "mixed": "weights · v: …, i, width of v",
}
PLACE, PAIR = 2, 0  # of the positional encoding that is worked out: place, pair of channels


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


def opening(case: Case, made: Checked) -> Block:
    """The call, and how far it lies from torch's own, in one line."""
    ours, torchs = SOURCES[case.source]
    far = scientific(made.to_torch)
    agree = f"agree (relative difference {far}, rounding)"
    if made.to_torch > 1e-6:
        agree = f"differ by {far}, relative"
    return sheet.title(f"{ours} and PyTorch’s own {agree}", f"{torchs}, computed now on {made.device} in float32")


def cases(case: Case) -> Block:
    offered: list[tuple[str, dict[str, Any], bool | None]] = [
        (name, {"case": name}, one.queries == case.queries and one.source == case.source and one.sizes == case.sizes)
        for name, one in CASES.items()
    ]
    return sheet.buttons("Cases", offered)


def comparison(made: Checked) -> Block:
    """The shapes of every tensor, and the differences."""
    shapes = sheet.table(
        ["tensor", "shape", "what it is"], [[name, str(shape), WHAT[name]] for name, shape in made.shapes.items()]
    )
    rows = [
        ["attention − torch's own", scientific(made.to_torch)],
        ["attention − truth", scientific(made.to_truth)],
        ["torch's own − truth", scientific(made.torch_to_truth)],
        ["largest single difference to torch's own", scientific(made.largest)],
        ["row sum farthest from 1, minus 1", scientific(abs(made.row_sum - 1))],
    ]
    differences = sheet.table(["difference", "measured"], rows, "relative: ‖a − b‖ / ‖b‖; the truth is in float64")
    return sheet.row(
        [sheet.panel("Shapes", [shapes], "leading axes alike"), sheet.panel("How far apart", [differences])]
    )


def matrices(case: Case, made: Checked) -> Block:
    """The first index of every leading axis: the weights, and the outputs of both functions."""
    i, j, _, width = case.sizes
    rows = [str(place) for place in range(len(made.weights))]
    keys = [str(place) for place in range(len(made.weights[0]))]
    channels = [str(place) for place in range(len(made.mixed[0]))]
    cut = (len(rows), len(keys), len(channels)) != (i, j, width)
    pair = [
        sheet.matrix(name, values, rows=rows, cols=channels, axes="" if cut else "i c", compact=True)
        for name, values in (("mixed, by attention", made.mixed), ("mixed, by torch", made.torchs))
    ]
    weights = sheet.matrix(
        "weights",
        made.weights,
        rows=rows,
        cols=keys,
        axes="" if cut else "i j",
        write=lambda weight: share(weight, 2),
        compact=True,
        colour="weights",
    )
    where = f"index {', '.join('0' for _ in case.leading)} of the leading axes; " if case.leading else ""
    shown = f"the first rows and columns of {i} queries, {j} keys, {width} channels" if cut else "all rows and columns"
    note = f"{where}{shown}; counted from 0"
    return sheet.panel("The numbers", [sheet.row([weights, *pair])], note)


def formulas(case: Case) -> Block:
    """The paper's formulas with the sizes of this call."""
    i, j, d, width = case.sizes
    heads = case.leading[-1] if len(case.leading) > 1 else 1
    shown = [paper.attention(i, j, d, width, case.leading), paper.multi_head(i, heads, heads * d, width)]
    said = f"the axis before the queries counts {whole(heads)} heads" if heads > 1 else "here with one head"
    if d % 2 == 0:
        angles = sinusoids(PLACE + 1, d)[PLACE, 2 * PAIR : 2 * PAIR + 2].tolist()
        shown.append(paper.sinusoids(PLACE, PAIR, d, (angles[0], angles[1])))
    else:
        shown.append(sheet.text(f"A positional encoding has a sine and a cosine for each pair: a width of {d} is odd."))
    return sheet.panel("The same as the paper writes it", shown, f"sizes in the colours of their axes; {said}")


def figures() -> Block:
    drawn = [_figure(name, boxes) for name, boxes in FIGURES.items()]
    note = "read upwards; press a box to see its step on Shapes"
    return sheet.panel("The same as two figures", [sheet.row(drawn)], note)


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
    path, title = pages.path("shapes"), pages.PAGES["shapes"].title
    return {"kind": "diagram", "name": name, "path": path, "title": title, "boxes": drawn}


def source() -> str:
    """The function, and the softmax that it calls, as they ran."""
    return "\n\n".join(inspect.getsource(one).rstrip() for one in (attention, softmax_over_keys))


def product_choices(shape: tuple[int, ...]) -> Block:
    text = ", ".join(map(str, shape))
    return sheet.buttons(
        "Cases", [(name, {"product": written}, written == text) for name, written in products.CASES.items()]
    )
