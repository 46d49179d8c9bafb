"""Questions to the trained models: typed sentences, padding, continuations, and their maps side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from mha_core.errors import HeadlightError
from mha_core.training.tasks import Labelled, Language
from pages.kit.draw import canvas, sheet
from pages.kit.draw.numbers import cut
from pages.kit.draw.sheet import Block
from pages.kit.frame import widgets
from pages.kit.picture import models, pictures, words
from pages.kit.picture.limits import LONGEST_TEXT, check_length

from . import answers, summary
from .answers import Trained
from .recipe_controls import LANGUAGE
from .runs import Shown

_NOT_YET = "You can question a model once its training has ended."
_MOST_ASKED = 6  # questions of the task in the table


@dataclass(frozen=True)
class Asked:
    """The models that are asked, and about what.

    Attributes:
        models: those that can be asked, by the names of their candidates.
        task: their data, None when it is not at hand, as of a run that was opened from a file.
        texts: to ask while nothing is typed.  probe: whose maps are shown then.
        language: they go on with a text instead of naming its class.
        joined_by: what stands between two of their tokens.
    """

    models: dict[str, Trained]
    task: Labelled | None
    texts: tuple[str, ...]
    probe: str
    language: bool
    joined_by: str

    def usual(self, number: int) -> str:
        """The first or second sentence while nothing is typed."""
        return self.texts[number % len(self.texts)] if self.texts else ""

    def typed(self, number: int) -> str:
        """The first or second sentence: what was typed, or the usual one."""
        return str(st.session_state.get(("ask", "ask2")[number]) or "") or self.usual(number)

    def unknown(self, text: str) -> Block:
        """Notices on the words that the first model's vocabulary lacks."""
        return sheet.notices(models.unknown(next(iter(self.models.values())).model, text))


def asked_of(shown: Shown, task: Labelled | Language | None) -> Asked:
    """All that can be asked of these runs; one that is gone is left out."""
    ready = {}
    for name, model in shown.ready.items():
        try:
            ready[name] = Trained(model, pictures.model_on("auto", model))
        except HeadlightError:
            continue
    recipes = [shown.first(name).recipe for name in ready]
    texts = task.questions if task else models.presets(next(iter(shown.ready.values()))) if ready else ()
    return Asked(
        ready,
        task if isinstance(task, Labelled) else None,
        texts,
        task.probes[0] if task else next(iter(texts), ""),
        any(recipe.task in LANGUAGE for recipe in recipes),
        "" if any(recipe.task == "text" for recipe in recipes) else " ",
    )


def ask(asked: Asked) -> None:
    """Draws the answers to the typed sentences: classes, or continuations."""
    if not asked.models:
        canvas.sheet("answers", [sheet.panel("Ask it", [sheet.text(_NOT_YET)])])
        return
    with st.container(border=True, key="ask_panel"):
        canvas.sheet("ask_title", [sheet.title("Ask it", "your sentences, and some of the task’s")])
        columns = [st.container()] if asked.language else st.columns(2)
        labels = ("The beginning of a text",) if asked.language else ("A sentence", "Another one")
        for number, (column, label, key) in enumerate(zip(columns, labels, ("ask", "ask2"), strict=False)):
            with column:
                widgets.text(key, label=label, max_chars=LONGEST_TEXT, placeholder=asked.usual(number))
        canvas.sheet("answers", _or_notice(lambda: (_continued if asked.language else _answered)(asked)))


def chances(asked: Asked) -> None:
    """Draws the probability of every class for both sentences."""
    if not asked.models or asked.language:
        return
    texts = [asked.typed(0), asked.typed(1)]
    blocks = _or_notice(lambda: [sheet.row(answers.chances(asked.models, texts))], *texts)
    canvas.sheet("chances", [sheet.panel("Probability of every class", blocks, "of the sentences asked above")])


def padding(asked: Asked) -> None:
    """Draws the answers to a sentence alone, and beside a long one, with the padding masked and not."""
    if not asked.models or asked.language:
        return
    longest = answers.beginning(asked.models, asked.task.longest if asked.task else "")
    short = asked.typed(0)
    with st.container(border=True, key="padding_panel"):
        canvas.sheet("padding_title", [sheet.title("Alone, or beside a long text", "what a missing padding mask does")])
        long = widgets.text("longer", max_chars=LONGEST_TEXT) or longest
        said = sheet.text(f"“{short}” beside “{cut(long, 100)}”")
        canvas.sheet("padding_answers", _or_notice(lambda: [said, answers.beside(asked.models, short, long)], short))


def attention(asked: Asked, shown: Shown) -> None:
    """Draws the maps of all models for the typed sentence, with their numbers."""
    if not asked.models:
        return
    sentence = str(st.session_state.get("ask") or "") or asked.probe
    with st.container(border=True, key="attention_panel"):
        note = f"“{cut(sentence)}” · rows look at columns · counted from 0"
        canvas.sheet("attention_title", [sheet.title("Attention side by side", note)])
        head = widgets.choice("head", answers.head_names(asked.models))
        blocks = _or_notice(lambda: [sheet.row(answers.maps(asked.models, sentence, head))], sentence)
        scores = summary.heads(shown.candidates)
        more = [sheet.title("Heads of the language models", "first seed, last look"), sheet.row(scores)]
        canvas.sheet("attention", [*blocks, *(more if scores else [])])


def _or_notice(draw: Callable[[], list[Block]], *texts: str) -> list[Block]:
    """The blocks, or the reason why these texts cannot be used."""
    try:
        for text in texts:
            check_length(text)
        return draw()
    except HeadlightError as error:
        return [sheet.notices([words.sentence(error)])]


def _answered(asked: Asked) -> list[Block]:
    first, second = asked.typed(0), asked.typed(1)
    for sentence in (first, second):
        check_length(sentence)
    more = [question for question in asked.texts if question not in (first, second)]
    orders = " ".join(answers.both_orders(asked.models, first, second))
    return [
        asked.unknown(f"{first} {second}"),
        answers.answers(asked.models, [first, second, *more[:_MOST_ASKED]], asked.task),
        sheet.text(f"“{cut(first)}” and “{cut(second)}”: {orders}"),
    ]


def _continued(asked: Asked) -> list[Block]:
    beginning = asked.typed(0)
    check_length(beginning)
    left, middle, right = st.columns(3)
    with left:
        tokens = widgets.whole("more")
    with middle:
        temperature = widgets.number("temp")
    with right:
        seed = widgets.whole("dice")
    said = answers.continuations(asked.models, beginning, tokens, temperature, seed, asked.joined_by)
    return [asked.unknown(beginning), *said]
