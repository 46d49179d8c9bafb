"""What the names of a lesson's rule mean on By hand: the numbers of the first worked example."""

from collections.abc import Mapping

from headlight.lessons.values import Value
from headlight.picture.query import Query
from mha_core.errors import HeadlightError

from . import workbook
from .examples import attended
from .workbook import TOKENS


def quantities(query: Query) -> Mapping[str, Value] | None:
    """`W` and `scores`, (i, j), and `mixed`, (i, c), of "one head"; None for an example on a real sentence.

    Raises:
        HeadlightError: the matrices of the link cannot be used, or another worked example is shown.
    """
    example = query["ex"]
    if example in ("a real cell", "entropy", "embedding"):
        return None
    if example != "one head":
        raise HeadlightError(f"the example “{example:.20}” has no numbers for a lesson; choose “one head”")
    book, usable = workbook.of_link(query.__getitem__)
    if not usable:
        raise HeadlightError("the matrices of this link cannot be used")
    made, done = attended(book)
    return {
        "W": Value.of(done.weights, "i j", TOKENS),
        "scores": Value.of(made["scores"], "i j", TOKENS),
        "mixed": Value.of(done.mixed, "i c", TOKENS),
    }
