"""Common parts of the preprocessors for pictures and sounds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from torch import Tensor

from ..errors import HeadlightError
from ..models.run import Extras
from .folders import describe

FILE = "preprocessor_config.json"


NO_TEXT = "this model reads {}, not text; pass the bytes of one, its Path or a tensor"


class Features(NamedTuple):
    """Preprocessed picture or sound.

    Attributes:
        values: (1, …), input of the model.
        tokens: names of the visible tokens; padding behind a sound has none.
        n_special: number of special tokens in front.
        extras: the picture or the sound itself.
    """

    values: Tensor
    tokens: list[str]
    n_special: int
    extras: Extras


class NameTokenizer:
    """Stand-in for a tokenizer, with names for tokens that are not text.

    Args:
        names: of the tokens, in order.
        refusal: message of the error for a text.
    """

    def __init__(self, names: Sequence[str], refusal: str) -> None:
        self.names = tuple(names)
        self._refusal = refusal

    def encode(self, text: str) -> NoReturn:
        """Raise, because it has no tokens for a text."""
        raise HeadlightError(self._refusal)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the names of these tokens."""
        return " ".join(self.names[number] for number in ids)

    def id_to_token(self, number: int) -> str | None:
        """Return the name of a token, or None."""
        return self.names[number] if 0 <= number < len(self.names) else None

    def token_to_id(self, token: str) -> int | None:
        """Return the index of a name, or None."""
        return self.names.index(token) if token in self.names else None

    def get_vocab_size(self) -> int:
        """Return the number of tokens."""
        return len(self.names)


def settings(folder: Path, names: Collection[str]) -> dict[str, Any]:
    """Return the folder's settings with these names.

    Raises:
        WeightsFileError: the file is missing or damaged.
        Unsupported: it names code.
    """
    description = describe(folder, FILE)
    return {name: description[name] for name in names if description.get(name) is not None}
