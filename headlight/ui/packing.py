"""Binary messages to the browser: maps as uint8, the map in focus and traced tensors as float32.

mha_core/show/packing.py defines the format. Equal pictures give equal bytes, so that an unchanged one is not sent
again.
"""

from collections.abc import Iterable, Sequence
from typing import TypedDict

import torch
from torch import Tensor

from mha_core.show.packing import as_bytes, maps_header, pack

ALL_LAYERS_UP_TO = 128  # tokens
MAX_WHOLE_WEIGHTS = 72 * 128**2  # those of MiniLM for 128 tokens, of SmolLM2 for 66
THUMBNAIL = 128  # largest side, in cells
MEMORY_BYTES = 6 * 2**20


class Memory(TypedDict):
    """Memory layout of the tensors of a trace, whose bytes follow it."""

    pieces: list[int]  # lengths of the pieces
    places: list[tuple[int, int]]  # piece of each tensor, and its offset in the piece


def pack_maps(
    weights: Tensor,
    tokens: Sequence[str],
    digest: str,
    layer: int,
    ends: tuple[int, int] = (0, 0),
    columns: Sequence[str] | None = None,
    *,
    single_layer: bool = False,
) -> bytes:
    """Pack the maps (layers, h, i, j) as uint8, round(255 · weight), with an error of at most 1/510.

    Large maps are sent of `layer` only, with a thumbnail of every map; with `single_layer` that layer alone is sent.
    `ends`, the numbers of special tokens at both ends, and `columns`, the keys, are as in `Run`.
    """
    if is_sent_whole(weights) and not single_layer:
        return pack(maps_header(weights, tokens, digest, ends, range(len(weights)), 0, columns), as_bytes(weights))
    small = [] if single_layer else [thumbnails(weights)]
    header = maps_header(weights, tokens, digest, ends, [layer], small[0].shape[-2] if small else 0, columns)
    return pack(header, *map(as_bytes, [weights[layer : layer + 1], *small]))


def thumbnails(weights: Tensor) -> Tensor:
    """Return the maximum of each k × k block, with the smallest k that leaves at most `THUMBNAIL` cells a side.

    (layers, h, i, j) -> (layers, h, ceil(i / k), ceil(j / k)); the last blocks may be smaller. It equals `max_pool2d(k,
    ceil_mode=True)`, which is many times slower: here the rows, contiguous in memory, come first.
    """
    step = -(-max(weights.shape[-2:]) // THUMBNAIL)
    return _block_max(_block_max(weights, step).mT, step).mT


def _block_max(maps: Tensor, step: int) -> Tensor:
    """Return the maximum of every `step` consecutive rows: (…, i, j) -> (…, ceil(i / step), j)."""
    even = maps.shape[-2] - maps.shape[-2] % step
    maxima = maps[..., :even, :].view(*maps.shape[:-2], -1, step, maps.shape[-1]).amax(-2)
    rest = maps[..., even:, :]
    return torch.cat((maxima, rest.amax(-2, keepdim=True)), -2) if rest.shape[-2] else maxima


def is_sent_whole(weights: Tensor) -> bool:
    """Return whether maps (layers, h, i, j) are small enough to send all layers."""
    return max(weights.shape[-2:]) <= ALL_LAYERS_UP_TO and weights.numel() <= MAX_WHOLE_WEIGHTS


def memory_layout(
    values: Sequence[Tensor], indices: Sequence[int], *, max_bytes: int | None = None
) -> tuple[Memory, Iterable[Tensor]]:
    """Return the memory layout of a trace and its pieces; storage that tensors share is one piece.

    Beyond a limit, only the pieces of the selected tensors are sent, and of those none above `MEMORY_BYTES`; the others
    have length 0. `max_bytes` limits all pieces as float32, by default to `MEMORY_BYTES`.
    """
    pieces: dict[int, Tensor] = {}
    for value in values:
        storage = value.untyped_storage()
        pieces.setdefault(storage.data_ptr(), torch.empty(0, dtype=value.dtype, device=value.device).set_(storage))
    order = list(pieces)
    places = [(order.index(v.untyped_storage().data_ptr()), int(v.storage_offset())) for v in values]
    if sum(4 * piece.numel() for piece in pieces.values()) > (MEMORY_BYTES if max_bytes is None else max_bytes):
        keep = {values[n].untyped_storage().data_ptr() for n in indices}
        for place, piece in pieces.items():
            if place not in keep or 4 * piece.numel() > MEMORY_BYTES:
                pieces[place] = piece[:0]
    return {"pieces": [piece.numel() for piece in pieces.values()], "places": places}, pieces.values()
