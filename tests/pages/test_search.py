"""The index of the search box: everything that has a name is in it, each with a link that opens it."""

import json
from urllib.parse import urlsplit

import pytest

from headlight.api import search
from headlight.lessons.course import course
from headlight.link.fields import FIELDS
from headlight.ui.pages import PAGES, path
from headlight.ui.terms import QUESTIONS, TERMS
from mha_core.errors import HeadlightError

GROUPS = {group["name"]: group["entries"] for group in json.loads(search.answer(b""))["groups"]}
SYNONYMS = {
    "multi-query": "grouped-query attention",
    "GQA": "grouped-query attention",
    "KV cache": "KV cache",
    "flash": "fused attention",
    "SDPA": "fused attention",
    "output_attentions": "need_weights",
    "batch_first": "batch_first",
    "rotate_half": "rotate_half",
    "tile": "grouped-query attention",
    "who asks": "cross-attention",
    "concatenate": "added positions",
    "key_padding_mask": "padding mask",
    "cross-attention": "cross-attention",
    "ablation": "ablation",
}


def test_every_term_question_page_lesson_claim_and_control_is_in_the_index() -> None:
    titles = {name: {entry["title"] for entry in entries} for name, entries in GROUPS.items()}
    lessons = course().lessons.values()
    assert titles["Terms"] == {term.name for terms in TERMS.values() for term in terms}
    assert titles["Questions"] == {question.text for question in QUESTIONS}
    assert titles["Pages"] == {page.title for page in PAGES.values()}
    assert titles["Lessons"] == {lesson.title for lesson in lessons if not lesson.claims}
    assert titles["Claims"] == {step.question for lesson in lessons for step in lesson.steps if step.claim}
    assert titles["Controls"] >= {"Temperature", "Ablate heads, MLPs or layers", "Sentence", "Learning rate"}
    for entries in GROUPS.values():
        for entry in entries:
            assert urlsplit(entry["link"]).path in map(path, PAGES)
            assert entry["page"] in {page.title for page in PAGES.values()}
    assert {entry["target"] for entry in GROUPS["Controls"]} <= FIELDS.keys()


@pytest.mark.parametrize(("synonym", "name"), SYNONYMS.items())
def test_a_synonym_finds_its_term(synonym: str, name: str) -> None:
    (term,) = [entry for entry in GROUPS["Terms"] if entry["title"] == name]
    assert any(synonym.lower() in text.lower() for text in (term["title"], *term["also"]))


def test_a_query_is_refused() -> None:
    with pytest.raises(HeadlightError, match="without a query"):
        search.answer(b"q=mask")
