"""Questions to the trained models: typed sentences, continuations, and the maps of what was asked.

The models are loaded when the tab is open; its controls are there before.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import streamlit as st

from headlight.link.limits import MAX_TEXT_LENGTH, check_length
from headlight.picture import pictures, words
from headlight.registry import models, source_of
from headlight.ui import sheet
from headlight.ui.numbers import cut
from headlight.ui.sheet import Block
from mha_core.errors import HeadlightError
from mha_core.training.tasks import Labelled, Pictures, Task, Translation
from pages.frame import canvas, widgets

from . import answers
from .answers import Trained
from .recipe_controls import LANGUAGE
from .runs import Runs
from .task_words import usual_texts

_NOT_YET = "A model can be tried once its training has ended. Runs without stored weights cannot be tried."
_MAX_ASKED = 6  # questions of the task in the table


class Questions:
    """The models that are asked, and about what. `task`: None when it is not at hand, as of a run out of a file."""

    def __init__(self, shown: Runs, task: Task | None) -> None:
        self.names = shown.ready  # candidate -> the name of its model
        firsts = [shown.first(name) for name in self.names]
        self.heads = answers.head_names([(first.recipe.n_layers, first.recipe.n_heads) for first in firsts])
        # to ask while nothing is typed
        self.texts = usual_texts(task) if task else source_of(next(iter(self.names.values()))).presets if firsts else ()
        self.task = task if isinstance(task, Labelled) else None
        self.translation = task if isinstance(task, Translation) else None
        # they go on with a text instead of naming its class; what stands between two of their tokens
        self.language = any(first.recipe.task in LANGUAGE for first in firsts)
        self.joined_by = "" if any(first.recipe.task == "text" for first in firsts) else " "
        # that they tell apart; none of other models
        self.classes = tuple(next((first.start.classes for first in firsts if first.start), ()))

    @cached_property
    def models(self) -> dict[str, Trained]:
        """Those that can be asked, by the names of their candidates; one that is gone is left out."""
        ready = {}
        for name, model in self.names.items():
            try:
                ready[name] = Trained(model, pictures.model_on("auto", model))
            except HeadlightError:
                continue
        return ready

    def models_of(self, names: Sequence[str]) -> dict[str, Trained]:
        """Those of these candidates."""
        return {name: self.models[name] for name in names if name in self.models}

    @property
    def reads_pictures(self) -> bool:
        return isinstance(self.task, Pictures)

    @property
    def notices(self) -> list[str]:
        """What must be said of the answers so far, each sentence once."""
        return list(dict.fromkeys(sentence for one in self.models.values() for sentence in one.notices))

    def usual(self, number: int) -> str:
        """The first or second sentence while nothing is typed."""
        return self.texts[number % len(self.texts)] if self.texts else ""

    def typed(self, number: int) -> str:
        """The first or second sentence: what was typed, or the usual one."""
        return str(st.session_state.get(("ask", "ask2")[number]) or "") or self.usual(number)

    def unknown(self, text: str) -> Block:
        """Notices on the words that the first model's vocabulary lacks."""
        return sheet.notices(models.unknown(next(iter(self.models.values())).model, text))


def draw(asked: Questions, *, is_open: bool) -> None:
    """Draws the questions and, in the open tab, what the models answer."""
    if not asked.names:
        canvas.sheet("not_yet", [sheet.panel("Ask it", [sheet.text(_NOT_YET)])] if is_open else [])
        return
    if is_open and not asked.models:
        canvas.sheet("not_yet", [sheet.text("The trained models are no longer stored; train them again.")])
        is_open = False
    left, right = st.columns([1.35, 1]) if asked.classes else (st.container(), st.container())
    with left:
        _ask(asked, is_open=is_open)
    with right:
        if is_open and asked.classes:
            _chances(asked)
    _attention(asked, is_open=is_open)
    # last, when all answers have been made; a place kept for it above would mount the boxes anew, and take their words
    canvas.sheet("ask_told", [sheet.notices(asked.notices)] if is_open else [])


def _ask(asked: Questions, *, is_open: bool) -> None:
    """Draws the answers to the typed sentences: classes, or continuations."""
    with st.container(border=True, key="ask_panel"):
        canvas.sheet("ask_title", [sheet.title("Ask it", "your sentences, and some from the task")])
        columns = st.columns(2) if asked.classes else [st.container()]
        two = (
            ("A picture, in words", "Another sentence") if asked.reads_pictures else ("A sentence", "Another sentence")
        )
        labels = two if asked.classes else ("A date, in words" if asked.translation else "The beginning of a text",)
        for number, (column, label, key) in enumerate(zip(columns, labels, ("ask", "ask2"), strict=False)):
            with column:
                widgets.text(key, label=label, max_chars=MAX_TEXT_LENGTH, placeholder=asked.usual(number))
        texts = [asked.typed(number) for number in range(len(labels))]
        drawn = _draws() if asked.language else ()
        canvas.sheet("answers", _or_notice(lambda: _answered(asked, *drawn), *texts) if is_open else [])


def _draws() -> tuple[int, float, int]:
    """How a text goes on: the number of tokens, the temperature, the seed."""
    left, middle, right = st.columns(3)
    with left:
        tokens = widgets.whole("more")
    with middle:
        temperature = widgets.number("temp")
    with right:
        seed = widgets.whole("dice")
    return tokens, temperature, seed


def _chances(asked: Questions) -> None:
    texts = [asked.typed(0), asked.typed(1)]
    blocks = _or_notice(lambda: [sheet.row(answers.chances(asked.models, texts))], *texts)
    canvas.sheet("chances", [sheet.panel("Probability of every class", blocks, "of the sentences asked")])


def _attention(asked: Questions, *, is_open: bool) -> None:
    """Draws the maps of all models for the first sentence, with their numbers."""
    sentence = asked.typed(0)
    with st.container(border=True, key="attention_panel"):
        note = f"“{cut(sentence)}” · rows are queries, columns are keys · counted from 0"
        canvas.sheet("attention_title", [sheet.title("Attention maps", note)])
        head = widgets.choice("head", asked.heads)
        if is_open:
            blocks = _or_notice(lambda: answers.maps(asked.models, asked.translation, sentence, head), sentence)
            canvas.sheet("attention", blocks)


def _or_notice(draw: Callable[[], list[Block]], *texts: str) -> list[Block]:
    """The blocks, or the reason why these texts cannot be used."""
    try:
        for text in texts:
            check_length(text)
        return draw()
    except HeadlightError as error:
        return [sheet.notices([words.sentence(error)])]


def _answered(asked: Questions, *drawn: float) -> list[Block]:
    """What the models say; `drawn`: how those that write go on, as `_draws` has it."""
    first, second = asked.typed(0), asked.typed(1)
    if asked.translation:
        return [asked.unknown(first), *answers.translations(asked.models, asked.translation, first)]
    if asked.language:
        tokens, temperature, seed = drawn
        said = answers.continuations(asked.models, first, int(tokens), temperature, int(seed), asked.joined_by)
        return [asked.unknown(first), *said]
    more = [question for question in asked.texts if question not in (first, second)]
    table = answers.answers(asked.models, [first, second, *more[:_MAX_ASKED]], asked.task)
    if asked.reads_pictures:
        return [table]
    orders = " ".join(answers.both_orders(asked.models, first, second))
    return [
        asked.unknown(f"{first} {second}"),
        table,
        sheet.text(f"“{cut(first)}” and “{cut(second)}”: {orders}"),
    ]
