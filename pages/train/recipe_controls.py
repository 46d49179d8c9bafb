"""The controls of the Train page, each bound to the link, and the recipes that they make.

An empty field means what suits the task; its grey text says what that is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import streamlit as st

from mha_core import IMPLEMENTATIONS, positions
from mha_core import device as devices
from mha_core.errors import HeadlightError
from mha_core.training import tasks
from mha_core.training.limits import most_threads
from mha_core.training.recipe import Recipe, defaults
from mha_core.training.tasks import Labelled, Language
from pages.kit.frame import controls, layout
from pages.kit.frame.links import BOUND, DEFAULTS
from pages.kit.jobs.training import Data, Plan
from pages.kit.picture.limits import AMPLITUDES, MOST_BUDGET, MOST_LAYERS, MOST_SEEDS, SIZES

from .grid import POST, POST_CHOICES, combined, with_seeds

__all__ = ["LANGUAGE", "TASKS", "Wish", "controls_of", "plan_of", "task", "title_of"]

# what stands in the control and in the link -> the task's name in the core
TASKS: dict[str, str] = {f"{title[0].lower()}{title[1:]}": name for name, title in tasks.NAMES.items()} | {
    "your own text": "text",
    "your own CSV": "csv",
    "BBC news": "news",
}
LANGUAGE: Final = frozenset({"words", "names", "text"})  # tasks that go on with a text, rather than name its class
OUTSIDE: Final = frozenset({"text", "csv", "news"})  # tasks whose data the visitor brings
EPOCHS: Final = 10  # of a table, where no number of steps is asked for
BUDGET: Final = 120  # seconds
BUDGETS: Final = {"csv": 600, "news": 600}  # long texts take long
_NUMBERS: dict[str, tuple[str, str]] = {  # key in the link -> field of the recipe, label
    "dm": ("d_model", "Width, d_model"),
    "nh": ("n_heads", "Heads, h"),
    "ff": ("d_feed_forward", "Feed-forward width, 0 = none"),
    "vocab": ("vocabulary", "Vocabulary, at most"),
    "steps": ("steps", "Steps"),
    "batch": ("batch", "Rows in a batch, b"),
    "thr": ("threads", "Threads of torch"),
    "cut": ("max_len", "Tokens of a text, at most"),
}
_CHOICES: dict[str, tuple[str, str, dict[str, Any]]] = {  # key -> field, label, what stands in the control -> value
    "res": ("residual", "Residual connection", {"yes": True, "no": False}),
    "nrm": ("norm", "Norm before attention", {"yes": True, "no": False}),
    "pool": ("pooling", "What the classifier reads", {"row of [CLS]": "[CLS]", "mean of the tokens": "mean"}),
    "init": ("start", "Initial weights", {"shared by all": "shared", "each layer's own law": "own"}),
    "sched": ("schedule", "Learning rate", {"one-cycle": "one-cycle", "constant": "constant"}),
}


@dataclass(frozen=True)
class Wish:
    """What the controls say.

    Attributes:
        task: its name in the core.
        recipes: a recipe for every candidate, without seeds; of data from outside the number of steps is still open.
        seeds: how many runs each candidate gets.
        steps: as asked for, None = what suits the data.
        seconds: the budget of all runs together.
        ratio: the time of an epoch is measured against torch's afterwards.
        keep_duplicates: rows that occur more than once stay; None = as the switch beside the file says.
        notices: what was left out, and why.
    """

    task: str
    recipes: tuple[Recipe, ...]
    seeds: int
    steps: int | None
    seconds: int
    ratio: bool
    keep_duplicates: bool | None
    notices: tuple[str, ...]


def task() -> str:
    """The task, by its name in the core."""
    names = list(TASKS)
    chosen = st.selectbox("Task", names, names.index(DEFAULTS["task"]), key="task", bind=BOUND)
    return TASKS[chosen or DEFAULTS["task"]]


def title_of(name: str) -> str:
    """What a task of the core is called here."""
    return next(title for title, known in TASKS.items() if known == name)


def controls_of(name: str) -> Wish:
    """Every other control of the rail; those that make no sense for this task stay mounted for the link."""
    text, classes = name in LANGUAGE, name not in LANGUAGE
    place = st.container()
    with layout.seen(place, "post", name in ("csv", "news")):
        post = st.selectbox("The long post's experiment", POST_CHOICES, key="post", bind=BOUND)
    own = post not in POST or name not in ("csv", "news")
    with layout.seen(place, "kinds", own):
        encodings = _several("Positions", positions.NAMES, "pe")
        implementations = _several("Implementations", tuple(IMPLEMENTATIONS), "by")
        counts = _several("Attention layers", tuple(str(count) for count in range(1, MOST_LAYERS + 1)), "nl")
        if not counts:
            st.caption(f"None chosen: {defaults(name).n_layers}, which suits the task")
        with layout.seen(st.container(), "keep", classes):
            masks = _several("Padding mask", ("on", "off"), "keep")
    seeds = _whole("Seeds: runs of each, 1 to 10", "seeds", 1, MOST_SEEDS)
    device = controls.device()
    with st.expander("More"):
        amplitude = st.number_input(
            "Amplitude of sinusoidal, spread of learned", *AMPLITUDES, 1.0, 0.05, key="ampl", bind=BOUND
        )
        base = replace(
            defaults(name if own else "news"),
            task=name,
            amplitude=float(DEFAULTS["ampl"] if amplitude is None else amplitude),
            device=devices.available()[0] if device == "auto" else device,
        )
        wanted = {field: _number(key, base) for key, (field, _) in _NUMBERS.items()}
        rate = st.number_input(
            "Learning rate, at most",
            1e-5,
            0.1,
            None,
            format="%g",
            key="lr",
            bind=BOUND,
            placeholder=f"{base.rate:g}",
        )
        wanted |= {field: _choice(key, base, seen=key != "pool" or classes) for key, (field, _, _) in _CHOICES.items()}
        usual = BUDGETS.get(name, BUDGET)
        seconds = st.number_input(
            "Seconds for all runs, at most", 5, MOST_BUDGET, None, key="budget", bind=BOUND, placeholder=f"{usual}"
        )
        ratio = st.toggle("Time an epoch against torch", DEFAULTS["ratio"], key="ratio", bind=BOUND)
    steps = wanted["steps"]
    chosen: dict[str, Any] = {field: value for field, value in wanted.items() if value is not None}
    base = replace(base, **chosen)
    base = replace(base, rate=base.rate if rate is None else float(rate))
    if own:
        layers = [int(count) for count in counts] or [base.n_layers]
        recipes, notices = combined(base, encodings, implementations, layers, [text or mask == "on" for mask in masks])
        keep_duplicates = None
    else:
        recipes, notices = _of_the_post(str(post), base), []
        keep_duplicates = post == POST_CHOICES[1]
    return Wish(name, tuple(recipes), seeds, steps, int(seconds or usual), ratio, keep_duplicates, tuple(notices))


def plan_of(wish: Wish, task: Labelled | Language | None, data: Data | None) -> tuple[Plan | None, str]:
    """What "Train" begins; None and why where it cannot."""
    if not wish.recipes:
        return None, "Choose at least one of each: positions, implementations that can compute them, and the mask."
    if task is None:
        return None, ""
    recipes = [replace(recipe, seconds=float(wish.seconds)) for recipe in wish.recipes]
    if wish.task in OUTSIDE and isinstance(task, Labelled):
        epoch = math.ceil(len(task.train) / recipes[0].batch)
        steps = wish.steps or EPOCHS * epoch
        recipes = [replace(recipe, steps=steps, evaluations=max(1, steps // epoch)) for recipe in recipes]
    made = Plan(with_seeds(recipes, wish.seeds), data, float(wish.seconds), wish.ratio)
    try:
        made.check()
    except HeadlightError as error:
        return None, f"This cannot be trained: {error}."
    return made, ""


def _of_the_post(post: str, base: Recipe) -> list[Recipe]:
    """The rows of the post's table: without a padding mask and each layer by its own law, as it does it, or ours."""
    as_posted = post == POST_CHOICES[1]
    base = replace(base, mask_padding=not as_posted, start="own" if as_posted else "shared")
    return [replace(base, implementation=name, position=p, amplitude=a) for name, p, a in POST[post]]


