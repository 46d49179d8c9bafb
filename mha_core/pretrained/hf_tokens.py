"""Tokenizer of a Hugging Face folder: its tokenizer.json, else the class of its family."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import Unsupported, WeightsFileError
from . import offline
from .byte_level import ReadableTokenizer
from .folders import MAX_TOKENIZER_BYTES, TOKENIZER, describe, library_errors, read_json, read_tokenizer, regular_file

SETTINGS = "tokenizer_config.json"
# vocabulary files of tokenizers without tokenizer.json
VOCABULARIES = ("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model",
                "source.spm", "target.spm", "spm.model", "bpe.codes")  # fmt: skip


def read(folder: Path, config: Any) -> ReadableTokenizer:
    """Read the tokenizer, without padding and truncation.

    Raises:
        WeightsFileError: it is missing or damaged.
        Unsupported: it would run code.
    """
    if (folder / SETTINGS).exists():
        describe(folder, SETTINGS)
    if (folder / TOKENIZER).exists():
        content = read_json(folder, TOKENIZER, MAX_TOKENIZER_BYTES)
        kinds = json.dumps([content.get("pre_tokenizer"), content.get("decoder")])
        spelling = "bytes" if '"ByteLevel"' in kinds else "▁" if "▁" in kinds or "\\u2581" in kinds else ""
        return ReadableTokenizer(read_tokenizer(folder), spelling)
    if not any((folder / name).exists() for name in VOCABULARIES):
        raise WeightsFileError(f"cannot read {TOKENIZER}: the folder has no tokenizer; copy it beside the weights")
    for name in (*VOCABULARIES, "special_tokens_map.json", "added_tokens.json"):
        if (folder / name).exists() and regular_file(folder, name).stat().st_size > MAX_TOKENIZER_BYTES:
            raise WeightsFileError(f"{name} has more than {MAX_TOKENIZER_BYTES:,} bytes; this is not a vocabulary")
    return _from_family(folder, config)


def _from_family(folder: Path, config: Any) -> ReadableTokenizer:
    offline.transformers()
    from transformers import AutoTokenizer

    options: dict[str, Any] = {"config": config, "trust_remote_code": False, "local_files_only": True}
    with library_errors("cannot read the tokenizer"):
        try:
            tokenizer: Any = AutoTokenizer.from_pretrained(str(folder), **options)
        except ImportError as error:
            raise Unsupported(f"the tokenizer needs a package that is not installed: {error!s:.200}") from error
    backend = getattr(tokenizer, "backend_tokenizer", None)
    sample = " ".join(map(str, tokenizer.convert_ids_to_tokens(range(min(500, len(tokenizer))))))
    spelling = "bytes" if "Ġ" in sample else "▁" if "▁" in sample else ""
    return ReadableTokenizer(tokenizer if backend is None else backend, spelling)
