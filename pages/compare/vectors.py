"""The hidden states of one token on both sides, layer by layer, with their differences."""

from headlight.ui import numbers, sheet
from headlight.ui.sheet import Block
from mha_core.measure import measures
from mha_core.token_text import quote

from .pairs import Pair

CAPTION = "H[0] are the embeddings, H[1] the hidden states after one layer, and so on"


def panel(pair: Pair, row: int) -> Block:
    """Return a panel of the cosine and the largest change of an entry, for the embeddings and each layer."""
    if reason := problem(pair):
        return sheet.panel("One token’s vectors", [sheet.text(reason)])
    values = measures.vector_changes(*(side.run.hidden[:, row] for side in pair.sides))
    cosines, changes = (layers.tolist() for layers in values)
    labels = [f"H[{layer}]" for layer in range(len(cosines))]
    bars = [
        sheet.bars("cosine", labels, cosines, scale=1.0) | {"values": list(map(numbers.precise, cosines))},
        sheet.bars("largest change of an entry", labels, changes)
        | {"values": [numbers.difference(change, 3) for change in changes]},
    ]
    title = f"The vector of {quote(numbers.cut(pair.tokens[row], 40))}, left and right"
    return sheet.panel(title, [sheet.text(describe(pair.tokens[row], cosines, changes)), sheet.row(bars)], CAPTION)


def problem(pair: Pair) -> str:
    """Return the reason why the vectors cannot be compared; "" if they can."""
    if pair.has_two_models:
        return "The vectors of two models lie in different spaces, so a cosine between them has no meaning."
    if pair.fits:
        return ""
    left, right = (len(side.run.tokens) for side in pair.sides)
    return (
        f"The left sentence has {left} tokens, the right one {right}: the vectors of one token can only be compared if "
        "both have the same number."
    )


def describe(token: str, cosines: list[float], changes: list[float]) -> str:
    """Describe from which layer on the vectors differ, and where they differ most."""
    subject = f"The two vectors of {quote(token)}"
    start = next((layer for layer, change in enumerate(changes) if change), None)
    if start is None:
        return f"{subject} are equal in every layer: no entry differs."
    equal = (
        f"are equal up to H[{start - 1}] and differ from H[{start}] on" if start else "differ from the embeddings on"
    )
    lowest = min(range(len(cosines)), key=cosines.__getitem__)
    return f"{subject} {equal}; they differ most in H[{lowest}], cosine {numbers.precise(cosines[lowest])}."
