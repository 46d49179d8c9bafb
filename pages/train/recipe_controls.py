"""The controls of the Train page, each bound to the link, and the recipes that they make.

An empty field stands for the task's default, which its placeholder shows.
"""

import math
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
_SIZES: Final = {  # key of the link -> field of the recipe
    "dm": "d_model",
    "nh": "n_heads",
    "ff": "d_feed_forward",
    "vocab": "vocabulary",
    "steps": "steps",
    "batch": "batch",
    "thr": "threads",
    "cut": "max_len",
}
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
        recipes: a recipe for every candidate, without seeds; for uploaded data the number of steps is still open.
        steps: the number of steps; None for the default of the data.
        seconds: the time budget of all runs together.
        keep_duplicates: whether repeated rows stay; None to follow the switch beside the file.
        context: the number of tokens in a model's context.
        notices: the combinations that were left out, and why.
    """

    task: str
    recipes: tuple[Recipe, ...]
    seeds: int
    steps: int | None
    seconds: int
    keep_duplicates: bool | None
    context: int
    notices: tuple[str, ...]


def task() -> str:
    """Draw the choice of the task; return its name."""
    return TASKS[widgets.choice("task", list(TASKS))]


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
        model, sizes, training, measuring = _groups()
    is_post = is_table and post != POST_CHOICES[0]
    with positions, widgets.hidden_but_mounted("kinds", not is_post):
        encodings = widgets.pills("pe")
    with model:
        implementations, counts, masks = _model_controls(name, unlabelled, seen=not is_post)
    with measuring[0]:
        seeds = widgets.integer("seeds")
    with measuring[1]:
        seconds = widgets.optional_number("budget", f"{BUDGET}")
    default = replace(defaults("news" if is_post else name), task=name)
    if devices.pick(device).type == "cpu":
        device = "cpu"  # "auto" differs from it only if there is a device to fall back from
    base, steps = _base(replace(default, device=device), sizes, training)
    if is_post:
        half = checkpoints.POST if post == POST_CHOICES[1] else checkpoints.FAIR
        recipes = [checkpoints.news_variant(base, line) for line in checkpoints.NEWS if line.startswith(half)]
        notices = list[str]()
    else:
        layers = [int(layers) for layers in counts] or [base.n_layers]
        recipes, notices = combine(base, encodings, implementations, layers, masks)
    keep_duplicates = post == POST_CHOICES[1] if is_post else None
    data = (keep_duplicates, base.max_len)
    return ControlValues(name, tuple(recipes), seeds, steps, int(seconds or BUDGET), *data, tuple(notices))


Pair = tuple[DeltaGenerator, DeltaGenerator]


def _groups() -> tuple[DeltaGenerator, Pair, Pair, Pair]:
    """Return containers under the titles of their groups: one for chips, and two columns of fields for each group."""
    left, right = st.columns(2, gap="large")

    def fields() -> Pair:
        first, second = st.columns(2)
        return first, second

    with left:
        canvas.sheet("group_model", [sheet.title("Model")])
        chips, sizes = st.container(), fields()
    with right:
        canvas.sheet("group_training", [sheet.title("Training")])
        training = fields()
        canvas.sheet("group_measuring", [sheet.title("Measuring")])
        return chips, sizes, training, fields()


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
    recipes = [replace(recipe, seconds=float(values.seconds)) for recipe in values.recipes]
    if values.task in UPLOADED and isinstance(task, Labelled):
        epoch = math.ceil(len(task.train) / recipes[0].batch)
        steps = values.steps or EPOCHS * epoch
        recipes = [replace(recipe, steps=steps, evaluations=max(1, steps // epoch)) for recipe in recipes]
    plan = TrainingPlan(with_seeds(recipes, values.seeds), data, float(values.seconds))
    try:
        check_plan(plan)
    except HeadlightError as error:
        return None, f"This cannot be trained: {error}."
    return plan, ""


def _base(usual: Recipe, sizes: Pair, training: Pair) -> tuple[Recipe, int | None]:
    """Draw the controls of sizes and training; return their recipe, and the number of steps or None for the default."""
    with training[0]:
        steps = _size("steps", usual)
        numbers = {_SIZES[key]: _size(key, usual) for key in ("batch", "vocab", "thr")}
    with training[1]:
        rate = widgets.optional_number("lr", f"{usual.rate:g}", format="%g")
        fields = _choice("sched", usual)
        numbers |= {_SIZES[key]: _size(key, usual) for key in ("cut",)}
        dropout = widgets.optional_number("tdrop", f"{usual.dropout:g}", step=0.05)
    with sizes[0]:
        numbers |= {_SIZES[key]: _size(key, usual) for key in ("dm", "nh", "ff")}
        amplitude = widgets.number("ampl")
    with sizes[1]:
        for key in ("res", "nrm", "tbias", "pool", "init"):
            fields |= _choice(key, usual)
    usual = replace(usual, amplitude=amplitude)
    values: dict[str, Any] = {**numbers, "steps": steps, "rate": rate, "dropout": dropout}
    typed = {field: value for field, value in values.items() if value is not None}
    return replace(usual, **typed, **fields), steps


def _size(key: str, usual: Recipe) -> int | None:
    limit = min(SIZES["threads"][1], max_threads()) if key == "thr" else None
    value = widgets.optional_number(key, f"{getattr(usual, _SIZES[key]):,}", upper=limit, step=1)
    return None if value is None else int(value)


def _choice(key: str, usual: Recipe) -> dict[str, Any]:
    """Return the recipe fields that a control sets; none if it is empty."""
    values = _CHOICES[key]
    name = next(name for name, fields in values.items() if all(getattr(usual, key) == fields[key] for key in fields))
    with widgets.hidden_but_mounted(key, key != "pool" or usual.task not in UNPADDED):
        choice = widgets.optional_choice(key, name)
    return {} if choice is None else dict(values[choice])
