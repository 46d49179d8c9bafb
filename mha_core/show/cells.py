"""Cells of a map as compact text, in the format that the browser reads and writes (assets/web/link/painted.js)."""

import string

import torch
from torch import Tensor

DIGITS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"  # base64 as in links
POWERS = torch.tensor([32, 16, 8, 4, 2, 1])


def write_cells(cells: Tensor) -> str:
    """Encode the True cells of a bool tensor, in reading order, as text; "" for none.

    The shorter of two forms: "r" and the run lengths, False first and the last one left out, five bits per character
    with 32 as the continuation flag; or "b" and the bits, six per character, without trailing zeros.
    """
    flat = cells.flatten().cpu()
    if not bool(flat.any()):
        return ""
    edges = (torch.nonzero(flat[1:] != flat[:-1]).flatten() + 1).tolist()
    edges = [0, *edges] if bool(flat[0]) else edges
    sixes = torch.nn.functional.pad(flat.int(), (0, -len(flat) % 6)).view(-1, 6)
    bits = "b" + "".join(DIGITS[value] for value in (sixes * POWERS).sum(dim=1).tolist()).rstrip("A")
    if len(edges) >= len(bits):  # every run takes a character at least
        return bits
    runs = "r" + "".join(_digits(edge - previous) for previous, edge in zip([0, *edges], edges, strict=False))
    return runs if len(runs) <= len(bits) else bits


def _digits(length: int) -> str:
    """Encode a run length, its lowest five bits first."""
    return DIGITS[length] if length < 32 else DIGITS[32 + length % 32] + _digits(length // 32)
