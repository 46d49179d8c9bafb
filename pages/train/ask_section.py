"""Questions to the trained models: typed sentences, padding, continuations, and the maps of what was asked.

The models are loaded when the tab is open; its controls are there before.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from mha_core.errors import HeadlightError
from mha_core.training.tasks import Labelled, Pictures, Task, Translation
from pages.kit.draw import canvas, sheet
from pages.kit.draw.numbers import cut
from pages.kit.draw.sheet import Block
from pages.kit.frame import widgets
from pages.kit.picture import models, pictures, words
from pages.kit.picture.limits import LONGEST_TEXT, check_length

from . import answers, looks, translations
from .answers import Trained
from .recipe_controls import LANGUAGE
from .runs import Runs
from .task_words import usual_texts

_NOT_YET = "You can ask a model once its training has ended. Runs without weights cannot be asked."
_MOST_ASKED = 6  # questions of the task in the table


@dataclass(frozen=True)
class Questions:
    """The models that are asked, and about what.

    Attributes:
        names: candidate -> the name of its model.
        heads: the choices of a map in these models.
        task: their data, None when it is not at hand, as of a run that was opened from a file.
        texts: to ask while nothing is typed.
        language: they go on with a text instead of naming its class.
        joined_by: what stands between two of their tokens.
        classes: names of the classes that they tell apart; none of other models.
        translation: their data, where they translate.
    """

    names: Mapping[str, str]
    heads: list[str]
    task: Labelled | None
    texts: tuple[str, ...]
    language: bool
    joined_by: str
    classes: tuple[str, ...] = ()
    translation: Translation | None = None

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


def questions_of(shown: Runs, task: Task | None) -> Questions:
    names = shown.ready
    recipes, starts = [shown.first(name).recipe for name in names], [shown.first(name).start for name in names]
    texts = usual_texts(task) if task else models.presets(next(iter(names.values()))) if names else ()
    return Questions(
        names,
        answers.head_names([(recipe.n_layers, recipe.n_heads) for recipe in recipes]),
        task if isinstance(task, Labelled) else None,
        texts,
        any(recipe.task in LANGUAGE for recipe in recipes),
        "" if any(recipe.task == "text" for recipe in recipes) else " ",
        tuple(next((start.classes for start in starts if start), ())),
        task if isinstance(task, Translation) else None,
    )


def draw(asked: Questions, *, is_open: bool) -> None:
    """Draws the questions and, in the open tab, what the models answer."""
    if not asked.names:
        canvas.sheet("not_yet", [sheet.panel("Ask it", [sheet.text(_NOT_YET)])] if is_open else [])
        return
    if is_open and not asked.models:
        canvas.sheet("not_yet", [sheet.text("The trained models are gone: train them again.")])
        is_open = False
    left, right = st.columns([1.35, 1]) if asked.classes else (st.container(), st.container())
    with left:
        _ask(asked, is_open=is_open)
    with right:
        if is_open and asked.classes:
            _chances(asked)
    _attention(asked, is_open=is_open)
    if asked.classes and not asked.reads_pictures:
        _padding(asked, is_open=is_open)
    # last, when all answers have been made; a place kept for it above would mount the boxes anew, and take their words
    canvas.sheet("ask_told", [sheet.notices(asked.notices)] if is_open else [])


def _ask(asked: Questions, *, is_open: bool) -> None:
    """Draws the answers to the typed sentences: classes, or continuations."""
    with st.container(border=True, key="ask_panel"):
        canvas.sheet("ask_title", [sheet.title("Ask it", "your sentences, and some of the task’s")])
        columns = st.columns(2) if asked.classes else [st.container()]
        two = ("A picture, in words", "Another one") if asked.reads_pictures else ("A sentence", "Another one")
        labels = two if asked.classes else (_one_text(asked),)
        for number, (column, label, key) in enumerate(zip(columns, labels, ("ask", "ask2"), strict=False)):
            with column:
                widgets.text(key, label=label, max_chars=LONGEST_TEXT, placeholder=asked.usual(number))
        if asked.language:
            numbers = _draws()
            blocks = _or_notice(lambda: _continued(asked, *numbers)) if is_open else []
        elif asked.translation:
            blocks = _or_notice(lambda: _translated(asked)) if is_open else []
        else:
            blocks = _or_notice(lambda: _answered(asked)) if is_open else []
        canvas.sheet("answers", blocks)


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


def _padding(asked: Questions, *, is_open: bool) -> None:
    """Draws the answers to a sentence alone, and beside a long one, with the padding masked and not."""
    short = asked.typed(0)
    with st.container(border=True, key="padding_panel"):
        canvas.sheet("padding_title", [sheet.title("Alone, or beside a long text", "what a missing padding mask does")])
        typed = widgets.text("longer", max_chars=LONGEST_TEXT)
        if not is_open:
            return
        long = typed or answers.beginning(asked.models, asked.task.longest if asked.task else "")
        said = sheet.text(f"“{short}” beside “{cut(long, 100)}”")
        canvas.sheet("padding_answers", _or_notice(lambda: [said, answers.beside(asked.models, short, long)], short))


def _attention(asked: Questions, *, is_open: bool) -> None:
    """Draws the maps of all models for the first sentence, with their numbers."""
    sentence = asked.typed(0)
    with st.container(border=True, key="attention_panel"):
        note = f"“{cut(sentence)}” · rows look at columns · counted from 0"
        canvas.sheet("attention_title", [sheet.title("Where each one looks", note)])
        head = widgets.choice("head", asked.heads)
        if is_open:
            blocks = _or_notice(lambda: _maps(asked, sentence, head), sentence)
            canvas.sheet("attention", blocks)


def _or_notice(draw: Callable[[], list[Block]], *texts: str) -> list[Block]:
    """The blocks, or the reason why these texts cannot be used."""
    try:
        for text in texts:
            check_length(text)
        return draw()
    except HeadlightError as error:
        return [sheet.notices([words.sentence(error)])]


def _one_text(asked: Questions) -> str:
    return "A date, in words" if asked.translation else "The beginning of a text"


def _maps(asked: Questions, sentence: str, head: str) -> list[Block]:
    if asked.translation:
        return translations.maps(asked.models, asked.translation, sentence, head)
    draw = looks.maps if asked.reads_pictures else answers.maps
    return [sheet.row(draw(asked.models, sentence, head))]


def _translated(asked: Questions) -> list[Block]:
    text, task = asked.typed(0), asked.translation
    check_length(text)
    return [asked.unknown(text), *(translations.answers(asked.models, task, text) if task else [])]


def _answered(asked: Questions) -> list[Block]:
    first, second = asked.typed(0), asked.typed(1)
    for sentence in (first, second):
        check_length(sentence)
    more = [question for question in asked.texts if question not in (first, second)]
    table = answers.answers(asked.models, [first, second, *more[:_MOST_ASKED]], asked.task)
    if asked.reads_pictures:
        return [table]
    orders = " ".join(answers.both_orders(asked.models, first, second))
    return [
        asked.unknown(f"{first} {second}"),
        table,
        sheet.text(f"“{cut(first)}” and “{cut(second)}”: {orders}"),
    ]


def _continued(asked: Questions, tokens: int, temperature: float, seed: int) -> list[Block]:
    beginning = asked.typed(0)
    check_length(beginning)
    said = answers.continuations(asked.models, beginning, tokens, temperature, seed, asked.joined_by)
    return [asked.unknown(beginning), *said]
