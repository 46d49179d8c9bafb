"""The tables that By hand exports."""

from headlight.link.cursor import Cursor
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.ui.tables import Table, map_table, tables_from_blocks
from mha_core.errors import HeadlightError

from . import scaled_dot, workbook
from .examples import EXAMPLES
from .scaled_dot import SCALED_DOT, Case


def sides_from_link(raw: bytes) -> tuple[dict[str, Settings], Cursor]:
    """Return the settings of the run, and the cursor.

    Raises:
        HeadlightError: the example has no model.
    """
    query = LinkQuery(raw)
    if query["ex"] in (*EXAMPLES, SCALED_DOT):
        raise HeadlightError("this example uses the numbers on the page, not a model")
    return {"run": query.fitted_settings()[0]}, query.cursor


def tables(raw: bytes) -> list[Table]:
    """Return every matrix of an example, or the map in focus of a model.

    Raises:
        HeadlightError: the link has no picture.
    """
    query = LinkQuery(raw)
    if query["ex"] == SCALED_DOT:
        return tables_from_blocks(scaled_dot.blocks(Case.from_link(query.__getitem__), query.device))
    if query["ex"] not in EXAMPLES:
        run, cursor = pictures.picture(query.fitted_settings()[0]).run, query.cursor
        return [map_table(f"layer {cursor.layer} head {cursor.head}: query / key", run, cursor.layer, cursor.head)]
    book, _ = workbook.from_link(query.__getitem__)
    return tables_from_blocks(EXAMPLES[query["ex"]].blocks(book))
