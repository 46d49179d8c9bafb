"""What the runs in the picture were trained with, and what the controls say beyond that."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headlight.ui.numbers import count
from mha_core.training.recipe import Recipe

from .runs import Runs

# What candidates differ in: field of the recipe -> a value in words.
_AXES: dict[str, Callable[[Any], str]] = {
    "position": str,
    "implementation": str,
    "n_layers": lambda layers: count(layers, "layer"),
    "mask_padding": lambda masked: "padding masked" if masked else "padding not masked",
}
# What all of them share.
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


def trained_with(shown: Runs, *, goes_on: bool = False) -> str:
    """The settings of the picture: "Trained here with positions none, rotary · fused · …"; `goes_on`: it still is."""
    recipes = _recipes(shown)
    if not recipes:
        return ""
    seeds = {len(own.histories) for own in shown.candidates}
    many = f"{min(seeds)} to {max(seeds)} seeds each" if len(seeds) > 1 else count(seeds.pop(), "seed")
    first = recipes[0]
    parts = [
        f"positions {', '.join(_values(recipes, 'position'))}",
        ", ".join(_values(recipes, "implementation")),
        ", ".join(_values(recipes, "n_layers")) + f" of {count(first.n_heads, 'head')}, d_model {first.d_model}",
        many,
        f"{' or '.join(dict.fromkeys(f'{recipe.steps:,}' for recipe in recipes))} steps",
    ]
    when = "Trained in advance" if shown.beforehand else "In training" if goes_on else "Trained here"
    return f"{when} with {' · '.join(parts)}."


def beyond(shown: Runs, wanted: Sequence[Recipe]) -> list[str]:
    """Sentences on what is chosen now and is not in the picture.

    `wanted`: the recipes that "Train" would train; empty while it can train none.
    """
    trained = _recipes(shown)
    if not trained or not wanted:
        return []
    sentences = []
    missing = [word for axis in _AXES for word in _values(wanted, axis) if word not in _values(trained, axis)]
    if missing:
        sentences.append(f"Not trained yet: {', '.join(missing)}.")
    others = []
    for field, name in _SHARED.items():
        now, then = ({getattr(recipe, field) for recipe in recipes} for recipes in (wanted, trained))
        if len(now) == 1 and not now & then:
            others.append(f"{name} {_written(now.pop())}")
    if others:
        sentences.append(f"Now selected: {', '.join(others)}. Press Train to see what that changes.")
    return sentences


def _recipes(shown: Runs) -> list[Recipe]:
    return [own.histories[0].recipe for own in shown.candidates if own.histories]


def _values(recipes: Iterable[Recipe], field: str) -> list[str]:
    return list(dict.fromkeys(_AXES[field](getattr(recipe, field)) for recipe in recipes))


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
