"""What the rows of a word that occurs more than once are to each other in one map, in a sentence."""

from collections.abc import Sequence

from torch import Tensor

from headlight.ui.numbers import share, small
from mha_core.measure.measures import repeated_words

_SAME = 1e-5  # rows that differ by no more are called the same: the rest is rounding


def sentence(tokens: Sequence[str], weights: Tensor) -> str:
    """Whether the rows (i, j) of the repeated token are equal, and otherwise where each looks; "" without a repeat."""
    numbers = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    rows = repeated_words(weights, [numbers[token] for token in tokens])
    if rows is None:
        return ""
    which = f"The rows of “{tokens[rows.places[0]]}” (at {', '.join(map(str, rows.places[:-1]))} and {rows.places[-1]})"
    if rows.difference <= _SAME:
        return f"{which} are the same up to rounding (largest difference {small(rows.difference)})."
    looks = []
    for place in rows.places:
        row = weights[place]
        most = int(row.argmax())
        looks.append(f"the one at {place} looks most at “{tokens[most]}” at {most} ({share(float(row[most]), 2)})")
    return f"{which} differ by up to {small(rows.difference)}: {', '.join(looks)}."
