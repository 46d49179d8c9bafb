"""Every number that the article prints whose worked examples these are: one table, row by row as it stands there."""

from dataclasses import dataclass

from .codec import Matrix


@dataclass(frozen=True)
class PrintedRows:
    """A matrix in print.

    Attributes:
        example: of By hand, that begins with the same inputs.
        name: of the matrix; unique within its example.
        values: row by row, a row a word unless `of_weights`.
        of_weights: rows and columns are those of nn.Linear, (out, in).
    """

    example: str
    name: str
    values: Matrix
    decimals: int = 0
    of_weights: bool = False


PRINTED = (
    PrintedRows("one head", "ids", ((10,), (3,), (5,))),
    PrintedRows("one head", "x", ((1.1, 1.2), (2.1, 2.2), (3.1, 3.2)), 1),
    PrintedRows("one head", "scores", ((0.5, 0.1, 0.4), (0.1, 0.8, 0.3), (0.4, 0.3, 0.1)), 1),
    PrintedRows("one head", "weights", ((0.38, 0.26, 0.35), (0.23, 0.48, 0.29), (0.38, 0.34, 0.28)), 2),
    PrintedRows("one head", "out", ((2.0630, 2.1630), (2.1523, 2.2523), (2.0020, 2.1020)), 4),
    PrintedRows("two heads", "q, k, v of head 0", ((1, 10), (2, 20), (3, 30))),
    PrintedRows("two heads", "q, k, v of head 1", ((100, 1000), (200, 2000), (300, 4000))),
    PrintedRows("two heads", "mixed of head 0", ((1.1, 10.1), (2.1, 20.1), (3.1, 30.1)), 1),
    PrintedRows("two heads", "mixed of head 1", ((100.2, 1000.2), (200.2, 2000.2), (300.2, 4000.2)), 1),
    PrintedRows(
        "two heads",
        "joined",
        ((1.1, 10.1, 100.2, 1000.2), (2.1, 20.1, 200.2, 2000.2), (3.1, 30.1, 300.2, 4000.2)),
        1,
    ),
    PrintedRows("stacked weights", "x", ((1, 10, 100, 1000), (2, 20, 200, 2000), (3, 30, 300, 3000))),
    PrintedRows("stacked weights", "W of head 0", ((10, 0, 0, 0), (0, 10, 0, 0)), of_weights=True),
    PrintedRows("stacked weights", "W of head 1", ((20, 0, 0, 0), (0, 20, 0, 0)), of_weights=True),
    PrintedRows("stacked weights", "W", ((10, 0, 0, 0), (0, 10, 0, 0), (20, 0, 0, 0), (0, 20, 0, 0)), of_weights=True),
    PrintedRows("stacked weights", "x Wᵀ", ((10, 100, 20, 200), (20, 200, 40, 400), (30, 300, 60, 600))),
)


def of(example: str) -> tuple[PrintedRows, ...]:
    """What is printed of an example, in order."""
    return tuple(one for one in PRINTED if one.example == example)
