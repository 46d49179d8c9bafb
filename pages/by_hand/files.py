"""What Share tells of By hand, from its link."""

from mha_core.errors import HeadlightError
from pages.kit.picture.asked import Asked
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings

from .examples import EXAMPLES


def shown(raw: bytes) -> tuple[dict[str, Settings], At]:
    """What is taken apart, and the place looked at. Raises a HeadlightError for an example without a model."""
    query = Asked(raw)
    if query["ex"] in EXAMPLES:
        raise HeadlightError("this example is computed from the numbers on the page, without a model")
    return {"run": query.within()[0]}, query.at
