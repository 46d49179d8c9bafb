"""The worked examples as blocks, with every step computed from the workbook."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from headlight.ui import equations, sheet
from headlight.ui.numbers import difference
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS
from mha_core.measure.by_hand import Stages, softmax_steps

from . import panels, remarks
from .panels import FOUR, TWO
from .workbook import SIZES, TOKENS, Workbook, defaults, distinct_words

_EDITABLE = "every framed number can be changed; rows and columns are counted from 0"
N_HEADS, WIDTH = 2, 4
SPELLINGS = ("naive", "efficient", "fused")


def compute_attention(book: Workbook) -> tuple[dict[str, Tensor], Stages]:
    """Return q, k, v and the scores of the first example, and its softmax.

    If the scores are given instead of computed, q, k and v are x.
    """
    x = book["x"]
    q, k, v = (x @ book[f"w{name}"] for name in "qkv") if book.products else (x, x, x)
    scores = q @ k.T if book.products else book["s"]
    stages = softmax_steps(scores, v, allow=book.allow("a"), divisor=book.divisor(2))
    return {"q": q, "k": k, "v": v, "scores": scores}, stages


def one_head(book: Workbook) -> list[Block]:
    """Return the example with three words, two channels and one head."""
    x = book.block("x", "x", TOKENS, TWO, "i c", "Three made-up word vectors.")
    values, stages = compute_attention(book)
    if not book.products:
        note = "Chosen by hand, not computed from x." if book.matrices["s"] == defaults()["s"] else ""
        inputs = [x, book.block("s", "scores", TOKENS, TOKENS, "i j", note)]
        middle = []
    else:
        inputs = [sheet.row([x, *panels.projections(book, "")]) | {"chain": True}]
        projected = sheet.panel("Queries, keys, values", [panels.projected_x(values["q"], values["k"], values["v"])])
        middle = [sheet.row([projected, panels.scores(values["q"], values["k"], values["scores"], TOKENS, TOKENS)])]
    notes = remarks.map_remarks(stages, book.allow("a"), TOKENS)
    start = sheet.row([sheet.panel("Inputs", [sheet.row(inputs)], _EDITABLE), panels.mask(book, "a", TOKENS, TOKENS)])
    v_formula = "x Wv" if book.products else "x itself"
    output = panels.softmax_and_output(book, stages, values["v"], TOKENS, TOKENS, notes, v_formula)
    return [start, *middle, sheet.row([*output, panels.formula(book, [equations.attention(3, 3, 2, 2)])])]


def two_sentences(book: Workbook) -> list[Block]:
    """Return the example of cross-attention, whose map need not be square."""
    if not (book.queries and book.keys):
        return [sheet.notices(["Type at least one word for the queries and one for the keys."])]
    words = distinct_words(book.queries, book.keys)
    q = book["e"][[words.index(word) for word in book.queries]]
    k = book["e"][[words.index(word) for word in book.keys]]
    stages = softmax_steps(q @ k.T, k, allow=book.allow("a2"), divisor=book.divisor(2))
    note = "A word has the same row in both sentences. Nothing is projected here: q = x, and k = v = the other x."
    notes = remarks.map_remarks(stages, book.allow("a2"), book.queries, is_self=False)
    return [
        sheet.row(
            [
                sheet.panel("Embeddings", [book.block("e", "x", words, TWO, "v c", note)], _EDITABLE),
                panels.mask(book, "a2", book.queries, book.keys),
                panels.formula(book, [equations.attention(len(book.queries), len(book.keys), 2, 2)]),
            ]
        ),
        panels.scores(q, k, q @ k.T, book.queries, book.keys),
        *panels.softmax_and_output(book, stages, k, book.queries, book.keys, notes, "x of the keys"),
    ]


def two_heads(book: Workbook) -> list[Block]:
    """Return the example with four channels and two heads, computed by hand and by the app's own layer."""
    x, allow = book["x4"], book.allow("a4")
    w = {name: [book[f"w{name}{head}"] for head in range(2)] for name in "qkv"}
    heads = []
    for q, k, v in zip(*([x @ weight for weight in w[name]] for name in "qkv"), strict=True):
        heads.append((q, k, v, softmax_steps(q @ k.T, v, allow=allow, divisor=book.divisor(2))))
    joined = torch.cat([stages.mixed for *_, stages in heads], dim=1)
    out = joined @ book["wo"]
    inputs = book.block("x4", "x", TOKENS, FOUR, "i c")
    matrices = [
        panels.matrix("joined", joined, TOKENS, FOUR, "i c", "head 0, then head 1"),
        book.block("wo", "Wo", FOUR, FOUR, "c c"),
        panels.matrix("out", out, TOKENS, FOUR, "i c", "joined Wo"),
    ]
    sentences = [
        *remarks.empty_rows(allow, TOKENS),
        *remarks.without_itself(allow, TOKENS),
        remarks.compare_with_layer(book, w, out),
    ]
    return [
        sheet.row(
            [
                sheet.panel("Inputs", [book.presets("x4", SIZES, "Inputs"), inputs], _EDITABLE),
                panels.mask(book, "a4", TOKENS, TOKENS),
                panels.formula(book, [equations.multi_head(3, 2, 4), equations.attention(3, 3, 2, 2, (2,))]),
            ]
        ),
        panels.division(book, [stages for *_, stages in heads]),
        sheet.row([panels.head(book, head, *parts) for head, parts in enumerate(heads)], even=True),
        sheet.panel("Concatenated and projected", [sheet.chain(matrices, ["·", "="]), *map(sheet.text, sentences)]),
    ]


