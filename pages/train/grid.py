"""The candidates that are trained side by side: every combination of the choices, its name, and its runs.

A candidate is a recipe without its seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Final

from mha_core import IMPLEMENTATIONS, positions
from mha_core.errors import HeadlightError
from mha_core.training.recipe import Recipe
from pages.kit.draw.numbers import count

# The long post's four models, and ours beside them: (implementation, position, amplitude).
POST_CHOICES: Final = ("my own", "as the post does it", "beside it: ours")
_AS_POSTED = (
    ("torch", "none", 1.0),
    ("naive", "none", 1.0),
    ("efficient", "none", 1.0),
    ("efficient", "sinusoidal", 1.0),
)
POST: dict[str, tuple[tuple[str, str, float], ...]] = {
    POST_CHOICES[1]: _AS_POSTED,
    POST_CHOICES[2]: (*_AS_POSTED, ("efficient", "sinusoidal", 0.1)),
}


@dataclass(frozen=True)
class CandidateRuns:
    """The runs of one candidate.

    Attributes:
        name: the difference from the other candidates, in words.
        colour: its place in the order of colours that every chart keeps.
        runs: their places in the list that was grouped, by seed.
    """

    name: str
    colour: int
    runs: tuple[int, ...]


def combined(
    base: Recipe,
    encodings: Sequence[str],
    implementations: Sequence[str],
    layers: Sequence[int],
    masks: Sequence[bool],
) -> tuple[list[Recipe], list[str]]:
    """One recipe for every combination, and a sentence for each that cannot be computed."""
    recipes, left_out = [], dict[tuple[str, str], str]()
    for position, name, n_layers, mask in product(encodings, implementations, layers, masks):
        why = _unfit(position, base.d_model, base.n_heads)
        if why:
            left_out[position, ""] = f"{position} positions are left out: {why}."
        elif positions.acts(position) - {"add"} <= IMPLEMENTATIONS[name].can:
            recipes.append(replace(base, position=position, implementation=name, n_layers=n_layers, mask_padding=mask))
        else:
            left_out[position, name] = f"{name} cannot compute {position} positions: this pair is left out."
    return recipes, list(left_out.values())


def with_seeds(recipes: Sequence[Recipe], seeds: int) -> tuple[Recipe, ...]:
    """Every recipe with the seeds 1, 2, …; candidate by candidate."""
    return tuple(replace(recipe, seed=seed) for recipe in recipes for seed in range(1, seeds + 1))


def grouped(recipes: Sequence[Recipe]) -> list[CandidateRuns]:
    """The candidates among runs, in order of appearance."""
    places: dict[Recipe, list[int]] = {}
    for place, recipe in enumerate(recipes):
        places.setdefault(replace(recipe, seed=0), []).append(place)
    kinds = list(places)
    encodings = [kind.position for kind in kinds]
    # a position keeps its colour on every page; only where that is not enough to tell them apart, they are counted
    distinct = len(set(encodings)) == len(kinds)
    colours = [positions.NAMES.index(name) if distinct else number for number, name in enumerate(encodings)]
    return [
        CandidateRuns(name, colour, tuple(sorted(runs, key=lambda place: recipes[place].seed)))
        for name, colour, runs in zip(named(kinds), colours, places.values(), strict=True)
    ]


def named(kinds: Sequence[Recipe]) -> list[str]:
    """A name for each of these recipes, which tells it from the others; with nothing to tell, its position."""

    def several(*fields: str) -> bool:
        return len({tuple(getattr(kind, field) for field in fields) for kind in kinds}) > 1

    def words(kind: Recipe) -> str:
        parts = []
        if several("implementation"):
            parts.append(kind.implementation)
        if several("position") or len(kinds) == 1:
            parts.append(kind.position)
        if several("amplitude") and kind.amplitude != 1:
            parts.append(f"× {kind.amplitude:g}")
        if several("n_layers"):
            parts.append(count(kind.n_layers, "layer"))
        if several("mask_padding"):
            parts.append(f"mask {'on' if kind.mask_padding else 'off'}")
        return " ".join(parts) or kind.position

    return [words(kind) for kind in kinds]


@lru_cache(maxsize=256)
def _unfit(position: str, d_model: int, n_heads: int) -> str:
    """The reason why these sizes have no such positions; sizes that nothing can be trained with are not judged here."""
    if d_model % n_heads:
        return ""
    try:
        positions.build(position, d_model=d_model, n_heads=n_heads, max_len=8, seed=0)
    except HeadlightError as error:
        return str(error)
    return ""
