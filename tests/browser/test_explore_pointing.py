"""What is pointed at on Explore's large map: long maps name its row and column, and a finger sees its number."""

from __future__ import annotations

from playwright.sync_api import expect

from .conftest import NewTab
from .expected import written
from .explore_page import Explore

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


def painted(explore: Explore) -> list[int]:
    box = explore.view.locator(".large .map").bounding_box()
    x, y = explore.middle(explore.cell, 0, 0)
    assert box
    script = PAINTED.replace("LEFT", str(x - box["x"] - 4)).replace("TOP", str(y - box["y"] - 4))
    found: list[int] = explore.view.locator(".large .map canvas.over").evaluate(script)
    return found


def test_the_row_and_column_pointed_at_are_named_on_a_long_map(explore: Explore) -> None:
    explore.open()
    explore.shows()
    explore.hover(4, 9)
    assert painted(explore) == [0, 0], "every token stands there already"
    explore.retype(text := "it was the age of wisdom and of light " * 9)
    explore.shows(text)
    explore.hover(41, 30)
    assert min(painted(explore)) > 20
    explore.page.mouse.move(2, 2)
    assert painted(explore) == [0, 0]


def test_a_tapped_cell_says_its_number_at_the_finger(new_phone: NewTab) -> None:
    explore = new_phone(Explore)
    explore.open()
    run = explore.shows()
    bubble = explore.view.locator(".large .bubble")
    expect(bubble).to_be_hidden()
    for row, key in [(10, 14), (1, 0), (10, 2)]:
        explore.page.touchscreen.tap(*explore.middle(explore.cell, row, key))
        expect(bubble).to_have_text(
            f"{run.tokens[row]} → {run.tokens[key]} {written(float(run.weights[3, 1, row, key]))}"
        )
        box = bubble.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 375
    explore.position("none")
    explore.shows(position="none")
    expect(bubble).to_have_text("it → animal 0.04")
