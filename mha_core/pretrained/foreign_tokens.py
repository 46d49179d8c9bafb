"""The tokenizer of a foreign model's folder: its tokenizer.json, else the class that its family has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import HeadlightError, Unsupported, WeightsFileError
from . import byte_level, offline
from .byte_level import Coded
from .folders import LARGEST_TOKENIZER, TOKENIZER, own_file, read_json, refuse_code

SETTINGS = "tokenizer_config.json"
# what a tokenizer without tokenizer.json is made of
VOCABULARIES = ("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model",
                "source.spm", "target.spm", "spm.model", "bpe.codes")  # fmt: skip


class Tokens:
    """A tokenizer whose tokens can be read, of whatever kind it is.

    Args:
        whole: of `tokenizers`, or of transformers where the family has its own way.
        spelling: "bytes" as GPT-2's, "▁" before words as SentencePiece's, or "" where the tokens are read as they are.
    """

    def __init__(self, whole: Any, spelling: str) -> None:
        self.whole = whole
        self.spelling = spelling
        self._own = not hasattr(whole, "id_to_token")

    def encode(self, text: str) -> Coded:
        """The tokens of a text, special ones included.

        Raises:
            TypeError: it is no str, or has half a surrogate pair.
            HeadlightError: the tokenizer cannot take it.
        """
        if not isinstance(text, str) or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise TypeError("no text of whole characters")
        try:
            coded = self.whole(text) if self._own else self.whole.encode(text)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise  # the library raises bare Exception, and panics on a pattern that it gave up
            raise HeadlightError(f"the model's tokenizer cannot take this text ({type(error).__name__})") from error
        ids = list(coded["input_ids"] if self._own else coded.ids)
        return Coded(self.read(ids), ids, [] if self._own else coded.offsets)

    def read(self, ids: Sequence[int]) -> list[str]:
        """The tokens of a text as a person reads them there: see `byte_level.in_text`."""
        labels = [self.id_to_token(number) or f"<{number}>" for number in ids]
        if not self.spelling:
            return labels
        return list(map(byte_level.in_text, labels, ["", *labels]))

    def id_to_token(self, number: int) -> str | None:
        """The label of a number of the vocabulary, None when it has no such number."""
        token = self.whole.convert_ids_to_tokens(number) if self._own else self.whole.id_to_token(number)
        if token is None or not self.spelling:
            return token if token is None else str(token)
        return byte_level.label(token) if self.spelling == "bytes" else str(token).replace("▁", "␣")

    def token_to_id(self, token: str) -> int | None:
        """The number of a token as the vocabulary spells it."""
        number = self.whole.get_vocab().get(token) if self._own else self.whole.token_to_id(token)
        return None if number is None else int(number)

    def get_vocab_size(self) -> int:
        """How many tokens there are."""
        return len(self.whole) if self._own else int(self.whole.get_vocab_size())

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these tokens, special ones too."""
        return str(self.whole.decode(list(ids), skip_special_tokens=False))


def read(folder: Path, config: Any) -> Tokens:
    """The tokenizer, without padding and truncation.

    Raises:
        WeightsFileError: it is missing or damaged. Unsupported: it would run code.
    """
    if (folder / SETTINGS).exists():
        refuse_code(read_json(folder, SETTINGS), SETTINGS)
    if (folder / TOKENIZER).exists():
        return _of_json(folder)
    if not any((folder / name).exists() for name in VOCABULARIES):
        raise WeightsFileError(f"cannot read {TOKENIZER}: the folder has no tokenizer; copy it beside the weights")
    for name in (*VOCABULARIES, "special_tokens_map.json", "added_tokens.json"):
        if (folder / name).exists() and own_file(folder, name).stat().st_size > LARGEST_TOKENIZER:
            raise WeightsFileError(f"{name} has more than {LARGEST_TOKENIZER:,} bytes; this is no vocabulary")
    return _of_family(folder, config)


def _of_json(folder: Path) -> Tokens:
    from tokenizers import Tokenizer

    content = read_json(folder, TOKENIZER, LARGEST_TOKENIZER)
    try:
        whole: Any = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # the library raises bare Exception
        raise WeightsFileError(f"cannot read {TOKENIZER}: {error}") from error
    # the file may ask for a fixed length; a visitor's text is neither cut nor filled up
    whole.no_padding()
    whole.no_truncation()
    kinds = json.dumps([content.get("pre_tokenizer"), content.get("decoder")])
    return Tokens(whole, "bytes" if '"ByteLevel"' in kinds else "▁" if "▁" in kinds or "\\u2581" in kinds else "")


def _of_family(folder: Path, config: Any) -> Tokens:
    offline.transformers()
    from transformers import AutoTokenizer

    try:
        found: Any = AutoTokenizer.from_pretrained(
            str(folder), config=config, trust_remote_code=False, local_files_only=True
        )
    except ImportError as error:
        raise Unsupported(f"the tokenizer needs a package that is not installed: {str(error).strip():.200}") from error
    except Exception as error:  # each class has its own
        raise WeightsFileError(f"cannot read the tokenizer: {type(error).__name__}: {error!s:.200}") from error
    whole = getattr(found, "backend_tokenizer", None)
    sample = " ".join(map(str, found.convert_ids_to_tokens(range(min(500, len(found))))))
    spelling = "bytes" if "Ġ" in sample else "▁" if "▁" in sample else ""
    return Tokens(found if whole is None else whole, spelling)
