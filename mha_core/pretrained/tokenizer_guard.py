"""Limits on what a tokenizer.json of a stranger may ask for; its library stops the whole process when memory ends."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from ..errors import WeightsFileError

STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
MAX_PARTS = 200  # of all stages together
MAX_GROWTH = 2**12  # of a text
MAX_TEMPLATE = 1000  # tokens that a template adds
MAX_ADDED = 100_000  # tokens beside the vocabulary, which each take time


def require_bounded(content: Mapping[str, Any]) -> None:
    """Raise a WeightsFileError if a tokenizer.json lets a short text grow without measure."""
    parts = [part for stage in STAGES for part in _parts(content.get(stage))]
    counts = {"parts": (len(parts), MAX_PARTS), "added tokens": (len(content.get("added_tokens") or ()), MAX_ADDED),
              "times the length of a text": (prod(map(_growth, parts)), MAX_GROWTH),
              "tokens of a template": (sum(map(_template, parts)), MAX_TEMPLATE)}  # fmt: skip
    for name, (count, maximum) in counts.items():
        if count > maximum:
            raise WeightsFileError(f"tokenizer.json has impossible sizes: {count:.3g} {name}, at most {maximum:,}")


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the parts of a stage, those in sequences included."""
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _parts(part)
    if isinstance(value, dict) and "type" in value:
        yield value


def _growth(part: dict[str, Any]) -> float:
    """Return by how much a part can lengthen a text."""
    text = len(str(part.get("content") or part.get("prepend") or ""))
    pattern = part.get("pattern")
    match part["type"]:
        case "ByteLevel":
            return 2
        case "Prepend":
            return 1 + text
        case "Replace":
            shortest = len(str(pattern.get("String") or "")) if isinstance(pattern, dict) else 0
            return max(1, text / shortest) if shortest else 1 + text
        case "TemplateProcessing":
            return max(1, str(part.get("single")).count("'Sequence'"))
        case "Precompiled":
            table = base64.b64decode(str(part.get("precompiled_charsmap") or ""))
            size = 4 + int.from_bytes(table[:4], "little")
            return max(map(len, table[size:].split(b"\0"))) if size <= len(table) else float("inf")
    return 1


def _template(part: dict[str, Any]) -> int:
    if part["type"] != "TemplateProcessing":
        return 0
    n_ids = max((len(token["ids"]) for token in (part.get("special_tokens") or {}).values()), default=0)
    return n_ids * (len(part["single"]) + len(part["pair"]))
