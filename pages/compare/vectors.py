"""One token's vector on both sides, layer by layer: where they part, and how far."""

from typing import TypedDict

from headlight.ui import numbers
from mha_core.measure import measures

from .pairs import Pair


class TokenVectors(TypedDict):
    """A token's vectors on both sides, of the embeddings and after each layer; (layers + 1,) each."""

    cosines: list[float]  # empty where the sentences have no common places
    changes: list[float]  # the largest of an entry
    shown: list[str]  # the cosines
    said: str  # where they part


def of_row(pair: Pair, row: int) -> TokenVectors:
    cosines, changes = list[float](), list[float]()
    if pair.is_of_two_models:
        said = "Vectors of two models lie in different spaces: no cosine between them means anything."
    elif not pair.fits:
        left, right = (len(side.run.tokens) for side in pair.sides)
        said = (
            f"The left sentence has {left} tokens, the right one {right}: the vectors of one token are compared where "
            f"both have the same number."
        )
    else:
        found = measures.vector_changes(*(side.run.hidden[:, row] for side in pair.sides))
        cosines, changes = (of_each.tolist() for of_each in found)
        said = in_words(pair.tokens[row], cosines, changes)
    return {"cosines": cosines, "changes": changes, "shown": list(map(numbers.cosine, cosines)), "said": said}


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
