"""Values of two numbers as points, and the outputs, their weighted means, as points within the hull of the values."""

from collections.abc import Sequence

from torch import Tensor

from headlight.ui import sheet
from headlight.ui.numbers import count, difference
from headlight.ui.sheet import Block
from mha_core.measure.by_hand import Stages

Point = tuple[float, float]
NOTE = "across: feature 0, upwards: feature 1; the stronger a line, the larger the weight"
ROUNDING = 1e-9  # of the largest number shown


def panel(done: Stages, v: Tensor, rows: Sequence[str], cols: Sequence[str], choices: Sequence[Block] = ()) -> Block:
    """The picture, and what it shows.

    Args:
        done: with weights (i, j) and mixed (i, 2). v: (j, 2), the values. rows, cols: words of both.
        choices: stand above the picture.
    """
    values = _points(v)
    looking = [i for i, line in enumerate(done.weights.tolist()) if sum(line) > 0]
    outputs = _points(done.mixed[looking])
    edge = hull(values)
    drawn = {
        "kind": "hull",
        "name": "values and outputs",
        "values": [[*point, word] for point, word in zip(values, cols, strict=True)],
        "outputs": [[*point, rows[i]] for point, i in zip(outputs, looking, strict=True)],
        "edge": edge,
        "shares": done.weights[looking].tolist(),
        "said": f"{count(len(values), 'value')} and {count(len(outputs), 'output')} as points",
        "note": NOTE,
    }
    return sheet.panel(
        "Outputs are weighted means of the values",
        [*choices, sheet.text(told(values, outputs, edge, len(rows))), drawn],
        "their barycentres: no weight is below 0, and a row sums to 1",
    )


def told(values: Sequence[Point], outputs: Sequence[Point], edge: Sequence[int], rows: int) -> str:
    """Where the outputs lie, measured."""
    if not outputs:
        return "No row may look at anybody: no output is a mean of values."
    corners = [values[at] for at in edge]
    beyond = max(outside(point, corners) for point in outputs)
    largest = max(abs(part) for point in (*values, *outputs) for part in point)
    shape = ("are one point", "lie on one line", "span an area")[min(len(corners), 3) - 1]
    said = f"The {count(len(values), 'value')} {shape}, so every mix of them does too."
    if len(corners) != 2:
        said = f"The {count(len(values), 'value')} {shape}, and every mix of them lies in it."
    if beyond > ROUNDING * max(1.0, largest):
        said = f"The {count(len(values), 'value')} {shape}, but an output lies {difference(beyond)} beyond it."
    without = rows - len(outputs)
    return f"{said} {count(without, 'row')} may look at nobody: its output is no mean." if without else said


def hull(points: Sequence[Point]) -> list[int]:
    """The corners of the convex hull, as places in `points`, counter-clockwise: Andrew's monotone chain.

    One place of points that all lie on each other, two of points on a line.
    """
    order = sorted(range(len(points)), key=lambda at: points[at])
    order = [at for n, at in enumerate(order) if not n or points[at] != points[order[n - 1]]]
    if len(order) < 3:
        return order

    def half(places: Sequence[int]) -> list[int]:
        chain: list[int] = []
        for at in places:
            while len(chain) > 1 and turn(points[chain[-2]], points[chain[-1]], points[at]) <= 0:
                chain.pop()
            chain.append(at)
        return chain[:-1]

    return half(order) + half(order[::-1])


def turn(a: Point, b: Point, c: Point) -> float:
    """Twice the area of the triangle, above 0 when c lies to the left of the way from a to b.

    0 for what is a line but for rounding: decimal numbers on a line are not quite on it in binary.
    """
    (x, y), (s, t) = (b[0] - a[0], b[1] - a[1]), (c[0] - a[0], c[1] - a[1])
    left, right = x * t, y * s
    return 0.0 if abs(left - right) <= ROUNDING * max(abs(left), abs(right)) else left - right


def outside(point: Point, corners: Sequence[Point]) -> float:
    """How far a point lies outside of a convex hull with these corners, counter-clockwise; 0 inside."""
    if len(corners) > 2:
        edges = [(one, corners[(at + 1) % len(corners)]) for at, one in enumerate(corners)]
        if all(turn(one, other, point) >= 0 for one, other in edges):
            return 0.0
    else:
        edges = [(corners[0], corners[-1])]
    return min(_to_edge(point, one, other) for one, other in edges)


def _to_edge(point: Point, one: Point, other: Point) -> float:
    (x, y), (s, t) = (other[0] - one[0], other[1] - one[1]), (point[0] - one[0], point[1] - one[1])
    length = x * x + y * y
    share = min(1.0, max(0.0, (x * s + y * t) / length)) if length else 0.0
    distance: float = ((s - share * x) ** 2 + (t - share * y) ** 2) ** 0.5
    return distance


def _points(of: Tensor) -> list[Point]:
    return [(float(x), float(y)) for x, y in of.tolist()]
