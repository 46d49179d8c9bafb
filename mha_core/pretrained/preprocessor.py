"""What readies pictures and sounds for a model: a class of transformers, set as its folder's description says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from torch import Tensor

from ..errors import HeadlightError
from ..models.run import Extras
from .folders import describe

FILE = "preprocessor_config.json"


NO_TEXT = "this model reads {}, no text; give it the bytes of one, its Path or a tensor"


class Features(NamedTuple):
    """What a model reads of a picture or a sound.

    Attributes:
        values: (1, …), what its pass takes.
        tokens: the names of those that are shown; silence behind a sound has none.
        own: how many of them, in front, are of no patch.
        extras: the picture or the sound itself.
    """

    values: Tensor
    tokens: list[str]
    n_special: int
    extras: Extras


class Named:
    """Stands where other models have a tokenizer, and has the names of tokens that are no text.

    Args:
        names: of the tokens, in order.
        refusal: what is said of a text.
    """

    def __init__(self, names: Sequence[str], refusal: str) -> None:
        self.names = tuple(names)
        self._refusal = refusal

    def encode(self, text: str) -> NoReturn:
        """As a tokenizer: it has no token for a text."""
        raise HeadlightError(self._refusal)

    def decode(self, ids: Sequence[int]) -> str:
        """The names of these tokens."""
        return " ".join(self.names[number] for number in ids)

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
