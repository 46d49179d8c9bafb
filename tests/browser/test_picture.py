"""The picture on the screen is the core's numbers: words, hover, table, pixels."""

from __future__ import annotations

import re
from itertools import pairwise

from playwright.sync_api import expect

from mha_core import Run
from pages.kit.picture.presets import PRESETS

from .expected import WIDE, largest, written
from .explore_page import Explore
from .tab import place_of

SCALES = (("root", "show small weights"), ("linear", "true to scale"), ("own", "each map by its own maximum"))
# A point of a cell where neither its number nor a line is drawn.
ACROSS, DOWN = 0.5, 0.14

PALETTE = """async ([view, scale, most]) => {
  const files = performance.getEntriesByType("resource").map((entry) => entry.name);
  const { open } = await import(files.find((name) => name.endsWith("/app.js")));
  const colour = open("base/colour.js");
  const pixels = colour.palette(view.dataset.theme, scale, most);
  return Array.from(pixels, (pixel) => [0, 8, 16].map((shift) => (pixel >> shift) & 255));
}"""
# How many pixels of the layer over the map are painted left of the cells, and above them.
PAINTED = """over => {
  const { width, height } = over;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(over, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height);
  const scale = width / over.clientWidth;
  const found = [0, 0];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      if (!data[4 * (y * width + x) + 3]) continue;
      if (x / scale < LEFT) found[0] += 1;
      else if (y / scale < TOP) found[1] += 1;
    }
  return found;
}"""

# What one can use on the stage, a group that Tab meets once counted as one.
CONTROLS = """view => {
  const seen = [...view.querySelectorAll("button, input, [role=grid], [role=group], summary")].filter(
    (own) => own.getClientRects().length);
  const groups = seen.filter((own) => own.matches("[role=grid], [role=group]"));
  return seen.filter((own) => !groups.some((group) => group !== own && group.contains(own)))
    .map((own) => own.getAttribute("aria-label") ?? own.textContent);
}"""


def bytes_of(run: Run, layer: int, head: int) -> list[list[int]]:
    rows: list[list[int]] = (run.weights[layer, head] * 255).round().int().tolist()
    return rows


def brightness(colour: list[int]) -> float:
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


def test_the_picture_is_the_cores_numbers(explore: Explore) -> None:
    explore.open()
    the_default_picture_and_what_it_reads_out(explore)
    pixels_are_the_palette_at_the_weights_and_the_table_has_four_digits(explore)
    the_row_and_column_pointed_at_are_named_on_a_long_map(explore)
    every_preset_is_one_click_away(explore)


def the_default_picture_and_what_it_reads_out(explore: Explore) -> None:
    controls = explore.view.evaluate(CONTROLS)
    assert len(controls) <= 12, controls
    run = explore.shows()
    row = run.tokens.index("it")
    assert explore.chips() == run.tokens
    expect(explore.place).to_contain_text("layer 3, head 1 ")
    expect(explore.tile(3, 1)).to_have_attribute("aria-selected", "true")
    expect(explore.chip(row)).to_have_attribute("aria-pressed", "true")
    assert explore.view.locator(".large .who").inner_text() == "it"
    explore.looks_at(largest(run, 3, 1, row))
    assert explore.badges()[0] == "animal 0.64"
    assert "street 0.05" in explore.badges()
    assert explore.figures()[:3] == ["1.000", "0 of 72", "1.000000"]
    assert not explore.notices()
    assert not explore.query
    assert re.fullmatch(
        r"\w+ · computed in [\d.]+ ms · \d+ kB of maps · 15 of at most 512 tokens",
        explore.view.locator(".status").text_content() or "",
    )
    expect(explore.view.get_by_text("counted from 0")).to_be_visible()
    story = explore.view.locator(".story").inner_text()
    assert "“animal” fits this query best" in story
    assert re.search(r"Its weight in this row is 64 %", story)

    n = len(run.tokens)
    for row, key in [(0, 0), (10, 2), (n - 1, n - 1), (4, 9), (9, 4)]:
        weight = written(float(run.weights[3, 1, row, key]))
        assert explore.hover(row, key) == f"{run.tokens[row]} → {run.tokens[key]} {weight}"
    explore.page.mouse.move(2, 2)
    assert explore.readout() == ""
    for head, row, key in [(2, 0, 0), (5, 10, 8), (11, n - 1, n - 1)]:
        box = place_of(explore.tile(3, head).locator(".square"))
        explore.page.mouse.move(box.x + (key + 0.5) * box.width / n, box.y + (row + 0.5) * box.height / n)
        byte = bytes_of(run, 3, head)[row][key]
        assert explore.readout() == f"L3 H{head}: {run.tokens[row]} → {run.tokens[key]} {byte / 255:.2f}"
    cell = explore.box_of(explore.cell, 1, 0)
    explore.page.mouse.click(cell.x - 20, cell.middle[1])  # a label stands for its row
    explore.settled()
    expect(explore.chip(1)).to_have_attribute("aria-pressed", "true")
    explore.looks_at(largest(run, 3, 1, 1))


