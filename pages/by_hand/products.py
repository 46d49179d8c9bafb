"""Batched matrix products as explicit loops: A Aᵀ by @, and one matrix at a time."""

import inspect
import math

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.ui import sheet
from headlight.ui.numbers import count, difference, integer, number
from headlight.ui.sheet import Block
from mha_core.measure.measures import largest_difference

from .scaled_dot import MAX_SHOWN, check_amounts, first_matrix

AXES = (3, 4)
CASES = {"(3, 10, 256)": "3, 10, 256", "(3, 2, 10, 256)": "3, 2, 10, 256"}


def one_loop(a: Tensor) -> Tensor:
    """Multiply a (b, i, d) by its transpose, one product for each b: (b, i, i)."""
    b, i, _ = a.shape
    product = a.new_empty(b, i, i)
    for n in range(b):
        product[n] = a[n] @ a[n].T
    return product


def two_loops(a: Tensor) -> Tensor:
    """Multiply a (b, h, i, d) by its transpose, one product for each b and h: (b, h, i, i)."""
    b, h, i, _ = a.shape
    product = a.new_empty(b, h, i, i)
    for n in range(b):
        for head in range(h):
            product[n, head] = a[n, head] @ a[n, head].T
    return product


LOOPS = {3: one_loop, 4: two_loops}


@single_flight(LRUCache(64))
def blocks(shape: tuple[int, ...], seed: int) -> list[Block]:
    """Return A Aᵀ for a standard normal A of this shape: by @, by loops, and its first matrix.

    Raises:
        SizeError: the product is too large.
    """
    *leading, i, d = shape
    batch = math.prod(leading)
    check_amounts(batch * i * max(i, d), batch * i * i * d, batch)
    with pass_slot(), torch.no_grad():
        a = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
        product = a @ a.mT
        error = largest_difference(product, LOOPS[len(shape)](a))
    loops = ("one loop", "two nested loops")[len(leading) - 1]
    explanation = (
        f"A is {shape}. A.mT swaps the last two axes. @ multiplies the last two axes as matrices, "
        f"({i}, {d}) by ({d}, {i}), and repeats that for every index before them: {loops}, {count(batch, 'product')}. "
        f"The result is {tuple(product.shape)}; largest difference from the loops: {difference(error)}."
    )
    pairs = (
        "The product of row n with row m equals that of row m with row n, so each matrix is symmetric; largest "
        f"difference from its transpose: {difference(largest_difference(product, product.mT))}. On the diagonal each "
        f"row is multiplied by itself: {number(float(product.diagonal(dim1=-2, dim2=-1).mean()), 1)} on average, about "
        f"d = {integer(d)}, as {integer(d)} squares of standard normal numbers are added."
    )
    labels = [str(place) for place in range(min(i, MAX_SHOWN))]
    cut = f"rows and columns 0 to {MAX_SHOWN - 1} of {i}" if i > MAX_SHOWN else ""
    name = f"(A Aᵀ)[{', '.join('0' for _ in leading)}]"
    style = {"axes": "", "decimals": 1, "colour": "signed", "compact": True, "note": cut}
    matrix = sheet.matrix(name, first_matrix(product), rows=labels, cols=labels, **style)  # type: ignore[arg-type]
    text = ", ".join(map(str, shape))
    choices = [(case, {"product": case_text}, case_text == text) for case, case_text in CASES.items()]
    source = sheet.code(inspect.getsource(LOOPS[len(shape)]).splitlines())
    return [
        sheet.title("A product of batches is a loop", "three axes make one loop, four axes two"),
        sheet.buttons("Shapes of A", choices),
        sheet.panel("What @ does", [sheet.text(explanation), sheet.row([matrix, sheet.text(pairs)]), source]),
    ]