def _several(label: str, names: Sequence[str], key: str) -> list[str]:
    """Pills, in their own order."""
    chosen = st.pills(label, names, selection_mode="multi", default=DEFAULTS[key], key=key, bind=BOUND)
    return [name for name in names if name in chosen]


def _whole(label: str, key: str, least: int, most: int) -> int:
    value = st.number_input(label, least, most, DEFAULTS[key], key=key, bind=BOUND)
    return int(DEFAULTS[key] if value is None else value)


def _number(key: str, base: Recipe) -> int | None:
    """One size, None = what suits the task."""
    field, label = _NUMBERS[key]
    least, most = SIZES[field]
    if field == "threads":
        most = min(most, most_threads())
    value = st.number_input(
        label, least, most, None, key=key, bind=BOUND, placeholder=f"{getattr(base, field):,}", step=1
    )
    return None if value is None else int(value)


def _choice(key: str, base: Recipe, *, seen: bool) -> Any:
    """One choice, None = what suits the task."""
    field, label, values = _CHOICES[key]
    usual = next(text for text, value in values.items() if value == getattr(base, field))
    with layout.seen(st.container(), key, seen):
        chosen = st.selectbox(label, list(values), None, key=key, bind=BOUND, placeholder=usual)
    return None if chosen is None else values[chosen]