def stacked_weights(book: Workbook) -> list[Block]:
    """Return the example of two heads' matrices side by side, which need one product instead of two."""
    x, w = book["x4"], [book["w0"], book["w1"]]
    joined = torch.cat(w, dim=1)
    separate = [x @ weight for weight in w]
    product = x @ joined
    error = float((torch.cat(separate, dim=1) - product).abs().max())
    fields = [book.block(f"w{head}", f"W of head {head}", FOUR, TWO, "c d") for head in range(2)]
    inputs = sheet.row([book.block("x4", "x", TOKENS, FOUR, "i c"), *fields])
    factors = [
        panels.matrix("x", x, TOKENS, FOUR, "i c"),
        panels.matrix("both", joined, FOUR, FOUR, "c c", "side by side"),
    ]
    result = panels.matrix("product", product, TOKENS, FOUR, "i c", "x · both")
    text = f"Largest difference between this product and the two joined: {difference(error)}."
    products = [
        panels.matrix(f"head {head}", part, TOKENS, TWO, "i d", f"x · W of head {head}")
        for head, part in enumerate(separate)
    ]
    single = sheet.panel("One product for both", [sheet.chain([*factors, result], ["·", "="]), sheet.text(text)])
    return [
        sheet.panel("Two heads, a matrix each", [book.presets("x4", SIZES, "Inputs"), inputs], _EDITABLE),
        sheet.row([sheet.panel("One product a head", [sheet.row(products)]), single], even=True),
        as_linear(book),
    ]


def as_linear(book: Workbook) -> Block:
    """Return the same product as nn.Linear computes it, x Wᵀ, and the count of projections."""
    x, weights = book["x4"], [book[f"w{head}"].T for head in range(N_HEADS)]
    stacked = torch.cat(weights)
    product = F.linear(x, stacked)
    separate = torch.cat([F.linear(x, weight) for weight in weights], dim=1)
    error = float((product - separate).abs().max())
    parts = [panels.matrix(f"W{head}", weight, TWO, FOUR, "d c", "⟨out, in⟩") for head, weight in enumerate(weights)]
    chain = sheet.chain(
        [
            panels.matrix("x", x, TOKENS, FOUR, "i c"),
            panels.matrix("Wᵀ", stacked.T, FOUR, FOUR, "c c"),
            panels.matrix("x Wᵀ", product, TOKENS, FOUR, "i c"),
        ],
        ["·", "="],
    )
    matrix = panels.matrix("W0 over W1", stacked, FOUR, FOUR, "c c", "⟨out, in⟩")
    text = (
        "nn.Linear keeps its matrix transposed, ⟨out, in⟩, and computes x Wᵀ. So heads that are side by side above are "
        f"stacked in it. Largest difference between this product and nn.Linear head by head: {difference(error)}."
    )
    return sheet.panel(
        "The same matrix in nn.Linear",
        [sheet.text(text), sheet.row([*parts, matrix]), chain, *_projections()],
        "a row for each output, a column for each input",
    )


def _projections() -> list[Block]:
    """Count the matrices and parameters that produce q, k and v in each implementation."""
    rows, counts, sizes = [], [], set()
    for name in SPELLINGS:
        parts = IMPLEMENTATIONS[name](WIDTH, N_HEADS, bias=False).named_modules()
        # without the output projection
        weights = [module.weight for part, module in parts if isinstance(module, nn.Linear) and part != "out"]
        size, (out, width) = sum(module.numel() for module in weights), weights[0].shape
        counts.append(len(weights))
        sizes.add(size)
        rows.append([name, str(len(weights)), f"⟨{out}, {width}⟩", str(size)])
    text = (
        f"With {N_HEADS} heads, {counts[0]} projections become {counts[1]}, and with q, k and v in one matrix too "
        f"{counts[2]}{': the same numbers in fewer products' if len(sizes) == 1 else ''}."
    )
    caption = f"Matrices that make q, k and v in a layer of width {WIDTH} with {N_HEADS} heads"
    return [sheet.text(text), sheet.table(["implementation", "projections", "each", "numbers in all"], rows, caption)]


@dataclass(frozen=True)
class Example:
    """A worked example.

    Attributes:
        note: a line beside the heading.
        task: an instruction for the user, unless the note has it.
        matrices: the names of its editable matrices.
        blocks: computes its blocks.
    """

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
        stacked_weights,
    ),
}
