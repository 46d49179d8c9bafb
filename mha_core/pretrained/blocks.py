"""Number formats of a GGUF file, made into float32: blocks of 32 small whole numbers that share a scale.

A format is one entry of `FORMATS`: its number in the file -> its name, how many values a block holds in how many bytes,
and the function that unpacks blocks. Layouts: ggml's own `ggml-common.h`, where `ggml_half` is a float16.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Format(NamedTuple):
    """One number format. `unpack` takes blocks uint8 (n, block_bytes) and gives float32 (n, values)."""

    name: str
    values: int
    block_bytes: int
    unpack: Callable[[Tensor], Tensor]


def _f32(blocks: Tensor) -> Tensor:
    """Plain numbers; copied, so that nothing hangs on the file."""
    return blocks.clone().view(torch.float32)


def _q8_0(blocks: Tensor) -> Tensor:
    """A scale d, then 32 bytes with a sign: d q."""
    return blocks[:, 2:].view(torch.int8).to(torch.float32).mul_(_half(blocks, 0))


def _q4_1(blocks: Tensor) -> Tensor:
    """A scale d, the smallest value m, then 16 bytes: d q + m. Low halves are values 0 to 15, high halves 16 to 31."""
    packed = blocks[:, 4:].contiguous()
    values = torch.stack((packed & 15, packed >> 4), dim=1).to(torch.float32).view(-1, 32)
    # two roundings, as in every other reader: one fused product and sum would differ in the last digit
    return values.mul_(_half(blocks, 0)).add_(_half(blocks, 2))


def _half(blocks: Tensor, start: int) -> Tensor:
    """The float16 that begins at that byte of each block, as float32 (n, 1)."""
    return blocks[:, start : start + 2].contiguous().view(torch.float16).to(torch.float32)


FORMATS = {
    0: Format("F32", 1, 4, _f32),
    3: Format("Q4_1", 32, 20, _q4_1),
    8: Format("Q8_0", 32, 34, _q8_0),
}
