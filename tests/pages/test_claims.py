"""The page of claims: each is a step of the course; a claim is somebody's own words."""

from __future__ import annotations

import json
import re

from headlight.lessons import message
from headlight.lessons.course import course
from headlight.ui.pages import PAGES
from pages.claims.blocks import OWN_SOURCE

from .conftest import app_at, blocks

STEPS = [(lesson, at, step) for lesson in course().lessons.values() for at, step in enumerate(lesson.steps, 1)]
CLAIMS = [one for one in STEPS if one[2].claim]


def test_claim_is_a_texts_own_words_or_a_question_of_ours() -> None:
    """A quote has at most fifteen words and names its text; nobody means an answer, and its numbers are said."""
    assert course().errors == ()
    assert len({step.claim for *_, step in CLAIMS}) == len(CLAIMS) > 20
    for _, _, step in CLAIMS:
        assert not step.answer
        assert [option.text for option in step.choices] == ["True", "False", "It depends"]
        if step.source:
            quote = re.fullmatch("“(.*)”", step.question)
            assert quote
            assert 1 <= len([word for word in quote[1].split() if word != "…"]) <= 15, step.claim
        assert re.findall("{.*?}", step.explanation), step.claim


def test_each_is_listed_with_the_way_to_its_step() -> None:
    (block,) = [block for block in blocks(app_at("claims").run(), "claims") if block["kind"] == "claims"]
    assert [claim for _, claims in block["groups"] for claim in claims] == [
        [step.question, step.source or OWN_SOURCE, lesson.address(at), PAGES[step.page].title]
        for lesson, at, step in CLAIMS
    ]


def test_numbers_answer_a_claim_as_they_do_a_lesson() -> None:
    lesson, at, step = next(one for one in CLAIMS if one[2].claim == "order")
    verdict = json.loads(message.step_verdict(f"{step.query}&learn={lesson.id}.{at}".encode()))
    assert (verdict["picked"], verdict["sentence"]) == ("A", "A: True.")
    assert "{" not in verdict["explanation"]
