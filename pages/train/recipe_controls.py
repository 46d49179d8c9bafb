"""The controls of the Train page, each bound to the link, and the recipes that they make.

An empty field means what suits the task; its grey text says what that is.
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
from mha_core.training.limits import TrainingPlan, most_threads
from mha_core.training.recipe import Recipe, defaults
from mha_core.training.tasks import Labelled, Task, TrainingData
from pages.frame import canvas, widgets

from .runs import POST_CHOICES, combined, with_seeds

# what stands in the control and in the link -> the task's name in the core
TASKS: dict[str, str] = {f"{title[0].lower()}{title[1:]}": name for name, title in tasks.NAMES.items()} | {
    "your own text": "text",
    "your own CSV": "csv",
    "BBC news": "news",
}
LANGUAGE: Final = frozenset({"words", "names", "text"})  # tasks that go on with a text, rather than name its class
UNPADDED: Final = LANGUAGE | {"dates", "shapes"}  # tasks in which no padding is looked at and no row is chosen
OUTSIDE: Final = frozenset({"text", "csv", "news"})  # tasks whose data the visitor brings
EPOCHS: Final = 10  # of a table, where no number of steps is asked for
BUDGET: Final = 120  # seconds
BUDGETS: Final = {"csv": 600, "news": 600, "text": 600}  # long texts take long
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
class Wish:
    """The values of the controls.

    Attributes:
        recipes: a recipe for every candidate, without seeds; of data from outside the number of steps is still open.
        steps: as asked for, None = what suits the data.
        seconds: the budget of all runs together.
        keep_duplicates: rows that occur more than once stay; None = as the switch beside the file says.
        context: tokens that are seen at once.
        notices: what was left out, and why.
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
    return TASKS[widgets.choice("task", list(TASKS))]


def title_of(name: str) -> str:
    return next(title for title, known in TASKS.items() if known == name)


def controls_of(name: str, positions: DeltaGenerator, more: DeltaGenerator, device: str) -> Wish:
    """Draws every control but the task; those that make no sense for it stay mounted for the link.

    Args:
        positions, more: where these stand; the rest is under `more`, in groups.
    """
    unlabelled, is_table = name in UNPADDED, name in ("csv", "news")
    with more:
        with widgets.hidden_but_mounted("post", is_table):
            post = widgets.choice("post", POST_CHOICES)
        model, sizes, training, measuring = _groups()
    as_post = is_table and post != POST_CHOICES[0]
    with positions, widgets.hidden_but_mounted("kinds", not as_post):
        encodings = widgets.pills("pe")
    with model:
        implementations, counts, masks = _of_the_model(name, unlabelled, seen=not as_post)
    budget = BUDGETS.get(name, BUDGET)
    with measuring[0]:
        many = widgets.whole("seeds")
    with measuring[1]:
        seconds = widgets.optional_number("budget", f"{budget}")
    usual = replace(defaults("news" if as_post else name), task=name)
    if devices.pick(device).type == "cpu":
        device = "cpu"  # "auto" is another one only where it can fall back
    base, steps = _base(replace(usual, device=device), sizes, training)
    if as_post:
        half = checkpoints.POST if post == POST_CHOICES[1] else checkpoints.FAIR
        recipes = [checkpoints.news_line(base, line) for line in checkpoints.NEWS if line.startswith(half)]
        notices = list[str]()
    else:
        layers = [int(layers) for layers in counts] or [base.n_layers]
        recipes, notices = combined(base, encodings, implementations, layers, masks)
    keep_duplicates = post == POST_CHOICES[1] if as_post else None
    asked = (steps, int(seconds or budget), keep_duplicates, base.max_len)
    return Wish(name, tuple(recipes), many, *asked, tuple(notices))


Pair = tuple[DeltaGenerator, DeltaGenerator]


