"""The claim on what heads look for: a kind of word at no fixed distance, in sentence after sentence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pages.kit.draw.numbers import share

from .chance import UNLIKELY, of_the_best
from .maps import largest
from .verdict import Verdict, of_all


@dataclass(frozen=True)
class Sought:
    """One row in every head, (heads, j), the first and the last key special; the places of its word and of the goal."""

    row: Tensor
    word: int
    goal: int

    @property
    def words(self) -> list[int]:
        """The places of the other words."""
        return [at for at in range(1, self.row.shape[-1] - 1) if at != self.word]


def heads_find(kinds: Mapping[str, Sequence[Sought]], rounding: float) -> Verdict:
    """Some head looks from a word to the one that belongs to it, more often than chance or a fixed distance explains.

    Args:
        kinds: what is looked for -> a row of each sentence.
        rounding: by how much of itself a weight may be off.
        answers: all kinds are found; some; none.
    """
    best, fixed, lucky = {}, {}, {}
    for name, rows in kinds.items():
        hits = torch.stack([largest(one.row, [one.goal], one.words, rounding) for one in rows]).sum(dim=0)
        best[name] = int(hits.max())
        fixed[name] = Counter(one.goal - one.word for one in rows).most_common(1)[0][1]
        lucky[name] = of_the_best(best[name], [1 / len(one.words) for one in rows], len(hits))
    found = {name: lucky[name] < UNLIKELY and best[name] > fixed[name] for name in kinds}
    told = "; ".join(
        f"{name}: {best[name]} of {len(rows)} (a fixed distance: {fixed[name]}; chance: as many with probability "
        f"{share(lucky[name], 3)})"
        for name, rows in kinds.items()
    )
    heads = len(next(iter(kinds.values()))[0].row)
    return Verdict(
        of_all(list(found.values())),
        f"In so many sentences the best of {heads} heads gives that word its largest weight among the other words: "
        f"{told}. Beyond a fixed distance, and beyond what the best of so many heads at random would reach once in "
        f"{round(1 / UNLIKELY)} times: {_listed(found)}.",
        0 if all(found.values()) else 1 if any(found.values()) else 2,
        tuple(
            (f"{name}, {how}", of[name] / len(rows))
            for name, rows in kinds.items()
            for how, of in (("best head", best), ("fixed distance", fixed))
        ),
        "share of the sentences",
        full=1,
    )


def _listed(found: Mapping[str, bool]) -> str:
    return ", ".join(name for name, is_found in found.items() if is_found) or "none"
