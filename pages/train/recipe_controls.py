"""The controls of the Train page, each bound to the link, and the recipes that they make.

An empty field stands for the task's default, which its placeholder shows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.jobs.training import check_plan
from headlight.link.limits import SIZES
from headlight.ui import sheet
from mha_core import device as devices
from mha_core.errors import HeadlightError
from mha_core.training import checkpoints, tasks
from mha_core.training.limits import TrainingPlan, max_threads
from mha_core.training.recipe import Recipe, defaults
from mha_core.training.tasks import Labelled, Task, TrainingData
from pages.frame import canvas, widgets

from .runs import POST_CHOICES, combine, with_seeds

# title in the control and in the link -> name in the core
TASKS: dict[str, str] = {f"{title[0].lower()}{title[1:]}": name for name, title in tasks.NAMES.items()} | {
    "your own text": "text",
    "your own CSV": "csv",
    "BBC news": "news",
}
LANGUAGE: Final = frozenset({"words", "names", "text"})  # tasks that continue a text
UNPADDED: Final = LANGUAGE | {"dates", "shapes"}  # tasks without padding and without pooling
UPLOADED: Final = frozenset({"text", "csv", "news"})  # tasks with uploaded data
EPOCHS: Final = 10  # on an uploaded table, by default
BUDGET: Final = 600  # seconds
_NUMBERS: Final = {  # key of the link -> field of the recipe
    "dm": "d_model",
    "nh": "n_heads",
    "ff": "d_feed_forward",
    "vocab": "vocabulary",
    "steps": "steps",
    "batch": "batch",
    "thr": "threads",
    "cut": "max_len",
    "lr": "rate",
    "tdrop": "dropout",
}
_OPTIONS: dict[str, dict[str, Any]] = {"lr": {"format": "%g"}, "tdrop": {"step": 0.05}}  # of number fields
# keys of the two columns of a group
_MODEL: Final = (("dm", "nh", "ff", "ampl"), ("res", "nrm", "tbias", "pool", "init"))
_TRAINING: Final = (("steps", "batch", "vocab", "thr"), ("lr", "sched", "cut", "tdrop"))
_CHOICES: dict[str, dict[str, dict[str, Any]]] = {  # key -> choice -> fields of the recipe
    "res": {"yes": {"residual": True}, "no": {"residual": False}},
    "nrm": {"yes": {"norm": True}, "no": {"norm": False}},
    "tbias": {"yes": {"bias": True}, "no": {"bias": False}, "output alone": {"bias": False, "out_bias": True}},
    "pool": {"row of [CLS]": {"pooling": "[CLS]"}, "mean of the tokens": {"pooling": "mean"}},
    "init": {"shared by all": {"start": "shared"}, "each layer's own law": {"start": "own"}},
    "sched": {"one-cycle": {"schedule": "one-cycle"}, "constant": {"schedule": "constant"}},
}


@dataclass(frozen=True)
class ControlValues:
    """The values of the controls.

    Attributes:
        recipes: a recipe for every run; for uploaded data the number of steps is still open.
        steps: the number of steps; None for the default of the data.
        keep_duplicates: whether repeated rows stay; None to follow the switch beside the file.
        context: the number of tokens in a model's context.
        notices: the combinations that were left out, and why.
    """

    recipes: tuple[Recipe, ...]
    steps: int | None
    keep_duplicates: bool | None
    context: int
    notices: Sequence[str]


def task_title(name: str) -> str:
    """Return the title of a task as the control shows it."""
    return next(title for title, task in TASKS.items() if task == name)


def draw_controls(name: str, positions: DeltaGenerator, more: DeltaGenerator, device: str) -> ControlValues:
    """Draw all controls except the task; those without effect on it stay mounted for the link.

    The positional encodings go to `positions`, all other controls to `more`, in groups.
    """
    unlabelled, is_table = name in UNPADDED, name in ("csv", "news")
    with more:
        with widgets.hidden_but_mounted("post", is_table):
            # on the news Train trains what the recorded runs are
            post = widgets.choice("post", POST_CHOICES, POST_CHOICES[name == "news"])
        left, right = st.columns(2, gap="large")
    is_post = is_table and post != POST_CHOICES[0]
    usual = replace(defaults("news" if is_post else name), task=name)
    with positions, widgets.hidden_but_mounted("kinds", not is_post):
        encodings = widgets.pills("pe")
    with left:
        canvas.sheet("group_model", [sheet.title("Model")])
        implementations, counts, masks = _model_controls(name, unlabelled, seen=not is_post)
        fields = _draw_fields(_MODEL, usual)
    with right:
        canvas.sheet("group_training", [sheet.title("Training")])
        fields |= _draw_fields(_TRAINING, usual)
        canvas.sheet("group_measuring", [sheet.title("Measuring")])
        first, second = st.columns(2)
        with first:
            seeds = widgets.integer("seeds")
        with second:
            seconds = int(widgets.optional_number("budget", f"{BUDGET}") or BUDGET)
    if devices.pick(device).type == "cpu":
        device = "cpu"  # "auto" differs from it only if there is a device to fall back from
    base = replace(usual, device=device, seconds=float(seconds), **fields)
    notices = list[str]()
    if is_post:
        half = checkpoints.POST if post == POST_CHOICES[1] else checkpoints.FAIR
        recipes = [checkpoints.news_variant(base, line) for line in checkpoints.NEWS if line.startswith(half)]
    else:
        layers = [int(layers) for layers in counts] or [base.n_layers]
        recipes, notices = combine(base, encodings, implementations, layers, masks)
    keep_duplicates = post == POST_CHOICES[1] if is_post else None
    return ControlValues(with_seeds(recipes, seeds), fields.get("steps"), keep_duplicates, base.max_len, notices)


def _model_controls(name: str, unlabelled: bool, *, seen: bool) -> tuple[list[str], list[str], list[bool]]:
    """Draw the choices of implementations, layers and the padding mask, in which candidates may differ."""
    usual = defaults(name).n_layers
    with widgets.hidden_but_mounted("kinds_more", seen):
        implementations = widgets.pills("by")
        counts = widgets.pills("nl")
        if not counts:
            st.caption(f"None selected: {usual} will be used, which suits the task")
        with widgets.hidden_but_mounted("keep", not unlabelled):
            masks = [unlabelled or mask == "on" for mask in widgets.pills("keep")]
    return implementations, counts, masks


def build_plan(values: ControlValues, task: Task | None, data: TrainingData | None) -> tuple[TrainingPlan | None, str]:
    """Return the plan that "Train" starts; None and the reason if it cannot be trained."""
    if not values.recipes:
        return None, "Choose at least one of each: positions, implementations that can compute them, and the mask."
    if task is None:
        return None, ""
    recipes = values.recipes
    if recipes[0].task in UPLOADED and isinstance(task, Labelled):
        epoch = math.ceil(len(task.train) / recipes[0].batch)
        steps = values.steps or EPOCHS * epoch
        recipes = tuple(replace(recipe, steps=steps, evaluations=max(1, steps // epoch)) for recipe in recipes)
    plan = TrainingPlan(recipes, data, recipes[0].seconds)
    try:
        check_plan(plan)
    except HeadlightError as error:
        return None, f"This cannot be trained: {error}."
    return plan, ""


def _draw_fields(columns: tuple[tuple[str, ...], ...], usual: Recipe) -> dict[str, Any]:
    """Draw the controls of these keys in columns; return the recipe fields that they set."""
    fields = dict[str, Any]()
    for box, keys in zip(st.columns(len(columns)), columns, strict=True):
        with box:
            for key in keys:
                fields |= _choice(key, usual) if key in _CHOICES else _number(key, usual)
    return fields


def _number(key: str, usual: Recipe) -> dict[str, Any]:
    if key == "ampl":
        return {"amplitude": widgets.number(key)}
    value: float = getattr(usual, _NUMBERS[key])
    limit = min(SIZES["threads"][1], max_threads()) if key == "thr" else None
    options: dict[str, Any] = _OPTIONS.get(key, {"step": 1})
    text = f"{value:,}" if isinstance(value, int) else f"{value:g}"
    typed = widgets.optional_number(key, text, upper=limit, **options)
    return {} if typed is None else {_NUMBERS[key]: type(value)(typed)}


def _choice(key: str, usual: Recipe) -> dict[str, Any]:
    """Return the recipe fields that a control sets; none if it is empty."""
    values = _CHOICES[key]
    name = next(name for name, fields in values.items() if all(getattr(usual, key) == fields[key] for key in fields))
    with widgets.hidden_but_mounted(key, key != "pool" or usual.task not in UNPADDED):
        choice = widgets.optional_choice(key, name)
    return {} if choice is None else dict(values[choice])
