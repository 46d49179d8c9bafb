"""The worked examples of By hand as blocks: every step, computed from the workbook."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from headlight.ui import paper, sheet
from headlight.ui.numbers import difference
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS
from mha_core.measure.by_hand import Stages, softmax_steps

from . import panels, remarks
from .panels import FOUR, TWO
from .workbook import SIZES, TOKENS, Workbook, defaults, distinct

_EDITABLE = "every framed number can be changed; rows and columns are counted from 0"
N_HEADS, WIDTH = 2, 4
SPELLINGS = ("naive", "efficient", "fused")


def attended(book: Workbook) -> tuple[dict[str, Tensor], Stages]:
    """q, k, v and the scores of the first example, and its softmax: of x itself where the scores are given."""
    x = book["x"]
    q, k, v = (x @ book[f"w{name}"] for name in "qkv") if book.products else (x, x, x)
    scores = q @ k.T if book.products else book["s"]
    done = softmax_steps(scores, v, allow=book.allow("a"), divisor=book.divisor(2))
    return {"q": q, "k": k, "v": v, "scores": scores}, done


def one_head(book: Workbook) -> list[Block]:
    """Three words, two numbers each, one head."""
    x = book.block("x", "x", TOKENS, TWO, "i c", "Three made-up word vectors.")
    made, done = attended(book)
    if not book.products:
        note = "Chosen by hand, not computed from x." if book.matrices["s"] == defaults()["s"] else ""
        inputs = [x, book.block("s", "scores", TOKENS, TOKENS, "i j", note)]
        between = []
    else:
        inputs = [sheet.row([x, *panels.projections(book, "")]) | {"chain": True}]
        projected = sheet.panel("Queries, keys, values", [panels.projected(made["q"], made["k"], made["v"])])
        between = [sheet.row([projected, panels.scores(made["q"], made["k"], made["scores"], TOKENS, TOKENS)])]
    said = remarks.of_map(done, book.allow("a"), TOKENS)
    start = sheet.row([sheet.panel("Inputs", [sheet.row(inputs)], _EDITABLE), panels.mask(book, "a", TOKENS, TOKENS)])
    v_is = "x Wv" if book.products else "x itself"
    output = panels.softmax_and_output(book, done, made["v"], TOKENS, TOKENS, said, v_is)
    return [start, *between, *output, panels.formula(book, [paper.attention(3, 3, 2, 2)])]


def two_sentences(book: Workbook) -> list[Block]:
    """Queries from one sentence, keys and values from another: the map need not be square."""
    if not (book.queries and book.keys):
        return [sheet.notices(["Type at least one word for the queries and one for the keys."])]
    words = distinct(book.queries, book.keys)
    q = book["e"][[words.index(word) for word in book.queries]]
    k = book["e"][[words.index(word) for word in book.keys]]
    done = softmax_steps(q @ k.T, k, allow=book.allow("a2"), divisor=book.divisor(2))
    note = "A word has the same row in both sentences. Nothing is projected here: q = x, and k = v = the other x."
    said = remarks.of_map(done, book.allow("a2"), book.queries, same=False)
    return [
        sheet.row(
            [
                sheet.panel("Embeddings", [book.block("e", "x", words, TWO, "v c", note)], _EDITABLE),
                panels.mask(book, "a2", book.queries, book.keys),
            ]
        ),
        panels.scores(q, k, q @ k.T, book.queries, book.keys),
        *panels.softmax_and_output(book, done, k, book.queries, book.keys, said, "x of the keys"),
        panels.formula(book, [paper.attention(len(book.queries), len(book.keys), 2, 2)]),
    ]


def two_heads(book: Workbook) -> list[Block]:
    """Four numbers a word, two heads of two: by hand head by head, and by the app's own layer."""
    x, allow = book["x4"], book.allow("a4")
    w = {name: [book[f"w{name}{head}"] for head in range(2)] for name in "qkv"}
    heads = []
    for q, k, v in zip(*([x @ weight for weight in w[name]] for name in "qkv"), strict=True):
        heads.append((q, k, v, softmax_steps(q @ k.T, v, allow=allow, divisor=book.divisor(2))))
    joined = torch.cat([done.mixed for *_, done in heads], dim=1)
    out = joined @ book["wo"]
    inputs = book.block("x4", "x", TOKENS, FOUR, "i c")
    said = [
        *remarks.empty_rows(allow, TOKENS),
        *remarks.not_itself(allow, TOKENS),
        remarks.against_the_layer(book, w, out),
    ]
    return [
        sheet.row(
            [
                sheet.panel("Inputs", [book.presets("x4", SIZES, "Inputs"), inputs], _EDITABLE),
                panels.mask(book, "a4", TOKENS, TOKENS),
            ]
        ),
        panels.division(book, [done for *_, done in heads]),
        sheet.row([panels.head(book, head, *parts) for head, parts in enumerate(heads)], even=True),
        sheet.panel(
            "Concatenated and projected",
            [
                sheet.chain(
                    [
                        panels.computed("joined", joined, TOKENS, FOUR, "i c", "head 0, then head 1"),
                        book.block("wo", "Wo", FOUR, FOUR, "c c"),
                        panels.computed("out", out, TOKENS, FOUR, "i c", "joined Wo"),
                    ],
                    ["·", "="],
                )
            ],
        ),
        *map(sheet.text, said),
        panels.formula(book, [paper.multi_head(3, 2, 4), paper.attention(3, 3, 2, 2, (2,))]),
    ]


