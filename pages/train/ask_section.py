"""The section "Ask it": answers of the trained models to typed sentences, their continuations and their maps.

The models are loaded when the tab is opened; its controls exist before.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import streamlit as st

from headlight.link.limits import MAX_TEXT_LENGTH, check_length
from headlight.picture import pictures, words
from headlight.registry import get_source, models
from headlight.ui import sheet
from headlight.ui.numbers import cut
from headlight.ui.sheet import Block
from mha_core.errors import HeadlightError
from mha_core.token_text import quote
from mha_core.training.tasks import Dates, Labelled, Pictures, Task
from pages.frame import canvas, widgets

from . import answers
from .answers import TrainedModel
from .recipe_controls import LANGUAGE
from .runs import Runs
from .task_words import default_texts

_NOT_YET = "A model can be tried once its training has ended. Runs without stored weights cannot be tried."
_MAX_QUESTIONS = 6  # rows of the table after the typed sentences


class Questions:
    """The trained models and the texts to ask them.

    Args:
        task: the data of the task; None if it is not available, for example for a run that was opened from a file.
    """

    def __init__(self, runs: Runs, task: Task | None) -> None:
        self.names = runs.model_names  # candidate -> the name of its model
        firsts = [runs.first_run(name) for name in self.names]
        self.heads = answers.head_names([(first.recipe.n_layers, first.recipe.n_heads) for first in firsts])
        # the default texts of empty boxes
        self.texts = (
            default_texts(task) if task else get_source(next(iter(self.names.values()))).presets if firsts else ()
        )
        self.task = task if isinstance(task, Labelled) else None
        self.translation = task if isinstance(task, Dates) else None
        # whether the models continue a text instead of classifying it
        self.language = any(first.recipe.task in LANGUAGE for first in firsts)
        self.separator = "" if any(first.recipe.task == "text" for first in firsts) else " "
        # empty if the models are no classifiers
        self.classes = tuple(next((first.start.classes for first in firsts if first.start), ()))

    @cached_property
    def models(self) -> dict[str, TrainedModel]:
        """The loaded models by the names of their candidates; models that no longer exist are omitted."""
        ready = {}
        for name, model in self.names.items():
            try:
                ready[name] = TrainedModel(model, pictures.model_on("auto", model))
            except HeadlightError:
                continue
        return ready

    def select_models(self, names: Sequence[str]) -> dict[str, TrainedModel]:
        """Return the loaded models of the named candidates."""
        return {name: self.models[name] for name in names if name in self.models}

    @property
    def reads_pictures(self) -> bool:
        """Return whether the texts describe pictures."""
        return isinstance(self.task, Pictures)

    @property
    def notices(self) -> list[str]:
        """The notices on all answers so far, without duplicates."""
        return list(dict.fromkeys(sentence for trained in self.models.values() for sentence in trained.notices))

    def default_text(self, number: int) -> str:
        """Return the text that an empty box stands for: 0 for the first box, 1 for the second."""
        return self.texts[number % len(self.texts)] if self.texts else ""

    def text(self, number: int) -> str:
        """Return the typed text of a box, or its default text."""
        return str(st.session_state.get(("ask", "ask2")[number]) or "") or self.default_text(number)

    def vocabulary_notice(self, text: str) -> Block:
        """Return a notice on the words that the first model's vocabulary lacks."""
        return sheet.notices(models.unknown_token_notices(next(iter(self.models.values())).model, text))


def draw(questions: Questions, *, is_open: bool) -> None:
    """Draw the controls and, in the open tab, the models' answers."""
    if not questions.names:
        canvas.sheet("not_yet", [sheet.panel("Ask it", [sheet.text(_NOT_YET)])] if is_open else [])
        return
    if is_open and not questions.models:
        canvas.sheet("not_yet", [sheet.text("The trained models are no longer stored; train them again.")])
        is_open = False
    left, right = st.columns([1.35, 1]) if questions.classes else (st.container(), st.container())
    with left:
        _ask(questions, is_open=is_open)
    with right:
        if is_open and questions.classes:
            _chances(questions)
    _attention(questions, is_open=is_open)
    # Last, when all answers exist. A container reserved above would remount the text boxes and clear them.
    canvas.sheet("ask_notice", [sheet.notices(questions.notices)] if is_open else [])


