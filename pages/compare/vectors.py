"""One token's vector on both sides, layer by layer: where they part, and how far."""

from headlight.ui import numbers, sheet
from headlight.ui.sheet import Block
from mha_core.measure import measures

from .pairs import Pair

LAW = "H[0] are the embeddings, H[1] the hidden states after one layer, and so on"


def panel(pair: Pair, row: int) -> Block:
    """The cosine and the largest change of an entry of both vectors, of the embeddings and after each layer."""
    said = why_not(pair)
    if said:
        return sheet.panel("One token’s vectors", [sheet.text(said)])
    found = measures.vector_changes(*(side.run.hidden[:, row] for side in pair.sides))
    cosines, changes = (of_each.tolist() for of_each in found)
    labels = [f"H[{layer}]" for layer in range(len(cosines))]
    bars = [
        sheet.bars("cosine", labels, cosines, most=1.0) | {"values": list(map(numbers.cosine, cosines))},
        sheet.bars("largest change of an entry", labels, changes) | {"values": [f"{change:.2g}" for change in changes]},
    ]
    title = f"The vector of “{numbers.cut(pair.tokens[row], 40)}”, left and right"
    return sheet.panel(title, [sheet.text(in_words(pair.tokens[row], cosines, changes)), sheet.row(bars)], LAW)


def why_not(pair: Pair) -> str:
    """Return why the vectors of both sides cannot be compared, "" where they can."""
    if pair.is_of_two_models:
        return "The vectors of two models lie in different spaces, so a cosine between them has no meaning."
    if pair.fits:
        return ""
    left, right = (len(side.run.tokens) for side in pair.sides)
    return (
        f"The left sentence has {left} tokens, the right one {right}: the vectors of one token can only be compared if "
        "both have the same number."
    )


def in_words(token: str, cosines: list[float], changes: list[float]) -> str:
    """Where the two vectors of a token part, and where they are least alike."""
    whose = f"The two vectors of “{token}”"
    parted = next((layer for layer, change in enumerate(changes) if change), None)
    if parted is None:
        return f"{whose} are equal in every layer: no entry differs."
    equal = (
        f"are equal up to H[{parted - 1}] and differ from H[{parted}] on" if parted else "differ from the embeddings on"
    )
    least = min(range(len(cosines)), key=cosines.__getitem__)
    return f"{whose} {equal}; they differ most in H[{least}], cosine {numbers.cosine(cosines[least])}."
