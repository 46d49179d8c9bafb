"""Files of By hand, from its link."""

from headlight.link.place import Cursor
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.ui.tables import Table, map_of, of_blocks
from mha_core.errors import HeadlightError

from . import scaled_dot, workbook
from .examples import EXAMPLES
from .scaled_dot import SCALED_DOT, Case


def sides_of_link(raw: bytes) -> tuple[dict[str, Settings], Cursor]:
    """What is taken apart, and the place looked at. Raises a HeadlightError for an example without a model."""
    query = LinkQuery(raw)
    if query["ex"] in (*EXAMPLES, SCALED_DOT):
        raise HeadlightError("this example uses the numbers on the page, not a model")
    return {"run": query.fitted_settings()[0]}, query.at


def tables(raw: bytes) -> list[Table]:
    """Every matrix of an example; of a real layer the map of the head. Raises a HeadlightError."""
    query = LinkQuery(raw)
    if query["ex"] == SCALED_DOT:
        return of_blocks(scaled_dot.blocks(Case.of_link(query.__getitem__), query.device))
    if query["ex"] not in EXAMPLES:
        run, at = pictures.picture(query.fitted_settings()[0]).run, query.at
        return [map_of(f"layer {at.layer} head {at.head}: query / key", run, at.layer, at.head)]
    book, _ = workbook.of_link(query.__getitem__)
    return of_blocks(EXAMPLES[query["ex"]].blocks(book))
