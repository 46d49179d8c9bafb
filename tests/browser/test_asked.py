"""The 25 questions that learners ask most: each is answered two clicks from the first page.

Opening the search, by a click or `/`, is the first; choosing what it finds, by a click or Enter, is the second.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from headlight.lessons.course import course
from headlight.lessons.evaluate import number
from headlight.lessons.grammar import parse
from headlight.lessons.quantities.scene import page_scene
from headlight.picture.query import Query
from headlight.ui import pages
from headlight.ui.terms import QUESTIONS
from tests.pages.numbers_shown import assert_shows

from .explore_page import Explore


class Search(NamedTuple):
    """A search for an answer.

    Attributes:
        typed: into the search.
        visible: a heading or a sentence at the answer.
        place: selector of the part of the page with the number that answers it; "" without one.
        text: pattern of the text around that number.
        rule: the number, computed by the core.
    """

    typed: str
    visible: str
    place: str = ""
    text: str = ""
    rule: str = ""


# The most frequent first; those that were not answered here have a number.
ASKED = (
    Search("attention maps per head", "Why SDPA and flash attention return no maps"),
    Search("view or view and transpose", "The classic mistake: view without transpose"),
    Search(
        "RoPE halves or neighbours",
        "One vector, two pairings",
        ".lesson-room",
        r"neighbours, q and k as they are\s+\S+\s+\S+\s+(\S+)",
        'max(|rope_maps("neighbours") - rope_maps("halves")|)',
    ),
    Search("padding rows masked", "Padding rows do no harm"),
    Search("which axis is the batch", "Attention across the batch"),
    Search("first token bug", "How much of it is on [CLS], which stands for no word?"),
    Search("rows sum after dropout", "Dropout of the weights"),
    Search("True allowed or blocked", "Do both compute causal attention?"),
    Search("KV cache no queries", "There is no Q cache", ".view-room", r"that is (\S+) bytes", 'cache_bytes("model")'),
    Search("grouped heads tiled", "Repeat, or tile?"),
    Search("who asks in cross-attention", "Which text asks the other? Add up one row, and one column."),
    Search("why divide by sqrt d", "With 512 numbers per word and no division, what is the mean entropy of a row?"),
    Search("may I average over the heads", "How much of the line on the previous word is left in the mean?"),
    Search("attention an explanation", "What is the rank of this head?"),
    Search("row may look at nobody", "Which version of the softmax assigns weights to masked words?"),
    Search("add −∞ or multiply", "Setting masked scores to −1e9 is as good as −∞."),
    Search("trained in parallel", "How many next words does this pass predict?"),
    Search("what are Q, K and V", "Which weights have changed?"),
    Search("why many heads", "What does this head do?"),
    Search("× √d_model", "The paper multiplies its embeddings by √d_model"),
    Search(
        "add or concatenate positions", "Positions, added or beside", ".lesson-room", r"queries (\S+)\.", "concatenated"
    ),
    Search(
        "MLP residual norm",
        "This running sum is the token’s residual stream",
        ".view-room",
        r"has length (\S+) before",
        "stream_norm[0,-1]",
    ),
    Search(
        "temperature, top-k and top-p",
        "The temperature acts first, then top-k, then top-p.",
        ".words",
        r"now has probability (\S+)\.",
        'chance_after("Paris", "top-p")',
    ),
    Search("head 0 in (n · b)", "Heads before tokens"),
    Search("pictures or sound", "Which shape is in the picture"),
)
OFTEN = pytest.mark.thorough("twenty visits that show a sentence each; those with a number are in the quick tests")


def test_each_question_of_the_file_is_followed() -> None:
    assert len(QUESTIONS) == len(ASKED) == 25


@pytest.mark.parametrize(
    ("place", "search"),
    [pytest.param(at, one, id=one.typed, marks=() if one.rule else OFTEN) for at, one in enumerate(ASKED)],
)
def test_an_answer_is_two_clicks_from_the_first_page(place: int, search: Search, explore: Explore) -> None:
    page, question = explore.open().page, QUESTIONS[place]
    page.keyboard.press("/")
    page.keyboard.type(search.typed)
    found = page.get_by_role("dialog", name="Search").get_by_role("option").first
    expect(found).to_contain_text(question.text)
    expect(found).to_contain_text(question.answer)
    page.keyboard.press("Enter")
    address = urlsplit(course().address(question.link))
    name = pages.page_at(address.geturl())
    page.wait_for_url(lambda url: urlsplit(url).path == f"/{pages.path(name)}")
    expect(page.get_by_text(search.visible).first).to_be_visible()
    if search.rule:
        part = page.locator(search.place).first
        explore.until(lambda: re.search(search.text, part.inner_text()) is not None, search.text)
        text = re.search(search.text, part.inner_text())
        assert text
        assert_shows(text[1], number(parse(search.rule), page_scene(name, Query(address.query.encode()))))
