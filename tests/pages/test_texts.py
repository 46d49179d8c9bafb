"""The page of texts: every element has a link, and every link opens what it says, with nothing left over."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

import pytest
from torch import nn

from mha_core import Model
from pages.claims.page import by_name
from pages.implementations.dialects import dictionary
from pages.kit.draw import web
from pages.kit.draw.pages import PAGES, path
from pages.kit.lessons.course import claims
from pages.kit.picture.fields import FIELDS
from pages.kit.picture.query import Query
from pages.shapes.reshape_lessons import LESSONS
from pages.shapes.step_names import usable
from pages.texts.catalog import MINILM_TOKENS, Element, classifier, texts

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
    assert [card["heading"] for card in columns["blocks"]] == [text.name for text in texts()]
    for card, text in zip(columns["blocks"], texts(), strict=True):
        (rows,) = card["blocks"]
        assert [row[:2] for row in rows["rows"]] == [[one.name, one.said] for one in text.elements]
        for (_, _, address, title), one in zip(rows["rows"], text.elements, strict=True):
            link = urlsplit(address)
            assert link.path == path(one.page)
            assert [(key, value) for key, found in parse_qs(link.query).items() for value in found] == list(one.link)
            assert title == PAGES[one.page].title
    assert len(texts()) == 4


def test_an_element_is_a_name_and_one_or_two_sentences() -> None:
    for text in texts():
        assert len({one.name for one in text.elements}) == len(text.elements) >= 12
    for one in ELEMENTS:
        assert len(one.name) <= 40, one.name
        assert len(one.said) <= 130, one.name
        assert one.said[-1] in ".?"


def test_a_link_says_what_the_fields_take() -> None:
    for element in ELEMENTS:
        assert element.page in PAGES, element
        query = Query(urlsplit(element.address).query.encode())
        for key, value in element.link:
            assert key in FIELDS, element
            found = query[key]  # raises where no control of that key could say this
            assert not isinstance(found, str) or found == value, element
        said = dict(element.link)
        assert said.get("claim", "orange") in by_name(claims()), element
        assert said.get("lesson", "no transpose") in LESSONS, element
        assert usable(said.get("step", "q")), element
        assert "find" not in said or dictionary(said["find"])[0]["kind"] == "table", element


@pytest.mark.parametrize(("page", "link"), LINKS, ids=str)
def test_a_link_opens_what_it_says(page: str, link: tuple[tuple[str, str], ...]) -> None:
    app = app_at(page, **values_of(link)).run()
    assert "The link says" not in payloads(app)
    for key, wanted in values_of(link).items():
        if key not in app.session_state:  # no control of the script's
            continue
        now = app.session_state[key]
        assert (list(map(str, now)) if isinstance(now, list) else str(now).lower().removesuffix(".0")) == (
            wanted if isinstance(wanted, list) else wanted.lower().removesuffix(".0")
        )


def test_its_folds_are_open() -> None:
    folds = {"classes": {"impl": "naive", "beside": "efficient"}, "words": {"find": "seq_length"}}
    for name, link in folds.items():
        assert ("implementations", tuple(link.items())) in LINKS
        assert app_at("implementations", **link).run().session_state[f"unfolded_{name}"]


def test_the_numbers_are_those_of_such_models(model: Model) -> None:
    width = 64
    attention = nn.MultiheadAttention(width, 8)
    parts = [nn.Embedding(1000, width), attention, nn.Linear(width, 128), nn.Linear(128, 5)]
    total, embedding = classifier(1000)
    assert total == sum(one.numel() for part in parts for one in part.parameters()) == 89_605
    assert embedding == 64_000
    assert model.sizes.vocabulary == MINILM_TOKENS
    said = " ".join(element.said for element in ELEMENTS)
    large, large_embedding = classifier(MINILM_TOKENS)
    assert large - total == large_embedding - embedding == (30_522 - 1000) * width
    for number in (total, embedding, large, large_embedding, 590_208, 591_360):
        assert f"{number:,}" in said


def test_no_brand_is_named() -> None:
    said = " ".join(f"{text.name} {text.line} " + " ".join(one.said for one in text.elements) for text in texts())
    assert not re.search(r"labml|colab|medium|kaggle|datacamp", said, re.IGNORECASE)


def test_the_tutorial_is_offered_as_it_lies_in_the_docs() -> None:
    (button,) = [one.proto for one in app_at("texts").run().get("link_button")]
    assert button.label == "The tutorial as a notebook, .ipynb"
    assert button.url == f"{web.PREFIX}/tutorial.ipynb"
    assert web.FILES["tutorial.ipynb"] == web.TUTORIAL.read_bytes()
    assert web.FILES["tutorial.ipynb"].startswith(b"{")
