"""Tokenizer of a Hugging Face folder: what transformers' AutoTokenizer makes of a checked copy of its files.

tokenizer.json alone is not the tokenizer: settings and added tokens stand beside it, and some classes rebuild it.
"""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from inspect import getattr_static
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import HeadlightError, Unsupported, WeightsFileError
from . import offline, weight_files
from .byte_level import ReadableTokenizer
from .folders import (
    CONFIG,
    MAX_TOKENIZER_BYTES,
    TOKENIZER,
    library_errors,
    read_json,
    read_tokenizer,
    regular_file,
)  # fmt: skip
from .tokenizer_guard import MAX_ADDED, require_bounded

SETTINGS, SPECIAL, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
NAMES = weight_files.NAMES["tokenizer"]
PACKAGES = ("sentencepiece", "tiktoken")
NO_TOKENIZER = f"cannot read {TOKENIZER}: the folder has no tokenizer; copy it beside the weights"
MAX_LISTED = 10_000  # tokens in a list, each of which the library compares with all others
MAX_NUMBER = 2**20  # of an added token, or of tokens that a setting adds
PROBE = "How are you, Ångström? Don't  wait:\n12,345 tests — 日本語, naïve ÉTÉ, <b>x</b> A_B 🙂 ﬁn."


@library_errors("cannot read the tokenizer")
def read(folder: Path, config: Any) -> ReadableTokenizer:
    """Read the tokenizer, without padding and truncation; its `notices` say where its ids are not tokenizer.json's.

    Args:
        folder: with the files.
        config: of the model, or of its part that reads text; an object of transformers.

    Raises:
        WeightsFileError: it is missing or damaged.
        Unsupported: it would run code, or needs a package that is not installed.
    """
    settings = _settings(folder)
    kind, code = _kind(settings[SETTINGS], config), settings[SETTINGS].pop("auto_map", None)
    if code and kind is None:
        raise Unsupported(f"{SETTINGS} asks for code of its own (auto_map), which is not run; choose another model")
    notices = (f"The code that {SETTINGS} names is not run: transformers has {kind.__name__} itself.",) if code else ()
    files = [name for name in (TOKENIZER, *NAMES["vocabularies"], *NAMES["packed"]) if (folder / name).exists()]
    for name in files:
        if regular_file(folder, name).stat().st_size > MAX_TOKENIZER_BYTES:
            raise WeightsFileError(f"{name} has more than {MAX_TOKENIZER_BYTES:,} bytes; this is not a vocabulary")
    if TOKENIZER not in files:
        return _readable(_from_library(folder, files, settings, config, kind), notices)
    content = read_json(folder, TOKENIZER, MAX_TOKENIZER_BYTES)
    require_bounded(content)
    try:
        _require_model(kind, content)
        tokenizer = _from_library(folder, files, settings, config, kind)
        _require_model(type(tokenizer), content)
    except HeadlightError as error:
        reason = f"{TOKENIZER} is used alone, as transformers cannot join it with its settings: {error!s:.160}."
        return _readable(read_tokenizer(folder), (*notices, reason))
    return _readable(tokenizer, (*notices, *_differences(folder, tokenizer, content)))


def _is_read(key: str) -> bool:
    return key in NAMES["settings"] or key.endswith(("_token", "_tokens", "_lang")) or key.startswith("do_")


