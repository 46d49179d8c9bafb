"""The two messages of the map view, as bytes: all maps as uint8, and the maps in focus as float32.

Both start with the length of a JSON header (uint32, little endian), then the header, padded with spaces so that the
values begin at a multiple of 4. Equal pictures give equal bytes, so that an unchanged one is not sent again.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["ALL_LAYERS_UP_TO", "THUMBNAIL", "pack_focus", "pack_maps"]

ALL_LAYERS_UP_TO = 256
THUMBNAIL = 128


def pack_maps(weights: Tensor, tokens: Sequence[str], digest: str, layer: int) -> bytes:
    """All maps (layers, h, i, j) as uint8, round(255 · weight); the error is at most 1/510.

    Above `ALL_LAYERS_UP_TO` tokens only `layer` goes whole, and every map as a thumbnail: each pixel the largest of
    its cells.
    """
    layers, heads, n, _ = weights.shape
    whole = n <= ALL_LAYERS_UP_TO
    parts = [weights if whole else weights[layer : layer + 1]]
    if not whole:
        parts.append(torch.nn.functional.adaptive_max_pool2d(weights, THUMBNAIL))
    header = {
        "digest": digest,
        "tokens": list(tokens),
        "layers": layers,
        "heads": heads,
        "whole": list(range(layers)) if whole else [layer],
        "thumbnail": 0 if whole else THUMBNAIL,
    }
    return _packed(header, *(_bytes_of_weights(part) for part in parts))


def pack_focus(header: dict[str, Any], *maps: Tensor) -> bytes:
    """The state of the view and float32 maps (i, j) one after another; their sizes belong in the header."""
    return _packed(header, *(part.float().cpu().contiguous().numpy().tobytes() for part in maps))


def _bytes_of_weights(weights: Tensor) -> bytes:
    return (weights * 255).round_().to(torch.uint8).cpu().numpy().tobytes()


def _packed(header: dict[str, Any], *bodies: bytes) -> bytes:
    # escaped to ASCII: one character is one byte, and half a surrogate pair does not fail
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 4)
    return b"".join((struct.pack("<I", len(text)), text, *bodies))
