"""The settings of the runs on display, and the differences between them and the controls."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headlight.ui.numbers import count
from mha_core.training.recipe import Recipe

from .runs import CUT, Runs

# Recipe fields in which candidates may differ -> a value in words.
_AXES: dict[str, Callable[[Any], str]] = {
    "position": str,
    "implementation": str,
    "n_layers": lambda layers: count(layers, "layer"),
    "mask_padding": lambda masked: "padding masked" if masked else "padding not masked",
}
# Recipe fields that all candidates share -> a name.
_SHARED: dict[str, str] = {
    "steps": "steps",
    "d_model": "d_model",
    "n_heads": "heads",
    "d_feed_forward": "feed-forward width",
    "batch": "rows in a batch",
    "rate": "learning rate",
    "schedule": "schedule",
    "vocabulary": "vocabulary, at most",
    "amplitude": "amplitude",
    "residual": "residual connection",
    "norm": "norm",
    "pooling": "classifier reads",
    "start": "initial weights",
    "biases": "biases in the attention",
    "dropout": "dropout",
    "vocabulary_of": "tokenizer of",
}


def describe(runs: Runs, *, is_running: bool = False) -> str:
    """Describe the settings of the runs: "Trained here with the positional encodings none, rotary · fused · …"."""
    recipes = _recipes(runs)
    if not recipes:
        return ""
    seeds = {len(candidate.histories) for candidate in runs.candidates}
    seed_label = f"{min(seeds)} to {max(seeds)} seeds each" if len(seeds) > 1 else count(seeds.pop(), "seed")
    first = recipes[0]
    parts = [
        f"the positional encodings {', '.join(_values(recipes, 'position'))}",
        ", ".join(_values(recipes, "implementation")),
        ", ".join(_values(recipes, "n_layers")) + f" of {count(first.n_heads, 'head')}, d_model {first.d_model}",
        seed_label,
        f"{' or '.join(dict.fromkeys(f'{recipe.steps:,}' for recipe in recipes))} steps",
    ]
    also = " and here" * any(CUT in candidate.name for candidate in runs.candidates)
    origin = f"Trained in advance{also}" if runs.is_shipped else "In training" if is_running else "Trained here"
    return f"{origin} with {' · '.join(parts)}."


def pending_changes(runs: Runs, planned: Sequence[Recipe]) -> list[str]:
    """Return sentences on the settings that are chosen now and that no run on display has.

    `planned` holds the recipes that "Train" would train; it is empty if it can train none.
    """
    trained = _recipes(runs)
    if not trained or not planned:
        return []
    sentences = []
    missing = [word for axis in _AXES for word in _values(planned, axis) if word not in _values(trained, axis)]
    if missing:
        sentences.append(f"Not trained yet: {', '.join(missing)}.")
    others = []
    for field, name in _SHARED.items():
        new, old = ({getattr(recipe, field) for recipe in recipes} for recipes in (planned, trained))
        if len(new) == 1 and not new & old:
            others.append(f"{name} {_format(new.pop())}")
    if others:
        sentences.append(f"Now selected: {', '.join(others)}. Press Train to see what that changes.")
    return sentences


def _recipes(runs: Runs) -> list[Recipe]:
    return [candidate.histories[0].recipe for candidate in runs.candidates if candidate.histories]


def _values(recipes: Iterable[Recipe], field: str) -> list[str]:
    return list(dict.fromkeys(_AXES[field](getattr(recipe, field)) for recipe in recipes))


def _format(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
