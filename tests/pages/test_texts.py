"""The page of texts: every element has a link that opens what it says; and the glossary of all that is chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

import pytest

from headlight.lessons.course import claims
from headlight.link.fields import FIELDS, MASKS
from headlight.picture.query import Query
from headlight.ui import web
from headlight.ui.pages import PAGES, path
from headlight.ui.terms import MARKED, TERMS
from mha_core.positions import NAMES
from pages.claims.page import by_name
from pages.implementations.dialects import dictionary
from pages.shapes.reshape_lessons import LESSONS
from pages.shapes.step_names import usable
from pages.texts.catalog import texts

from .conftest import app_at, blocks, payloads

# each link once: texts that have the same thing share its page
ELEMENTS = [element for text in texts() for element in text.elements]
LINKS = list(dict.fromkeys((element.page, element.link) for element in ELEMENTS))


def values_of(link: Sequence[tuple[str, str]]) -> dict[str, str | list[str]]:
    several = Counter(key for key, _ in link)
    return {key: [text for own, text in link if own == key] if several[key] > 1 else value for key, value in link}


def test_a_card_a_text_in_order_with_a_link_for_each_of_its_elements() -> None:
    app = app_at("texts").run()
    (columns,) = [block for block in blocks(app, "texts") if block.get("columns")]
    for card, text in zip(columns["blocks"], texts(), strict=True):
        (rows,) = card["blocks"]
        assert [row[:2] for row in rows["rows"]] == [[one.name, one.said] for one in text.elements]
        for (_, _, address, title), one in zip(rows["rows"], text.elements, strict=True):
            link = urlsplit(address)
            assert link.path == path(one.page)
            assert [(key, value) for key, found in parse_qs(link.query).items() for value in found] == list(one.link)
            assert title == PAGES[one.page].title
    (button,) = [one.proto for one in app.get("link_button")]
    assert web.FILES[button.url.removeprefix(f"{web.PREFIX}/")] == web.TUTORIAL.read_bytes()


def test_a_link_says_what_the_fields_take() -> None:
    for element in ELEMENTS:
        query, said = Query(urlsplit(element.address).query.encode()), dict(element.link)
        for key, value in element.link:
            assert key in FIELDS
            found = query[key]  # raises where no control of that key could hold this
            assert not isinstance(found, str) or found == value
        assert said.get("claim", "orange") in by_name(claims())
        assert said.get("lesson", "no transpose") in LESSONS
        assert usable(said.get("step", "q"))
        assert "find" not in said or dictionary(said["find"])[0]["kind"] == "table"


@pytest.mark.thorough("thirty runs of whole pages, until each key of each has been in a link")
def test_a_link_opens_what_it_says() -> None:
    opened = set[tuple[str, str]]()
    for page, link in sorted(LINKS, key=lambda one: -len(one[1])):  # until each key of each page has been opened once
        keys = {(page, key) for key, _ in link}
        if keys and keys <= opened:
            continue
        opened |= keys
        app = app_at(page, **values_of(link)).run()
        assert "The link says" not in payloads(app), (page, link)
        for key, wanted in values_of(link).items():
            if key in app.session_state:  # else it has no control of the script's
                now = app.session_state[key]
                found = list(map(str, now)) if isinstance(now, list) else str(now).lower().removesuffix(".0")
                assert found == (wanted if isinstance(wanted, list) else wanted.lower().removesuffix(".0")), (page, key)


def test_a_word_stands_once_in_the_glossary_and_links_to_its_page() -> None:
    every = [term for terms in TERMS.values() for term in terms]
    names = {term.name for term in every}
    assert len(names) == len(every)
    for term in every:
        assert term.page in PAGES
    assert (set(MASKS) | set(NAMES)) - {"none"} <= names
    assert MARKED.keys() <= names
    (columns,) = [block for block in blocks(app_at("glossary").run()) if block.get("columns")]
    assert [name for card in columns["blocks"] for name, *_ in card["blocks"][0]["rows"]] == [one.name for one in every]
