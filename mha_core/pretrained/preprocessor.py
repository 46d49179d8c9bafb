"""What readies pictures and sounds for a model: a class of transformers, set as its folder's description says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..errors import HeadlightError, WeightsFileError
from .folders import describe

T = TypeVar("T")

FILE = "preprocessor_config.json"


class Named:
    """Stands where other models have a tokenizer, and has the names of tokens that are no text.

    Args:
        names: of the tokens, in order.
        what: the model reads, in the plural.
    """

    def __init__(self, names: Sequence[str], what: str) -> None:
        self.names = tuple(names)
        self._what = what

    def encode(self, text: str) -> Any:
        """As a tokenizer: it has no token for a text."""
        raise HeadlightError(f"this model reads {self._what}, no text; give it the bytes of one, its Path or a tensor")

    def id_to_token(self, number: int) -> str | None:
        """The name of the token in that place."""
        return self.names[number] if 0 <= number < len(self.names) else None

    def token_to_id(self, token: str) -> int | None:
        """The place of the token of that name."""
        return self.names.index(token) if token in self.names else None

    def get_vocab_size(self) -> int:
        """How many tokens there are."""
        return len(self.names)


def settings(folder: Path, names: Collection[str]) -> dict[str, Any]:
    """What the folder's description says under these names.

    Raises:
        WeightsFileError: it is missing or damaged. Unsupported: it names code.
    """
    description = describe(folder, FILE)
    return {name: description[name] for name in names if description.get(name) is not None}


def made(make: Callable[[], T]) -> T:
    """What a class of the library makes of a description. Raises a WeightsFileError where it cannot."""
    try:
        return make()
    except HeadlightError:
        raise
    except Exception as error:  # each class checks its own
        raise WeightsFileError(f"{FILE} cannot be used: {type(error).__name__}: {error!s:.200}") from error
