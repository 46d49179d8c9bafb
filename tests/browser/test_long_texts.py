"""Above 256 tokens only the layer in sight goes over whole; the others come when they are asked for."""

from __future__ import annotations

from playwright.sync_api import expect

from .expected import core, largest, written
from .explore_page import Explore

WORDS = ("the", "cat", "ran", "a", "far", "way", "it", "was", "so", "we")


def text_of(tokens: int) -> str:
    text = " ".join(WORDS[number % len(WORDS)] for number in range(tokens - 2))
    assert len(core().tokenize(text)[0]) == tokens
    return text


def test_300_tokens_and_switching_layers(explore: Explore) -> None:
    text = text_of(300)
    explore.open()
    explore.retype(text)
    run = explore.shows(text)
    row = run.tokens.index("it")
    assert explore.badges() == largest(run, 3, 1, row)
    expect(explore.view.locator(".law")).not_to_contain_text("thumbnail")
    explore.layer(5).click()
    explore.settled()
    expect(explore.view.locator(".law")).not_to_contain_text("thumbnail")
    assert explore.badges() == largest(run, 5, 1, row)
    weight = written(float(run.weights[5, 1, 200, 100]))
    assert explore.hover(200, 100) == f"{run.tokens[200]} → {run.tokens[100]} {weight}"
    explore.button("all 72 heads").click()
    explore.settled()
    expect(explore.view.locator(".tile")).to_have_count(72)
    explore.tile(0, 2).locator(".square").click()
    explore.settled()
    assert explore.badges() == largest(run, 0, 2, row)
    assert not explore.notices()


def test_510_tokens_work(explore: Explore) -> None:
    text = text_of(510)
    assert len(text) <= 2000
    explore.open(s=text, at="1.4")
    run = explore.shows(text)
    assert len(explore.chips()) == 510
    assert explore.badges() == largest(run, 1, 4, run.tokens.index("it"))
    explore.button("table").click()
    explore.settled()
    expect(explore.view.locator(".large .table p")).to_contain_text("510 × 510 weights are too many to read")
    listed = {int(row[0]): row[2] for row in explore.table()}
    row = run.tokens.index("it")
    assert listed == {key: f"{weight:.4f}" for key, weight in enumerate(run.weights[1, 4, row].tolist())}
    explore.lamp(1, 0).click()
    explore.shows(text, heads_off=((1, 0),))
