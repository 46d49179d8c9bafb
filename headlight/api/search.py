"""The index of the search box: terms, questions, pages, lessons, claims and controls, each with its link."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TypedDict

from headlight.lessons.course import course
from headlight.link.fields import FIELDS, MASKS
from headlight.ui import pages
from headlight.ui.terms import QUESTIONS, TERMS, Question
from mha_core.errors import HeadlightError

_OF_MASK = {"rule", "on", *(key for numbers in MASKS.values() for key in numbers)}  # set in the panel of the mask
_IN_PICTURE = "explore"  # the page of a control that several pages have


class SearchEntry(TypedDict):
    """A result: `target` is the term to show or the control to focus on its page, or ""."""

    title: str
    also: Sequence[str]  # synonyms
    text: str
    page: str  # title of the page that the link opens
    link: str
    target: str


class SearchGroup(TypedDict):
    """A group of results."""

    name: str
    entries: list[SearchEntry]
    carries: bool  # its links take along what the present address says


class SearchIndex(TypedDict):
    """The message of the route `search`."""

    groups: list[SearchGroup]


def answer(raw: bytes) -> bytes:
    """Return the index as JSON. Raises a HeadlightError for a query: the browser searches by itself."""
    if raw:
        raise HeadlightError("the search index is sent whole, without a query")
    return _to_json(course().stamps)


@lru_cache(maxsize=1)
def _to_json(_stamps: object) -> bytes:
    """Write the JSON once, until the file of a lesson changes."""
    return json.dumps(index(), ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def index() -> SearchIndex:
    """Return everything that can be found, in groups."""
    lessons, terms = course().lessons.values(), [term for group in TERMS.values() for term in group]
    groups = {
        "Terms": [_entry(term.name, term.meaning, "glossary", also=term.also, target=term.name) for term in terms],
        "Questions": [_question(question) for question in QUESTIONS],
        "Pages": [_entry(page.title, f"{page.question} {page.line}", name) for name, page in pages.PAGES.items()],
        "Lessons": [
            _entry(lesson.title, lesson.objective, lesson.steps[0].page, also=[lesson.course], link=lesson.address(1))
            for lesson in lessons
            if not lesson.claims
        ],
        "Claims": [
            _entry(step.question, step.instruction, step.page, link=lesson.address(number))
            for lesson in lessons
            for number, step in enumerate(lesson.steps, 1)
            if step.claim
        ],
        "Controls": _controls(),
    }
    carried = ("Terms", "Pages", "Controls")
    return {"groups": [SearchGroup(name=name, entries=rows, carries=name in carried) for name, rows in groups.items()]}


def _entry(
    title: str, text: str, page: str, *, also: Sequence[str] = (), link: str | None = None, target: str = ""
) -> SearchEntry:
    address = pages.path(page) if link is None else link
    return SearchEntry(
        title=title, also=[*filter(None, also)], text=text, page=pages.PAGES[page].title, link=address, target=target
    )


def _question(question: Question) -> SearchEntry:
    address = course().address(question.link)
    return _entry(question.text, question.answer, pages.page_at(address), also=question.also, link=address)


def _controls() -> list[SearchEntry]:
    """Return the fields of a link that are controls; the others have no label but their key."""
    names = {page.title: name for name, page in pages.PAGES.items()}
    return [
        _entry(
            field.label if "right" in field.label or not field.note.endswith("right side") else f"{field.label}, right",
            "" if field.note.startswith("as `") else field.note.replace("`", ""),
            names.get(field.page, _IN_PICTURE),
            target="mask" if key in _OF_MASK else key,
        )
        for key, field in FIELDS.items()
        if field.label not in (key, key.removesuffix("2"))
    ]
