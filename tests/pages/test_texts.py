"""The texts at the foot of Lessons: every element has a link that opens it; and the glossary of all that is chosen."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

import pytest
import torch
from torch import nn

from headlight import ROOT
from headlight.lessons.course import course
from headlight.link.fields import FIELDS, MASKS
from headlight.picture.query import Query
from headlight.ui import web
from headlight.ui.pages import PAGES, path
from headlight.ui.terms import MARKED, QUESTIONS, TERMS
from mha_core import IMPLEMENTATIONS
from mha_core.positions import NAMES
from mha_core.training.initial_weights import build_stack
from mha_core.training.recipe import defaults
from pages.implementations.dialects import dictionary
from pages.lessons.blocks import texts
from pages.shapes.reshape_lessons import LESSONS
from pages.shapes.step_names import is_step

from .conftest import app_at, blocks, payloads

CLAIMS = course().claims()
TEXTS = tomllib.loads((ROOT / "assets" / "texts.toml").read_text("utf-8"))["texts"]
# each link once: texts that have the same thing share its page
ADDRESSES = list(dict.fromkeys(row[2] for text in texts(course()) for row in text["blocks"][0]["rows"]))


def page_of(address: str) -> str:
    return next(name for name in PAGES if path(name) == urlsplit(address).path)


LINKS = [(page_of(address), tuple(parse_qsl(urlsplit(address).query))) for address in ADDRESSES]


def values_of(link: Sequence[tuple[str, str]]) -> dict[str, str | list[str]]:
    several = Counter(key for key, _ in link)
    return {key: [text for own, text in link if own == key] if several[key] > 1 else value for key, value in link}


def test_card_a_text_in_order_with_a_link_for_each_of_its_elements() -> None:
    app = app_at("lessons").run()
    (columns,) = [block for block in blocks(app, "lessons") if block.get("columns")]
    for card, text in zip(columns["blocks"], TEXTS, strict=True):
        (rows,) = card["blocks"]
        assert [row[:2] for row in rows["rows"]] == [[one["name"], one["said"]] for one in text["elements"]]
        for (_, _, address, title), one in zip(rows["rows"], text["elements"], strict=True):
            claim = one["link"].removeprefix("/claims?claim=")
            assert f"/{address}" == (f"/{CLAIMS[claim]}#at-headlight-lesson" if title == "Claims" else one["link"])
            assert title in ("Claims", PAGES[page_of(address)].title)
    (button,) = [one.proto for one in app.get("link_button")]
    assert web.FILES[button.url.removeprefix(f"{web.PREFIX}/")] == web.TUTORIAL.read_bytes()


def parameters(module: nn.Module) -> int:
    return sum(one.numel() for one in module.parameters())


def test_numbers_of_parameters_are_those_of_models_of_the_texts_sizes() -> None:
    sentences = " ".join(one["said"] for text in TEXTS for one in text["elements"])
    with torch.device("meta"):  # sizes only, no numbers
        biased, lesson = (IMPLEMENTATIONS["efficient"](384, 12, bias=bias, out_bias=True) for bias in (True, False))
        post, minilm = (build_stack(defaults("news"), words, classes=5) for words in (1000, 30_522))
    for parts, whole in ((lesson, biased), (minilm.words, minilm)):
        assert re.search(rf"{parameters(parts):,} of {parameters(whole):,} parameters", sentences)
    assert f"has {parameters(post):,}, of which {parameters(post.words):,} are in the embedding" in sentences


def test_notebooks_own_draws_overflow_as_often_as_its_line_says() -> None:
    """Its cells, with points and matrices of unit variance: exp of a score above 88.7 is infinite in float32."""
    lost = 0
    for seed in range(50):
        generator = torch.Generator().manual_seed(seed)
        points, *matrices = (torch.randn(shape, generator=generator) for shape in ((8, 80, 12), (12, 12), (12, 12)))
        k, q = (torch.einsum("ij,bsj->bsi", m, points).reshape(8, 80, 2, 6) for m in matrices)
        scores = torch.exp(torch.einsum("bshi,bthi->bhst", q, k) / 6**0.5)
        lost += bool((scores / scores.sum(-1, keepdim=True)).isnan().any())
    assert f"in {lost} of 50 draws" in " ".join(one["said"] for text in TEXTS for one in text["elements"])


def test_link_says_what_the_fields_take() -> None:
    for address, (_, link) in zip(ADDRESSES, LINKS, strict=True):
        query, fields = Query(urlsplit(address).query.encode()), dict(link)
        for key, value in link:
            assert key in FIELDS
            found = query[key]  # raises where no control of that key could hold this
            assert not isinstance(found, str) or found == value
        assert course().find(fields.get("learn", "it.1"))
        assert fields.get("lesson", "no transpose") in LESSONS
        assert is_step(fields.get("step", "q"))
        assert "find" not in fields or dictionary(fields["find"])[0]["kind"] == "table"


@pytest.mark.thorough("thirty runs of whole pages, until each key of each has been in a link")
def test_link_opens_what_it_says() -> None:
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


def test_word_stands_once_in_the_glossary_and_links_to_its_page() -> None:
    every = [term for terms in TERMS.values() for term in terms]
    names = {term.name for term in every}
    assert len(names) == len(every)
    for term in every:
        assert term.page in PAGES
    assert (set(MASKS) | set(NAMES)) - {"none"} <= names
    assert MARKED.keys() <= names
    page = blocks(app_at("glossary").run())
    (questions,), (columns,) = [[block for block in page if block.get(key)] for key in ("long", "columns")]
    assert [name for name, *_ in questions["rows"]] == [question.text for question in QUESTIONS]
    shown = [name for card in columns["blocks"] for name, *_ in card["blocks"][0]["rows"]]
    assert shown == [term.name for term in every]
