"""Long texts: from 513 tokens on only pieces of the map in focus go over, and layers come one after another."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from headlight.server import store
from mha_core import load_model
from mha_core.training import saved, tasks
from mha_core.training.loop import Training
from mha_core.training.recipe import Recipe

from .expected import largest, written
from .explore_page import Explore

WORDS = ("the", "cat", "ran", "a", "far", "way", "it", "was", "so", "we")


@pytest.mark.thorough("texts of 300 to 800 tokens take seconds to compute and to draw")
def test_800_tokens_in_a_window_that_moves(explore: Explore, tmp_path: Path) -> None:
    recipe = Recipe(
        task="who", d_model=16, n_heads=2, n_layers=2, max_len=1024, vocabulary=60, position="rotary", steps=1,
        evaluations=1, batch=2,
    )  # fmt: skip
    training = Training(recipe, tasks.build("who"))
    for _ in training.events():
        pass
    training.save(tmp_path / "run")
    name = store.put("model", saved.pack(tmp_path / "run"))
    text = " ".join(WORDS[number % len(WORDS)] for number in range(440))
    run = load_model(str(tmp_path / "run")).run(text)
    n, maps = len(run.tokens), run.weights[1, 0]
    assert 700 < n < 1000
    explore.open(s=text, model=name, at="1.0.500")
    explore.looks_at(largest(run, 1, 0, 500))
    part = explore.view.locator(".long-bar .label")
    whole = f"rows 0–{n - 1}, keys 0–{n - 1} of {n}; each cell is the largest weight of 7 × 7"
    expect(part).to_have_text(whole)
    explore.view.locator(".notices summary").click()
    expect(explore.view.locator(".notices p")).to_contain_text("need at most 512 tokens")

    def said(row: int, key: int) -> str:
        return f"{run.tokens[row]} → {run.tokens[key]} {written(float(maps[row, key]))}"

    cell = explore.cell
    cell.focus()
    cell.press("Home")
    for _ in range(5):
        cell.press("+")
    expect(part).to_have_text(f"rows 481–512, keys 0–31 of {n}")
    expect(cell).to_have_attribute("aria-label", said(500, 0))
    for _ in range(4):
        cell.press("Shift+ArrowRight")  # beyond the window, which follows
    expect(part).to_have_text(f"rows 481–512, keys 9–40 of {n}")
    expect(cell).to_have_attribute("aria-label", said(500, 40))
    cell.press("Home")
    expect(cell).to_have_attribute("aria-label", said(500, 0))
    expect(cell).to_have_attribute("aria-colindex", "1")
    cell.press("0")
    expect(part).to_have_text(whole)
    explore.view.get_by_role("button", name="show a smaller part, enlarged").click(click_count=3)
    explore.view.locator(".whole-map").click(position={"x": 4, "y": 4})
    expect(part).to_contain_text("rows 0–")

    # a layer after the other: the others can be waited for, stopped and gone on with
    explore.page.route("**/api/part?*", lambda route: None)  # it takes long
    way = explore.view.locator(".progress-line")
    explore.layer(0).click()
    expect(explore.view.locator(".large h2")).to_contain_text(run.tokens[500])
    explore.box.fill(f"{text} it was")
    expect(way).to_contain_text("1 of 2 layers of this text are computed. The other layers follow.")
    run = load_model(str(tmp_path / "run")).run(f"{text} it was")
    expect(part).to_contain_text(f"of {len(run.tokens)}")
    assert explore.badges() == largest(run, 0, 0, 500)
    explore.layer(1).click()
    expect(way).to_contain_text("Layer 1 follows.")
    expect(explore.view.locator(".large h2")).to_have_text("Layer 1 is not computed yet")
    expect(explore.tile(1, 0)).to_contain_text("not computed yet")
    explore.button("stop").click()
    expect(way).to_contain_text("Stopped after 1 of 2 layers of this text.")
    explore.page.unroute("**/api/part?*")
    explore.button("continue").click()
    expect(way).to_be_hidden()
    assert explore.badges() == largest(run, 1, 0, 500)
