"""The quantities that a lesson's rule can name on By hand: those of the first worked example."""

from collections.abc import Mapping

from headlight.lessons.values import Value
from headlight.picture.query import Query
from mha_core.errors import HeadlightError

from . import workbook
from .examples import compute_attention
from .workbook import TOKENS


def quantities(query: Query) -> Mapping[str, Value] | None:
    """Return `W` and `scores` (i, j) and `mixed` (i, c) of "one head"; None for an example on a model.

    Raises:
        HeadlightError: the matrices of the link are invalid, or another worked example is displayed.
    """
    example = query["ex"]
    if example in ("a real cell", "entropy", "embedding"):
        return None
    if example != "one head":
        raise HeadlightError(f"the example “{example:.20}” has no numbers for a lesson; choose “one head”")
    book, usable = workbook.from_link(query.__getitem__)
    if not usable:
        raise HeadlightError("the matrices of this link cannot be used")
    values, stages = compute_attention(book)
    return {
        "W": Value.from_tensor(stages.weights, "i j", TOKENS),
        "scores": Value.from_tensor(values["scores"], "i j", TOKENS),
        "mixed": Value.from_tensor(stages.mixed, "i c", TOKENS),
    }