def pixels_are_the_palette_at_the_weights_and_the_table_has_four_digits(explore: Explore) -> None:
    run = explore.shows()
    rows = bytes_of(run, 3, 1)
    for scale, button in SCALES:
        explore.button(button).click()
        expect(explore.button(button)).to_have_attribute("aria-pressed", "true")
        check_map(explore, rows, scale, max(map(max, rows)) if scale == "own" else 255)
    explore.button("show small weights").click()
    for layer in (3, 0):
        explore.layer(layer).click()
        explore.has_heads([f"{layer}.{head}" for head in range(12)])
        explore.settled()
        check_tiles(explore, run, layer)

    explore.layer(3).click()
    explore.button("table").click()
    expect(explore.view.locator(".large .map")).to_be_hidden()
    run = explore.shows()
    wanted = [
        [token, *(f"{weight:.4f}" for weight in row)]
        for token, row in zip(run.tokens, run.weights[3, 1].tolist(), strict=True)
    ]
    explore.until(lambda: explore.table() == wanted, "the table has the weights")
    explore.button("map").click()
    expect(explore.view.locator(".large .map")).to_be_visible()


def check_map(explore: Explore, rows: list[list[int]], scale: str, most: int) -> None:
    """Every cell of the enlarged map has the colour of its weight, and a larger weight is not darker."""
    colours = explore.page.evaluate(PALETTE, [explore.view.element_handle(), scale, most])
    cells = [(row, key) for row in range(len(rows)) for key in range(len(rows))]
    left, top, width, height = explore.box_of(explore.cell, 0, 0)
    points = [(left + (key + ACROSS) * width, top + (row + DOWN) * height) for row, key in cells]
    seen = explore.pixels(explore.view.locator(".large .map canvas").first, points)
    wrong = [(at, got) for at, got in zip(cells, seen, strict=True) if got != colours[rows[at[0]][at[1]]]]
    assert not wrong
    by_weight = sorted(zip((rows[row][key] for row, key in cells), map(brightness, seen), strict=True))
    assert all(low <= high + 2 for (_, low), (_, high) in pairwise(by_weight))


def check_tiles(explore: Explore, run: Run, layer: int) -> None:
    """Every cell of some tiles has the colour of its weight."""
    n = len(run.tokens)
    colours = explore.page.evaluate(PALETTE, [explore.view.element_handle(), "root", 255])
    points, wanted = [], []
    for head in (0, 5, 11):
        box = place_of(explore.tile(layer, head).locator(".square"))
        across, down = box.width / n, box.height / n
        for row, bytes_of_row in enumerate(bytes_of(run, layer, head)):
            points += [(box.x + (key + 0.5) * across, box.y + (row + 0.5) * down) for key in range(n)]
            wanted += [colours[byte] for byte in bytes_of_row]
    assert explore.pixels(explore.view.locator(".heads-holder canvas"), points) == wanted


def every_preset_is_one_click_away(explore: Explore) -> None:
    explore.typed("something else")
    for text in PRESETS:
        run = explore.clicked(text, text)
        expect(explore.box).to_have_value(text)
        expect(explore.button(text)).to_have_attribute("aria-pressed", "true")
        assert explore.chips() == run.tokens
        if text == WIDE:
            shown = dict(badge.rsplit(" ", 1) for badge in explore.badges())
            assert (shown["animal"], shown["street"]) == ("0.27", "0.13")


def the_row_and_column_pointed_at_are_named_on_a_long_map(explore: Explore) -> None:
    explore.hover(4, 9)
    assert painted(explore) == [0, 0], "every token stands there already"
    explore.typed("it was the age of wisdom and of light " * 9)
    explore.hover(41, 30)
    assert min(painted(explore)) > 20
    explore.page.mouse.move(2, 2)
    assert painted(explore) == [0, 0]


def painted(explore: Explore) -> list[int]:
    box = place_of(explore.view.locator(".large .map"))
    x, y = explore.middle(explore.cell, 0, 0)
    script = PAINTED.replace("LEFT", str(x - box.x - 4)).replace("TOP", str(y - box.y - 4))
    found: list[int] = explore.view.locator(".large .map canvas.over").evaluate(script)
    return found
