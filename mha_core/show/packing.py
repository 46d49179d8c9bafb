"""Messages to what draws in a browser: a JSON header, then values as bytes. Equal contents give equal bytes.

All start with the length of the header (uint32, little endian), then the header, padded with spaces so that the values
begin at a multiple of 4.
"""

import json
import struct
from typing import Any

import torch
from torch import Tensor


def pack(header: dict[str, Any], *bodies: bytes) -> bytes:
    """A message: the header's length, the header, and the values one after another."""
    # escaped to ASCII: one character is one byte, and half a surrogate pair does not fail
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 4)
    return b"".join((struct.pack("<I", len(text)), text, *bodies))


def pack_focus(header: dict[str, Any], *maps: Tensor) -> bytes:
    """The header and float32 maps (i, j) one after another; their sizes belong in the header."""
    return pack(header, *(part.float().cpu().contiguous().numpy().tobytes() for part in maps))


def pack_parts(*messages: bytes) -> bytes:
    """Several messages as one. The last one may have any length, those before it a multiple of 4."""
    return pack({"parts": [len(message) for message in messages]}, *messages)


def as_bytes(weights: Tensor) -> bytes:
    """Weights as uint8, round(255 · weight); the error is at most 1/510."""
    return (weights * 255).round_().to(torch.uint8).cpu().numpy().tobytes()
