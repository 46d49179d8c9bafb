"""Binary messages for the views in the browser: a JSON header, then values. Equal contents give equal bytes.

A message starts with the length of the header (uint32, little endian), then the header, padded with spaces so that the
values begin at a multiple of 4.
"""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

import torch
from torch import Tensor


class Maps(TypedDict):
    """Header of all maps of a picture, which follow as bytes."""

    digest: str
    tokens: list[str]  # a row of each map each
    columns: list[str] | None  # what they look at, where that is others than themselves
    ends: tuple[int, int]  # of the tokens in front and behind, how many are the model's own: [CLS], [SEP]
    layers: int
    heads: int
    fullLayers: list[int]  # the layers whose maps follow whole
    thumbnail: int  # rows of the small maps of all heads; 0 = all layers are whole


def maps_header(
    weights: Tensor,
    tokens: Sequence[str],
    digest: str,
    ends: tuple[int, int],
    full_layers: Iterable[int],
    thumbnail: int = 0,
    columns: Sequence[str] | None = None,
) -> Maps:
    """Return the header for maps (layers, h, i, j)."""
    layers, heads = weights.shape[:2]
    return Maps(
        digest=digest,
        tokens=list(tokens),
        columns=None if columns is None else list(columns),
        ends=ends,
        layers=layers,
        heads=heads,
        fullLayers=list(full_layers),
        thumbnail=thumbnail,
    )


def pack(header: Mapping[str, object], *bodies: bytes) -> bytes:
    """Pack a message: the header's length, the header, and the values."""
    # escaped to ASCII: one character is one byte, and half a surrogate pair does not fail
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 4)
    return b"".join((struct.pack("<I", len(text)), text, *bodies))


def pack_focus(header: Mapping[str, object], *maps: Tensor) -> bytes:
    """Pack a header and float32 maps (i, j); the header holds their sizes."""
    return pack(header, *(part.float().cpu().contiguous().numpy().tobytes() for part in maps))


def pack_parts(*messages: bytes) -> bytes:
    """Pack several messages as one; the length of all but the last must be a multiple of 4."""
    return pack({"parts": [len(message) for message in messages]}, *messages)


def as_bytes(weights: Tensor) -> bytes:
    """Return weights as uint8, round(255 · weight); the error is at most 1/510."""
    return (weights * 255).round_().to(torch.uint8).cpu().numpy().tobytes()
