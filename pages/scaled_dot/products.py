"""Batched matrix products as the loops that they stand for: A Aᵀ by @, and one matrix at a time."""

import inspect
import math
from dataclasses import dataclass

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.queue.places import turn
from headlight.queue.single_flight import shared
from headlight.ui import sheet
from headlight.ui.numbers import count, difference, number, whole
from headlight.ui.sheet import Block
from mha_core.errors import SizeError
from mha_core.measure.measures import largest_difference

from .case import MOST_NUMBERS, MOST_STEPS, first

AXES = (3, 4)
MOST_PRODUCTS = 256  # matrix products in the loops
CASES = {"(3, 10, 256)": "3, 10, 256", "(3, 2, 10, 256)": "3, 2, 10, 256"}


def one_loop(a: Tensor) -> Tensor:
    """a (b, i, d) -> a aᵀ (b, i, i): a matrix product for each of b."""
    b, i, _ = a.shape
    product = a.new_empty(b, i, i)
    for n in range(b):
        product[n] = a[n] @ a[n].T
    return product


def two_loops(a: Tensor) -> Tensor:
    """a (b, h, i, d) -> a aᵀ (b, h, i, i): a matrix product for each of b and each of h."""
    b, h, i, _ = a.shape
    product = a.new_empty(b, h, i, i)
    for n in range(b):
        for head in range(h):
            product[n, head] = a[n, head] @ a[n, head].T
    return product


LOOPS = {3: one_loop, 4: two_loops}


@dataclass(frozen=True)
class Product:
    """A Aᵀ of random numbers.

    Attributes:
        shape, result: of A, and of the product.
        apart: the largest difference between @ and the loops; asymmetry: between the product and its transpose.
        diagonal: its mean, the mean squared length of a row of A.
        matrix: the first one, cut to what is shown.
    """

    shape: tuple[int, ...]
    result: tuple[int, ...]
    apart: float
    asymmetry: float
    diagonal: float
    matrix: list[list[float]]


@shared(LRUCache(64))
def product(shape: tuple[int, ...], seed: int) -> Product:
    """A of this shape, standard normal, times its transpose. Raises a SizeError when it is too large."""
    *leading, i, d = shape
    many = math.prod(leading)
    numbers, steps = many * i * max(i, d), many * i * i * d
    for found, most, what in (
        (many, MOST_PRODUCTS, "matrix products"),
        (numbers, MOST_NUMBERS, "numbers in a tensor"),
        (steps, MOST_STEPS, "multiplications"),
    ):
        if found > most:
            raise SizeError(f"{found:,} {what}, at most {most:,} here; choose smaller sizes")
    with turn(), torch.no_grad():
        a = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
        whole_product = a @ a.mT
        loops = LOOPS[len(shape)](a)
    return Product(
        shape,
        tuple(whole_product.shape),
        largest_difference(whole_product, loops),
        largest_difference(whole_product, whole_product.mT),
        float(whole_product.diagonal(dim1=-2, dim2=-1).mean()),
        first(whole_product),
    )


def panel(made: Product) -> Block:
    """The product beside the loops that it stands for, and its first matrix."""
    *leading, i, d = made.shape
    loops = ("one loop", "two loops, one in the other")[len(leading) - 1]
    many = math.prod(leading)
    told = (
        f"A is {made.shape}. A.mT swaps the last two axes. @ multiplies the last two axes as matrices, "
        f"({i}, {d}) by ({d}, {i}), and repeats that for every index before them: {loops}, {count(many, 'product')}. "
        f"The result is {made.result}; largest difference to the loops: {difference(made.apart)}."
    )
    pairs = (
        "Row n meets row m as row m meets row n, so each matrix is symmetric; largest difference to its transpose: "
        f"{difference(made.asymmetry)}. On the diagonal each row meets itself: {number(made.diagonal, 1)} on average, "
        f"about d = {whole(d)}, as {whole(d)} squares of standard normal numbers are added."
    )
    side = len(made.matrix)
    labels = [str(place) for place in range(side)]
    cut = f"rows and columns 0 to {side - 1} of {i}" if side < i else ""
    index = ", ".join("0" for _ in leading)
    matrix = sheet.matrix(
        f"(A Aᵀ)[{index}]",
        made.matrix,
        rows=labels,
        cols=labels,
        axes="",
        decimals=1,
        colour="signed",
        compact=True,
        note=cut,
    )
    return sheet.panel("What @ does", [sheet.text(told), sheet.row([matrix, sheet.text(pairs)])])


def source(shape: tuple[int, ...]) -> str:
    return inspect.getsource(LOOPS[len(shape)]).rstrip()
