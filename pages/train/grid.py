"""What is trained side by side: every combination of the choices, what it is called, and which runs belong together.

A candidate is a recipe without its seed. No streamlit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Final

from mha_core import IMPLEMENTATIONS, positions
from mha_core.errors import HeadlightError
from mha_core.training.recipe import Recipe

__all__ = ["POST", "POST_CHOICES", "Group", "combined", "grouped", "named", "with_seeds"]

# The long post's four models, and ours beside them: (implementation, position, amplitude).
POST_CHOICES: Final = ("my own", "as the post does it", "beside it: ours")
POST: dict[str, tuple[tuple[str, str, float], ...]] = {
    POST_CHOICES[1]: (
        ("torch", "none", 1.0),
        ("naive", "none", 1.0),
        ("efficient", "none", 1.0),
        ("efficient", "sinusoidal", 1.0),
    ),
    POST_CHOICES[2]: (
        ("torch", "none", 1.0),
        ("naive", "none", 1.0),
        ("efficient", "none", 1.0),
        ("efficient", "sinusoidal", 1.0),
        ("efficient", "sinusoidal", 0.1),
    ),
}


@dataclass(frozen=True)
class Group:
    """The runs of one candidate.

    Attributes:
        name: what differs from the other candidates, in words.
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
    made, left_out = [], dict[tuple[str, str], str]()
    for position, name, count, mask in product(encodings, implementations, layers, masks):
        why = _unfit(position, base.d_model, base.n_heads)
        if why:
            left_out[position, ""] = f"{position} positions are left out: {why}."
        elif _acts(position) - {"add"} <= IMPLEMENTATIONS[name].can:
            made.append(replace(base, position=position, implementation=name, n_layers=count, mask_padding=mask))
        else:
            left_out[position, name] = f"{name} cannot compute {position} positions: this pair is left out."
    return made, list(left_out.values())


def with_seeds(recipes: Sequence[Recipe], seeds: int) -> tuple[Recipe, ...]:
    """Every recipe with the seeds 1, 2, …; candidate by candidate."""
    return tuple(replace(recipe, seed=seed) for recipe in recipes for seed in range(1, seeds + 1))


def grouped(recipes: Sequence[Recipe]) -> list[Group]:
    """The candidates among runs, in order of appearance."""
    found: dict[Recipe, list[int]] = {}
    for place, recipe in enumerate(recipes):
        found.setdefault(replace(recipe, seed=0), []).append(place)
    kinds = list(found)
    encodings = [kind.position for kind in kinds]
    # a position keeps its colour on every page; only where that is not enough to tell them apart, they are counted
    own = len(set(encodings)) == len(kinds)
    colours = [positions.NAMES.index(name) if own else number for number, name in enumerate(encodings)]
    return [
        Group(name, colour, tuple(sorted(runs, key=lambda place: recipes[place].seed)))
        for name, colour, runs in zip(named(kinds), colours, found.values(), strict=True)
    ]


def named(kinds: Sequence[Recipe]) -> list[str]:
    """What tells each of these recipes from the others; with nothing to tell, its position."""

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
            parts.append(f"{kind.n_layers} layer{'' if kind.n_layers == 1 else 's'}")
        if several("mask_padding"):
            parts.append(f"mask {'on' if kind.mask_padding else 'off'}")
        return " ".join(parts) or kind.position

    return [words(kind) for kind in kinds]


@lru_cache(maxsize=256)
def _unfit(position: str, d_model: int, n_heads: int) -> str:
    """Why these sizes have no such positions; sizes that nothing can be trained with are not judged here."""
    if d_model % n_heads:
        return ""
    try:
        positions.build(position, d_model=d_model, n_heads=n_heads, max_len=8, seed=0)
    except HeadlightError as error:
        return str(error)
    return ""


@lru_cache(maxsize=16)
def _acts(position: str) -> frozenset[str]:
    """Where an encoding of that name acts, as in `Position.acts`."""
    try:
        return positions.build(position, d_model=8, n_heads=2, max_len=8, seed=0).acts
    except HeadlightError:
        return frozenset()