def _settings(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what is read of the files beside the vocabulary, by name of the file; raises as `read`."""
    settings: dict[str, dict[str, Any]] = {}
    for name in (SETTINGS, SPECIAL, ADDED):
        content = read_json(folder, name, MAX_TOKENIZER_BYTES) if (folder / name).exists() else {}
        settings[name] = content if name == ADDED else {key: content[key] for key in content if _is_read(key)}
        for entry, tokens in ({"added_tokens_decoder": content} if name == ADDED else content).items():
            maximum = MAX_ADDED if entry == "added_tokens_decoder" else MAX_LISTED
            if isinstance(tokens, (list, dict)) and len(tokens) > maximum:
                size = f"{len(tokens):,} tokens in one entry, at most {maximum:,}"
                raise WeightsFileError(f"{name} has impossible sizes: {size}")
        added = [int(number) for number in settings[name].get("added_tokens_decoder") or () if str(number).isdecimal()]
        for key, number in [*settings[name].items(), *zip(added, added, strict=True)]:
            if isinstance(number, int) and abs(number) > MAX_NUMBER:
                size = f"{key}={number:,}, at most {MAX_NUMBER:,} is read; correct or delete this entry"
                raise WeightsFileError(f"{name} has impossible sizes: {size}")
        for key in ("vocab_file", "merges_file"):
            if (file := str(content.get(key) or "")) != Path(file).name and not (folder / TOKENIZER).exists():
                raise Unsupported(f"{name} names a file outside the folder ({key}); remove the entry")
        if name == SETTINGS and content.get("auto_map"):
            settings[name]["auto_map"] = content["auto_map"]
    return settings


def _kind(settings: dict[str, Any], config: Any) -> Any:
    """Return the class that settings or config name, or that transformers has for the config; None if it has none."""
    offline.transformers()
    from transformers import PreTrainedTokenizerBase
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING, tokenizer_class_from_name

    names = [settings.get("tokenizer_class"), getattr(config, "tokenizer_class", None)]
    kinds = [tokenizer_class_from_name(str(name)) for name in names if name is not None]
    for kind in kinds:
        stands_in = type(kind).__name__ == "DummyObject"  # for one whose package is missing
        if kind and not stands_in and not (isinstance(kind, type) and issubclass(kind, PreTrainedTokenizerBase)):
            raise Unsupported(f"{SETTINGS} names {kind.__name__}, which is not a tokenizer; mend tokenizer_class")
    return kinds[0] if kinds else TOKENIZER_MAPPING.get(type(config), None)


def _from_library(folder: Path, files: list[str], settings: dict[str, Any], config: Any, kind: Any) -> Any:
    """Return AutoTokenizer's tokenizer for a copy of the files that names no path and no code."""
    from transformers import AutoTokenizer

    vocabularies = {*getattr_static(kind, "vocab_files_names", {}).values()} - {SETTINGS, TOKENIZER}
    if {TOKENIZER, *NAMES["any_class"], *vocabularies}.isdisjoint(files) and (vocabularies or kind is None):
        _require_packages(files)
        raise WeightsFileError(NO_TOKENIZER)
    with TemporaryDirectory() as place:
        for name in files:
            shutil.copyfile(folder / name, Path(place, name))
        described = {key: getattr(config, key, None) for key in ("model_type", "transformers_version")}
        for name, content in (settings | {CONFIG: described}).items():
            if content:
                Path(place, name).write_text(json.dumps(content), "utf-8")
        try:
            return AutoTokenizer.from_pretrained(place, config=config, trust_remote_code=False, local_files_only=True)
        except Exception as error:
            if TOKENIZER not in files:
                _require_packages(files)
            reason = " ".join(str(error).replace(place, folder.name).split())
            if isinstance(error, ImportError):
                raise Unsupported(f"the tokenizer needs a package that is not installed: {reason:.200}") from error
            if TOKENIZER not in files and (lacking := vocabularies - {*files}):
                raise WeightsFileError(f"{NO_TOKENIZER}: it lacks {', '.join(sorted(lacking))}") from error
            raise WeightsFileError(f"cannot read the tokenizer: {type(error).__name__}: {reason:.200}") from error


def _require_model(kind: Any, content: dict[str, Any]) -> None:
    own_model = (content.get("model") or {}).get("type")
    class_model = getattr(getattr_static(kind, "model", None), "__name__", None)
    if None not in (class_model, own_model) and class_model != own_model:
        raise WeightsFileError(f"{kind.__name__} would read its {own_model} as {class_model}")


def _require_packages(files: list[str]) -> None:
    packed = [name for name in files if name in NAMES["packed"]]
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if packed and missing:
        needed = f"{packed[0]} needs {' and '.join(missing)}, the extra [tokenizers] of Headlight"
        raise Unsupported(f"{needed}: pip install {' '.join(missing)}")


def _differences(folder: Path, tokenizer: Any, content: dict[str, Any]) -> list[str]:
    """Return a sentence about each way in which the library's ids are not those of tokenizer.json alone."""
    from tokenizers import AddedToken, Tokenizer

    backend = getattr(tokenizer, "backend_tokenizer", None)
    tokens = [{key: token[key] for key in token if key != "id"} for token in content.get("added_tokens", ())]
    if backend is None:
        alone = read_tokenizer(folder)
    else:  # the parts in the file around the same vocabulary
        empty = {"model": {"type": "WordLevel", "vocab": {}, "unk_token": ""}, "added_tokens": []}
        alone = Tokenizer.from_str(json.dumps(content | empty | {"padding": None, "truncation": None}))
        alone.model = backend.model
        alone.add_tokens([AddedToken(**token) for token in tokens])
    own_tokens, name = {token["content"] for token in tokens}, type(tokenizer).__name__
    added = [text for text in tokenizer.get_added_vocab() if text not in own_tokens and alone.token_to_id(text) is None]
    sentences = [f"{name} and {SETTINGS} add tokens that {TOKENIZER} lacks: {', '.join(added[:3])}."] if added else []
    if _probe(tokenizer) != _probe(alone):
        sentences.append(f"{TOKENIZER} alone would give other tokens than those of {name} and {SETTINGS}.")
    return sentences


def _probe(tokenizer: Any) -> list[int] | None:
    try:
        return ReadableTokenizer(tokenizer, "").encode(PROBE).ids
    except HeadlightError:  # it has no token for what it does not know
        return None


def _readable(tokenizer: Any, notices: tuple[str, ...]) -> ReadableTokenizer:
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(backend, "no_padding"):  # written in Python
        if not tokenizer.vocab_files_names:
            return ReadableTokenizer(tokenizer, "characters" if len(tokenizer) > 2**16 else "latin", notices)
        sample = " ".join(map(str, tokenizer.convert_ids_to_tokens(range(min(500, len(tokenizer))))))
        return ReadableTokenizer(tokenizer, "bytes" if "Ġ" in sample else "▁" if "▁" in sample else "", notices)
    backend.no_padding()
    backend.no_truncation()
    parts = b"".join(part.__getstate__() for part in (backend.pre_tokenizer, backend.decoder) if part is not None)
    spelling = "bytes" if b'"ByteLevel"' in parts else "▁" if "▁".encode() in parts else ""
    return ReadableTokenizer(backend, spelling, notices)
