"""What the names of a lesson's rule mean on By hand: the numbers of the first worked example."""

from collections.abc import Mapping

from headlight.lessons.values import Value
from headlight.picture.query import Query
from mha_core.errors import HeadlightError
from mha_core.measure.by_hand import softmax_steps

from . import workbook
from .workbook import TOKENS, Workbook


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
    matrices = workbook.from_link(query["m"], TOKENS, TOKENS)
    if matrices is None:
        raise HeadlightError("the matrices of this link cannot be used")
    book = Workbook(matrices, divide=query["sqrt"], products=query["src"] != "as given")
    x = book["x"]
    q, k, v = (x @ book[f"w{name}"] for name in "qkv") if book.products else (x, x, x)
    scores = q @ k.T if book.products else book["s"]
    done = softmax_steps(scores, v, allow=book.allow("a"), divisor=book.divisor(2))
    return {
        "W": Value.of(done.weights, "i j", TOKENS),
        "scores": Value.of(scores, "i j", TOKENS),
        "mixed": Value.of(done.mixed, "i c", TOKENS),
    }
