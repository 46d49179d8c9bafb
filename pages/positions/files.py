"""What Share tells of Positions, from its link."""

from pages.kit.picture.asked import Asked
from pages.kit.picture.place import At
from pages.kit.picture.settings import Settings


def shown(raw: bytes) -> tuple[dict[str, Settings], At]:
    """The sentence in the model as it was trained, and the place looked at. Raises a HeadlightError."""
    query = Asked(raw, takes_model=False)
    return {"run": Settings(query["s"])}, query.at