def _ask(questions: Questions, *, is_open: bool) -> None:
    """Draw the text boxes and the answers: classes, translations or continuations."""
    with st.container(border=True, key="ask_panel"):
        canvas.sheet("ask_title", [sheet.title("Ask it", "your sentences, and some of the task’s")])
        columns = st.columns(2) if questions.classes else [st.container()]
        pair = ("A picture, in words", "Another one") if questions.reads_pictures else ("A sentence", "Another one")
        single = "A date, in words" if questions.translation else "The beginning of a text"
        labels = pair if questions.classes else (single,)
        for number, (column, label, key) in enumerate(zip(columns, labels, ("ask", "ask2"), strict=False)):
            with column:
                widgets.text(key, label=label, max_chars=MAX_TEXT_LENGTH, placeholder=questions.default_text(number))
        texts = [questions.text(number) for number in range(len(labels))]
        sampling = _sampling_controls() if questions.language else {}
        canvas.sheet("answers", _or_notice(lambda: _answer_blocks(questions, **sampling), *texts) if is_open else [])


def _sampling_controls() -> dict[str, Any]:
    """Draw the controls of a continuation; return the number of tokens and how they are sampled."""
    names = {"more": "tokens", "temp": "temperature", "topk": "top_k", "topp": "top_p", "dice": "seed"}
    values = {}
    for column, (key, name) in zip(st.columns(len(names)), names.items(), strict=True):
        with column:
            values[name] = widgets.number(key) if key in ("temp", "topp") else widgets.integer(key)
    return values


def _chances(questions: Questions) -> None:
    texts = [questions.text(0), questions.text(1)]
    blocks = _or_notice(lambda: [sheet.row(answers.chances(questions.models, texts))], *texts)
    canvas.sheet("chances", [sheet.panel("Probability of every class", blocks, "of the sentences asked")])


def _attention(questions: Questions, *, is_open: bool) -> None:
    """Draw the attention maps of all models for the first sentence."""
    sentence = questions.text(0)
    with st.container(border=True, key="attention_panel"):
        note = f"{quote(cut(sentence))} · rows are queries, columns are keys · counted from 0"
        canvas.sheet("attention_title", [sheet.title("Attention maps", note)])
        head = widgets.choice("head", questions.heads)
        if is_open:
            blocks = _or_notice(lambda: answers.maps(questions.models, questions.translation, sentence, head), sentence)
            canvas.sheet("attention", blocks)


def _or_notice(draw: Callable[[], list[Block]], *texts: str) -> list[Block]:
    """Return the blocks, or a notice why the texts cannot be used."""
    try:
        for text in texts:
            check_length(text)
        return draw()
    except HeadlightError as error:
        return [sheet.notices([words.error_sentence(error)])]


def _answer_blocks(questions: Questions, **sampling: Any) -> list[Block]:
    """Return the models' answers; `sampling` holds the values of `_sampling_controls` for language models."""
    first, second, models = questions.text(0), questions.text(1), questions.models
    if questions.translation:
        return [questions.vocabulary_notice(first), *answers.translations(models, questions.translation, first)]
    if questions.language:
        panels = answers.continuations(models, first, separator=questions.separator, **sampling)
        return [questions.vocabulary_notice(first), *panels]
    more = [question for question in questions.texts if question not in (first, second)]
    table = answers.answers(questions.models, [first, second, *more[:_MAX_QUESTIONS]], questions.task)
    if questions.reads_pictures:
        return [table]
    orders = " ".join(answers.compare_orders(questions.models, first, second))
    return [
        questions.vocabulary_notice(f"{first} {second}"),
        table,
        sheet.text(f"{quote(cut(first))} and {quote(cut(second))}: {orders}"),
    ]
