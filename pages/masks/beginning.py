"""What the page shows while nothing is chosen: a mask that changes something, so that there is something to see."""

from pages.kit.picture.presets import PRESETS
from pages.kit.picture.query import Query

MASK = "causal"
OF_CAUSAL = "window"  # of a model whose own mask is causal
BARE = {"s": PRESETS[2], "mask": MASK}  # of the address without a query: few words, so that every number has room


def of_address(query: Query) -> dict[str, str]:
    """What a bare address shows; nothing where the link says anything: without a mask it means none."""
    return {} if query.pairs else dict(BARE)


def of_visitor(query: Query) -> dict[str, str]:
    """What is shown to who comes from another page and has chosen no mask there. Raises a HeadlightError."""
    return {"mask": OF_CAUSAL if query.model.own_mask == "causal" else MASK}
