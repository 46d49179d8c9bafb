"""Messages to the browser's views as bytes: all maps as uint8, the maps in focus and the memory of a trace as float32.

How a message is written, mha_core/show/packing.py says. Equal pictures give equal bytes, so that an unchanged one is
not sent again.
"""

from collections.abc import Iterable, Sequence
from typing import TypedDict

import torch
from torch import Tensor

from mha_core.show.packing import as_bytes, headed, pack

ALL_LAYERS_UP_TO = 128  # tokens
MAX_WHOLE_WEIGHTS = 72 * 128**2  # weights: of MiniLM those of that many tokens, of SmolLM2 of 66
THUMBNAIL = 128  # cells that one has at most
MEMORY_BYTES = 6 * 2**20


class Memory(TypedDict):
    """Where the tensors of a trace lie in what follows."""

    pieces: list[int]  # their lengths
    places: list[tuple[int, int]]  # of each tensor: its piece, and its offset in it


def pack_maps(
    weights: Tensor,
    tokens: Sequence[str],
    digest: str,
    layer: int,
    ends: tuple[int, int] = (0, 0),
    columns: Sequence[str] | None = None,
    *,
    alone: bool = False,
) -> bytes:
    """All maps (layers, h, i, j) as uint8, round(255 · weight); the error is at most 1/510.

    Of what does not go whole, only `layer` does, and every map as a thumbnail: each cell the largest of a block. `ends`
    are the model's own tokens at both ends, and `columns` what the tokens look at, as in `Run`. `alone`: the maps of
    that layer go and no others.
    """
    if goes_whole(weights) and not alone:
        return pack(headed(weights, tokens, digest, ends, range(len(weights)), 0, columns), as_bytes(weights))
    small = [] if alone else [thumbnails(weights)]
    header = headed(weights, tokens, digest, ends, [layer], small[0].shape[-2] if small else 0, columns)
    return pack(header, *map(as_bytes, [weights[layer : layer + 1], *small]))


def thumbnails(weights: Tensor) -> Tensor:
    """The largest weight of each block of k × k cells, with the smallest k that leaves at most `THUMBNAIL` of either.

    (layers, h, i, j) -> (layers, h, ceil(i / k), ceil(j / k)); the last blocks are what is left. It is
    `max_pool2d(k, ceil_mode=True)`, which takes many times as long: here the rows come first, which lie in memory.
    """
    step = -(-max(weights.shape[-2:]) // THUMBNAIL)
    return _largest(_largest(weights, step).mT, step).mT


def _largest(maps: Tensor, step: int) -> Tensor:
    """The largest of every `step` rows that follow each other: (…, i, j) -> (…, ceil(i / step), j)."""
    even = maps.shape[-2] - maps.shape[-2] % step
    largest = maps[..., :even, :].view(*maps.shape[:-2], -1, step, maps.shape[-1]).amax(-2)
    rest = maps[..., even:, :]
    return torch.cat((largest, rest.amax(-2, keepdim=True)), -2) if rest.shape[-2] else largest


def goes_whole(weights: Tensor) -> bool:
    """Tells whether maps (layers, h, i, j) are few and small enough to be sent all at once."""
    return max(weights.shape[-2:]) <= ALL_LAYERS_UP_TO and weights.numel() <= MAX_WHOLE_WEIGHTS


def in_memory(
    values: Sequence[Tensor], wanted: Sequence[int], *, most: int | None = None
) -> tuple[Memory, Iterable[Tensor]]:
    """A trace as its memory: the pieces that tensors share, each once, and where each tensor lies in them.

    When all of it is more than `most` bytes of float32, by default `MEMORY_BYTES`, only the pieces of the `wanted`
    tensors go, and of those none above `MEMORY_BYTES`; the others have length 0.
    """
    pieces: dict[int, Tensor] = {}
    for value in values:
        storage = value.untyped_storage()
        pieces.setdefault(storage.data_ptr(), torch.empty(0, dtype=value.dtype, device=value.device).set_(storage))
    order = list(pieces)
    places = [(order.index(v.untyped_storage().data_ptr()), int(v.storage_offset())) for v in values]
    if sum(4 * piece.numel() for piece in pieces.values()) > (MEMORY_BYTES if most is None else most):
        keep = {values[n].untyped_storage().data_ptr() for n in wanted}
        for place, piece in pieces.items():
            if place not in keep or 4 * piece.numel() > MEMORY_BYTES:
                pieces[place] = piece[:0]
    return {"pieces": [piece.numel() for piece in pieces.values()], "places": places}, pieces.values()
