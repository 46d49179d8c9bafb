"""One token's vector on both sides, layer by layer: where they part, and how far."""

from typing import Any

from mha_core.measure import measures
from pages.kit.draw import numbers

from .pairs import Pair


def of_row(pair: Pair, row: int) -> dict[str, Any]:
    """The vectors of the token in focus, of the embeddings and after each layer.

    Returns:
        cosines, changes: cosine and largest change of an entry, (layers + 1,); empty where the sentences have no
            common places. shown: the cosines as text. said: where they part, in words.
    """
    if not pair.fits:
        left, right = (len(side.run.tokens) for side in (pair.left, pair.right))
        said = (
            f"The left sentence has {left} tokens, the right one {right}: the vectors of one token are compared where "
            f"both have the same number."
        )
        return {"cosines": [], "changes": [], "shown": [], "said": said}
    hidden = (side.run.hidden[:, row] for side in (pair.left, pair.right))
    cosines, changes = (found.tolist() for found in measures.vector_changes(*hidden))
    shown = [numbers.cosine(cosine) for cosine in cosines]
    return {
        "cosines": cosines,
        "changes": changes,
        "shown": shown,
        "said": in_words(pair.tokens[row], cosines, changes),
    }


def in_words(token: str, cosines: list[float], changes: list[float]) -> str:
    """Where the two vectors of a token part, and where they are least alike."""
    whose = f"The two vectors of “{token}”"
    parted = next((layer for layer, change in enumerate(changes) if change), None)
    if parted is None:
        return f"{whose} are equal in every layer: no entry differs."
    equal = f"are equal up to H[{parted - 1}] and part in H[{parted}]" if parted else "differ from the embeddings on"
    least = min(range(len(cosines)), key=cosines.__getitem__)
    return f"{whose} {equal}; least alike they are in H[{least}], cosine {numbers.cosine(cosines[least])}."
