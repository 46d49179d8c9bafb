"""BBC news from the hub, by the optional package `datasets`."""

from importlib.util import find_spec

from ...errors import HeadlightError
from .base import Labelled
from .table import of_rows

HUB_NAME = "SetFit/bbc-news"


def can_ask_hub() -> bool:
    """Tells whether `datasets` is installed, without importing it."""
    return find_spec("datasets") is not None


def from_hub(seed: int = 0, *, keep_duplicates: bool = False) -> Labelled:
    """BBC news in five classes, the hub's training part: the one task that needs the network.

    Args:
        seed: of the split.
        keep_duplicates: as in `from_csv`.

    Raises:
        HeadlightError: `datasets` is not installed, or the hub cannot be reached, or it sent something else.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise HeadlightError(
            "the package datasets is not installed; install it: pip install 'datasets>=4', or bring the news as CSV"
        ) from error
    try:
        rows = [(str(row["text"]), str(row["label_text"])) for row in load_dataset(HUB_NAME, split="train")]
    except Exception as error:  # the network, the hub and the library each have their own
        raise HeadlightError(
            f"{HUB_NAME} could not be fetched from the hub ({type(error).__name__}); "
            "try again when there is a network, or bring the news as CSV"
        ) from error
    return of_rows(rows, seed=seed, keep_duplicates=keep_duplicates, name="news", title="BBC news")
