"""Questions to the trained models: typed sentences, padding, continuations, and their maps side by side."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from mha_core.errors import HeadlightError
from mha_core.training.tasks import Labelled, Language
from pages.kit.draw import canvas, sheet
from pages.kit.draw.sheet import Block
from pages.kit.frame import controls
from pages.kit.frame.links import BOUND, DEFAULTS, bound_if_short
from pages.kit.picture import pictures, words
from pages.kit.picture.limits import LONGEST_CONTINUATION, LONGEST_TEXT
from pages.kit.picture.models import presets
from pages.kit.picture.models import unknown as unknown_words

from . import answers, summary
from .answers import Trained
from .recipe_controls import LANGUAGE
from .runs import Shown

__all__ = ["Asked", "ask", "asked_of", "attention", "chances", "padding"]

_NOT_YET = "The first models can be asked as soon as they are saved, at the end of the training."
_MOST_ASKED = 6  # questions of the task in the table


@dataclass(frozen=True)
class Asked:
    """Who is asked, and what about.

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


def asked_of(shown: Shown, task: Labelled | Language | None) -> Asked:
    """What can be asked of these runs; one that is gone is left out."""
    found = {}
    for name, model in shown.ready.items():
        try:
            found[name] = Trained(model, pictures.model_on("cpu", model))
        except HeadlightError:
            continue
    recipes = [shown.first(name).recipe for name in found]
    texts = task.questions if task else presets(next(iter(shown.ready.values()))) if found else ()
    return Asked(
        found,
        task if isinstance(task, Labelled) else None,
        texts,
        task.probes[0] if task else next(iter(texts), ""),
        any(recipe.task in LANGUAGE for recipe in recipes),
        "" if any(recipe.task == "text" for recipe in recipes) else " ",
    )


def ask(asked: Asked) -> None:
    """What they say to the typed sentences: their classes, or how they go on."""
    if not asked.models:
        canvas.sheet("answers", [sheet.panel("Ask it", [sheet.text(_NOT_YET)])])
        return
    with st.container(border=True, key="ask_panel"):
        canvas.sheet("ask_title", [sheet.title("Ask it", "your sentences, and some of the task’s")])
        first, second = _sentences(asked)
        try:
            blocks = _continued(asked, first) if asked.language else _answered(asked, first, second)
        except HeadlightError as error:
            blocks = [sheet.notices([words.sentence(error)])]
        canvas.sheet("answers", blocks)


def chances(asked: Asked) -> None:
    """The probability of every class for both sentences."""
    if not asked.models or asked.language:
        return
    texts = [_typed(asked, 0), _typed(asked, 1)]
    try:
        for sentence in texts:
            controls.check_length(sentence)
        blocks = [sheet.row(answers.chances(asked.models, texts))]
    except HeadlightError as error:
        blocks = [sheet.notices([words.sentence(error)])]
    canvas.sheet("chances", [sheet.panel("Probability of every class", blocks, "of the sentences asked above")])


def padding(asked: Asked) -> None:
    """The same sentence alone, and beside a long one, with the padding masked and not."""
    if not asked.models or asked.language:
        return
    longest = answers.beginning(asked.models, asked.task.longest if asked.task else "")
    short = _typed(asked, 0)
    with st.container(border=True, key="padding_panel"):
        canvas.sheet("padding_title", [sheet.title("Alone, or beside a long text", "what a missing padding mask does")])
        typed = st.text_input(
            "The long text; empty: the longest of the training rows, as far as it fits",
            DEFAULTS["longer"],
            key="longer",
            bind=bound_if_short("longer"),
            max_chars=LONGEST_TEXT,
        )
        long = typed or longest
        try:
            controls.check_length(short)
            blocks = [
                sheet.text(f"“{short}” beside “{long if len(long) <= 100 else f'{long[:99]}…'}”"),
                answers.beside(asked.models, short, long),
            ]
        except HeadlightError as error:
            blocks = [sheet.notices([words.sentence(error)])]
        canvas.sheet("padding_answers", blocks)


def attention(asked: Asked, shown: Shown) -> None:
    """The maps of all of them for the typed sentence, with their numbers."""
    if not asked.models:
        return
    sentence, names = str(st.session_state.get("ask") or "") or asked.probe, answers.head_names(asked.models)
    with st.container(border=True, key="attention_panel"):
        canvas.sheet(
            "attention_title",
            [sheet.title("Attention side by side", f"“{_short(sentence)}” · rows look at columns · counted from 0")],
        )
        chosen = st.selectbox("Head", names, key="head", bind=BOUND)
        try:
            controls.check_length(sentence)
            blocks = [sheet.row(answers.maps(asked.models, sentence, chosen or names[0]))]
        except HeadlightError as error:
            blocks = [sheet.notices([words.sentence(error)])]
        scores = summary.heads(shown.candidates)
        more = [sheet.title("Heads of the language models", "first seed, last look"), sheet.row(scores)]
        canvas.sheet("attention", [*blocks, *(more if scores else [])])


def _sentences(asked: Asked) -> tuple[str, str]:
    """The typed sentences; those of the task while nothing was typed."""
    columns = [st.container()] if asked.language else st.columns(2)
    labels = ("The beginning of a text",) if asked.language else ("A sentence", "Another one")
    for number, (column, label, key) in enumerate(zip(columns, labels, ("ask", "ask2"), strict=False)):
        with column:
            st.text_input(
                label,
                DEFAULTS[key],
                key=key,
                bind=bound_if_short(key),
                max_chars=LONGEST_TEXT,
                placeholder=_usual(asked, number),
            )
    return _typed(asked, 0), _typed(asked, 1)


def _typed(asked: Asked, number: int) -> str:
    """The first or second sentence: what was typed, or one that is usual."""
    return str(st.session_state.get(("ask", "ask2")[number]) or "") or _usual(asked, number)


def _usual(asked: Asked, number: int) -> str:
    return asked.texts[number % len(asked.texts)] if asked.texts else ""


def _answered(asked: Asked, first: str, second: str) -> list[Block]:
    for sentence in (first, second):
        controls.check_length(sentence)
    known = next(iter(asked.models.values())).model
    more = [question for question in asked.texts if question not in (first, second)]
    return [
        sheet.notices(unknown_words(known, f"{first} {second}")),
        answers.answers(asked.models, [first, second, *more[:_MOST_ASKED]], asked.task),
        sheet.text(
            f"“{_short(first)}” and “{_short(second)}”: {' '.join(answers.both_orders(asked.models, first, second))}"
        ),
    ]


def _continued(asked: Asked, beginning: str) -> list[Block]:
    controls.check_length(beginning)
    left, middle, right = st.columns(3)
    tokens = left.number_input("More tokens", 1, LONGEST_CONTINUATION, DEFAULTS["more"], key="more", bind=BOUND)
    temperature = middle.number_input(
        "Temperature, 0 = the likeliest", 0.0, 5.0, DEFAULTS["temp"], 0.1, key="temp", bind=BOUND
    )
    seed = right.number_input("Seed of the draws", 0, 9999, DEFAULTS["dice"], key="dice", bind=BOUND)
    said = answers.continuations(
        asked.models,
        beginning,
        int(tokens or DEFAULTS["more"]),
        float(temperature or 0.0),
        int(seed or 0),
        asked.joined_by,
    )
    return [sheet.notices(unknown_words(next(iter(asked.models.values())).model, beginning)), *said]


def _short(sentence: str) -> str:
    return sentence if len(sentence) <= 60 else f"{sentence[:59]}…"
