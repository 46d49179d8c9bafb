"""Settings behind the Share menu of Implementations."""

from headlight.link.cursor import Cursor
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings


def sides_from_link(raw: bytes) -> tuple[dict[str, Settings], Cursor]:
    """Return the settings and the cursor of a link. Raises a HeadlightError."""
    query = LinkQuery(raw, takes_model=False)
    return {"run": Settings(query["s"], query.mask("")[0], device=query.device)}, query.cursor