def stacked(book: Workbook) -> list[Block]:
    """Two heads' matrices side by side are one matrix: one product instead of two."""
    x, w = book["x4"], [book["w0"], book["w1"]]
    both = torch.cat(w, dim=1)
    apart = [x @ weight for weight in w]
    together = x @ both
    largest = float((torch.cat(apart, dim=1) - together).abs().max())
    fields = [book.block(f"w{head}", f"W of head {head}", FOUR, TWO, "c d") for head in range(2)]
    inputs = sheet.row([book.block("x4", "x", TOKENS, FOUR, "i c"), *fields])
    factors = [
        panels.computed("x", x, TOKENS, FOUR, "i c"),
        panels.computed("both", both, FOUR, FOUR, "c c", "side by side"),
    ]
    product = panels.computed("product", together, TOKENS, FOUR, "i c", "x · both")
    told = f"Largest difference between this product and the two joined: {difference(largest)}."
    return [
        sheet.panel("Two heads, a matrix each", [book.presets("x4", SIZES, "Inputs"), inputs], _EDITABLE),
        sheet.panel(
            "One product a head",
            [
                sheet.row(
                    [
                        panels.computed(f"head {head}", made, TOKENS, TWO, "i d", f"x · W of head {head}")
                        for head, made in enumerate(apart)
                    ]
                )
            ],
        ),
        sheet.panel("One product for both", [sheet.chain([*factors, product], ["·", "="]), sheet.text(told)]),
        as_linear(book),
    ]


def as_linear(book: Workbook) -> Block:
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
        "nn.Linear keeps its matrix transposed, ⟨out, in⟩, and computes x Wᵀ. So heads that are side by side above are "
        "stacked in it. Largest difference between this product and nn.Linear head by head: "
        f"{difference(largest)}."
    )
    return sheet.panel(
        "The same matrix in nn.Linear",
        [sheet.text(told), sheet.row([*parts, both]), chain, *_projections()],
        "a row for each output, a column for each input",
    )


def _projections() -> list[Block]:
    """How many matrices make q, k and v, counted in layers of this size, and what that is in numbers."""
    rows, counts, sizes = [], [], set()
    for name in SPELLINGS:
        parts = IMPLEMENTATIONS[name](WIDTH, N_HEADS, bias=False).named_modules()
        # but for the last Linear, which projects what the heads have mixed
        weights = [one.weight for part, one in parts if isinstance(one, nn.Linear) and part != "out"]
        size, (out, width) = sum(one.numel() for one in weights), weights[0].shape
        counts.append(len(weights))
        sizes.add(size)
        rows.append([name, str(len(weights)), f"⟨{out}, {width}⟩", str(size)])
    told = (
        f"With {N_HEADS} heads, {counts[0]} projections become {counts[1]}, and with q, k and v in one matrix too "
        f"{counts[2]}{': the same numbers in fewer products' if len(sizes) == 1 else ''}."
    )
    caption = f"Matrices that make q, k and v in a layer of width {WIDTH} with {N_HEADS} heads"
    return [sheet.text(told), sheet.table(["implementation", "projections", "each", "numbers in all"], rows, caption)]


@dataclass(frozen=True)
class Example:
    """A worked example: its heading, a line beside it, what to do unless that says it, its matrices, its blocks."""

    heading: str
    note: str
    task: str
    matrices: tuple[str, ...]
    blocks: Callable[[Workbook], list[Block]]


EXAMPLES = {
    "one head": Example(
        "One head by hand",
        "Make one score much larger. Its word then gets nearly all the weight and determines the output.",
        "",
        ("x", "s", "a", "wq", "wk", "wv"),
        one_head,
    ),
    "two sentences": Example(
        "Two sentences",
        "cross-attention: queries from the first sentence, keys and values from the second",
        "Type other words above. A word that is in both sentences has the same numbers in both.",
        ("e", "a2"),
        two_sentences,
    ),
    "two heads": Example(
        "Two heads by hand",
        "each head projects, attends and mixes on its own; then both are concatenated and projected once more",
        "Divide the inputs by 1,000. How even are the rows then?",
        ("x4", "a4", "wo", *(f"w{name}{head}" for name in "qkv" for head in range(2))),
        two_heads,
    ),
    "stacked weights": Example(
        "Stacked weights",
        "why all heads together need only one product",
        "Change one number of a W: what changes in both products?",
        ("x4", "w0", "w1"),
        stacked,
    ),
}
