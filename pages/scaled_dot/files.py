"""Files of Scaled dot product: the matrices of its call, from its link."""

from headlight.picture.link_query import LinkQuery
from headlight.ui.tables import Table, of_blocks

from . import case as cases
from . import parts
from .case import Case


def tables(raw: bytes) -> list[Table]:
    """The first index of every leading axis, as far as it is shown. Raises a HeadlightError for what is too large."""
    query = LinkQuery(raw)
    keys, width = (None if query[key] is None else int(query[key]) for key in ("nk", "wv"))
    case = Case(cases.parse_shape(query["qs"], *cases.AXES), query["kv"], keys, width, query["draw"])
    return of_blocks([parts.matrices(case, cases.checked(case, query.device))])