def _groups() -> tuple[DeltaGenerator, Pair, Pair, Pair]:
    """Two columns under the titles of their groups: where chips stand, and two columns of fields for each group."""
    left, right = st.columns(2, gap="large")

    def fields() -> Pair:
        one, other = st.columns(2)
        return one, other

    with left:
        canvas.sheet("group_model", [sheet.title("Model")])
        chips, sizes = st.container(), fields()
    with right:
        canvas.sheet("group_training", [sheet.title("Training")])
        training = fields()
        canvas.sheet("group_measuring", [sheet.title("Measuring")])
        return chips, sizes, training, fields()


def _of_the_model(name: str, unlabelled: bool, *, seen: bool) -> tuple[list[str], list[str], list[bool]]:
    """Draws what candidates may differ in beside their positions: implementations, layers, the padding mask."""
    usual = defaults(name).n_layers
    with widgets.hidden_but_mounted("kinds_more", seen):
        implementations = widgets.pills("by")
        counts = widgets.pills("nl")
        if not counts:
            st.caption(f"None selected: {usual} will be used, which suits the task")
        with widgets.hidden_but_mounted("keep", not unlabelled):
            masks = [unlabelled or mask == "on" for mask in widgets.pills("keep")]
    return implementations, counts, masks


def plan_of(wish: Wish, task: Task | None, data: TrainingData | None) -> tuple[TrainingPlan | None, str]:
    """The plan that "Train" begins; None and the reason where it cannot."""
    if not wish.recipes:
        return None, "Choose at least one of each: positions, implementations that can compute them, and the mask."
    if task is None:
        return None, ""
    recipes = [replace(recipe, seconds=float(wish.seconds)) for recipe in wish.recipes]
    if wish.task in OUTSIDE and isinstance(task, Labelled):
        epoch = math.ceil(len(task.train) / recipes[0].batch)
        steps = wish.steps or EPOCHS * epoch
        recipes = [replace(recipe, steps=steps, evaluations=max(1, steps // epoch)) for recipe in recipes]
    plan = TrainingPlan(with_seeds(recipes, wish.seeds), data, float(wish.seconds))
    try:
        check_plan(plan)
    except HeadlightError as error:
        return None, f"This cannot be trained: {error}."
    return plan, ""


def _base(usual: Recipe, sizes: Pair, training: Pair) -> tuple[Recipe, int | None]:
    """The recipe of the controls of sizes and training, and the number of steps; None = what suits the task."""
    with training[0]:
        steps = _size("steps", usual)
        numbers = {_SIZES[key]: _size(key, usual) for key in ("batch", "vocab", "thr")}
    with training[1]:
        rate = widgets.optional_number("lr", f"{usual.rate:g}", format="%g")
        chosen = _choice("sched", usual)
        numbers |= {_SIZES[key]: _size(key, usual) for key in ("cut",)}
        dropout = widgets.optional_number("tdrop", f"{usual.dropout:g}", step=0.05)
    with sizes[0]:
        numbers |= {_SIZES[key]: _size(key, usual) for key in ("dm", "nh", "ff")}
        amplitude = widgets.number("ampl")
    with sizes[1]:
        for key in ("res", "nrm", "tbias", "pool", "init"):
            chosen |= _choice(key, usual)
    usual = replace(usual, amplitude=amplitude)
    values: dict[str, Any] = {**numbers, "steps": steps, "rate": rate, "dropout": dropout}
    typed = {field: value for field, value in values.items() if value is not None}
    return replace(usual, **typed, **chosen), steps


def _size(key: str, usual: Recipe) -> int | None:
    most = min(SIZES["threads"][1], most_threads()) if key == "thr" else None
    value = widgets.optional_number(key, f"{getattr(usual, _SIZES[key]):,}", most=most, step=1)
    return None if value is None else int(value)


def _choice(key: str, usual: Recipe) -> dict[str, Any]:
    """The fields of the recipe that are chosen by a control; none where it is empty."""
    values = _CHOICES[key]
    name = next(name for name, own in values.items() if all(getattr(usual, field) == own[field] for field in own))
    with widgets.hidden_but_mounted(key, key != "pool" or usual.task not in UNPADDED):
        chosen = widgets.optional_choice(key, name)
    return {} if chosen is None else dict(values[chosen])
