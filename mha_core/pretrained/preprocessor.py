"""Common parts of the preprocessors for pictures and sounds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from torch import Tensor

from ..errors import HeadlightError, Unsupported, WeightsFileError
from ..models.run import Extras
from . import offline
from .folders import read_json

FILE, PROCESSOR = "preprocessor_config.json", "processor_config.json"


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


class Settings(NamedTuple):
    """Settings of a preprocessor.

    Attributes:
        file: its name.
        kind: class in transformers.
        values: by name.
        notices: sentences about what was left aside.
    """

    file: str
    kind: str
    values: dict[str, Any]
    notices: tuple[str, ...]


class NameTokenizer:
    """Stand-in for a tokenizer, with names for tokens that are not text.

    Args:
        names: of the tokens, in order.
        refusal: message of the error for a text.

    Attributes:
        notices: sentences about what was left aside in its files.
    """

    notices: tuple[str, ...] = ()

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


def settings(folder: Path, part: str, names: Collection[str], kinds: Collection[str]) -> Settings:
    """Return the folder's settings of a preprocessor, from processor_config.json if it holds them, else from its own.

    Args:
        folder: with the files.
        part: "image_processor" or "feature_extractor".
        names: of the settings that are read.
        kinds: classes of transformers that are run; the first is the family's.

    Raises:
        WeightsFileError: the files are missing or damaged.
        Unsupported: it is code of its own, or another class.
    """
    file, content = PROCESSOR, read_json(folder, PROCESSOR) if (folder / PROCESSOR).exists() else {}
    if not isinstance(content.get(part), dict):
        if not (folder / FILE).exists():
            raise WeightsFileError(f"cannot read {FILE}: it is missing; copy it, or {PROCESSOR}, beside the weights")
        file, content = FILE, {part: read_json(folder, FILE)}
    values = content[part]
    old_name = str(values.get("feature_extractor_type", ""))
    type_name = str(values.get(f"{part}_type") or old_name.replace("FeatureExtractor", "ImageProcessor"))
    kind = next((kind for kind in kinds if type_name.removesuffix("Fast").removesuffix("Pil") == _base(kind)), None)
    is_known = not type_name or kind is not None
    code = content.get("auto_map") or values.get("auto_map")
    if code and not is_known:
        raise Unsupported(f"{file} asks for code of its own (auto_map), which is not run; choose another model")
    if not is_known and hasattr(offline.transformers(), type_name):
        raise Unsupported(f"{file} asks for a {type_name}; of these models are run: {', '.join(sorted(kinds))}")
    kind = kind or next(iter(kinds))
    notices = (f"The code that {file} names is not run: transformers has {_base(kind)} itself.",) if code else ()
    options = {name: values[name] for name in names if values.get(name) is not None}
    return Settings(file, kind, options, notices)


def _base(kind: str) -> str:
    return kind.removesuffix("Pil")
