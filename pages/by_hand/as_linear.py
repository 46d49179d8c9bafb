"""The stacked weights as nn.Linear keeps them, (out, in), and how many projections a layer needs with and without."""

import torch
from torch import nn
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS
from mha_core.attention import AttentionLayer
from pages.kit.draw import sheet
from pages.kit.draw.numbers import difference
from pages.kit.draw.sheet import Block

from . import panels
from .panels import FOUR, TWO
from .workbook import TOKENS, Workbook

N_HEADS, WIDTH = 2, 4
SPELLINGS = ("naive", "efficient", "fused")


def panel(book: Workbook) -> Block:
    """Both heads' W one under the other, x Wᵀ as nn.Linear computes it, and the count of projections."""
    x, own = book["x4"], [book[f"w{head}"].T for head in range(N_HEADS)]
    stacked = torch.cat(own)
    product = F.linear(x, stacked)
    apart = torch.cat([F.linear(x, one) for one in own], dim=1)
    largest = float((product - apart).abs().max())
    parts = [panels.computed(f"W{head}", one, TWO, FOUR, "d c", "⟨out, in⟩") for head, one in enumerate(own)]
    chain = sheet.chain(
        [
            panels.computed("x", x, TOKENS, FOUR, "i c"),
            panels.computed("Wᵀ", stacked.T, FOUR, FOUR, "c c"),
            panels.computed("x Wᵀ", product, TOKENS, FOUR, "i c"),
        ],
        ["·", "="],
    )
    both = panels.computed("W0 over W1", stacked, FOUR, FOUR, "c c", "⟨out, in⟩")
    told = (
        "nn.Linear keeps its matrix transposed, ⟨out, in⟩, and computes x Wᵀ. So heads that stand side by side above "
        "lie one under the other in it. Largest difference between this product and nn.Linear head by head: "
        f"{difference(largest)}."
    )
    return sheet.panel(
        "The same matrix in nn.Linear",
        [sheet.text(told), sheet.row([*parts, both]), chain, *projections()],
        "a row for each output, a column for each input",
    )


def projections() -> list[Block]:
    """How many matrices make q, k and v, counted in layers of this size, and what that is in numbers."""
    rows, counts, sizes = [], [], set()
    for name in SPELLINGS:
        shapes = projecting(IMPLEMENTATIONS[name](WIDTH, N_HEADS, bias=False))
        size = sum(out * width for out, width in shapes)
        out, width = shapes[0]
        counts.append(len(shapes))
        sizes.add(size)
        rows.append([name, str(len(shapes)), f"⟨{out}, {width}⟩", str(size)])
    told = (
        f"With {N_HEADS} heads, {counts[0]} projections become {counts[1]}, and with q, k and v in one matrix too "
        f"{counts[2]}{': the same numbers in fewer products' if len(sizes) == 1 else ''}."
    )
    caption = f"Matrices that make q, k and v in a layer of width {WIDTH} with {N_HEADS} heads"
    return [sheet.text(told), sheet.table(["implementation", "projections", "each", "numbers in all"], rows, caption)]


def projecting(layer: AttentionLayer) -> list[tuple[int, int]]:
    """(out, in) of every Linear of a layer but the last one, which projects what the heads have mixed."""
    linears = [(name, one) for name, one in layer.named_modules() if isinstance(one, nn.Linear) and name != "out"]
    return [(one.out_features, one.in_features) for _, one in linears]
