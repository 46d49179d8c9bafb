"""The view of the KV cache with keys and clicks: its steps, the bytes of typed sizes, and keys reused elsewhere."""

from __future__ import annotations

from playwright.sync_api import expect

from headlight.ui.numbers import weight
from tests.pages.conftest import picture_of

from .axe import nothing_serious
from .explore_page import Explore

LINK = {"s": "the cat sat on the m", "model": "text-rotary-1", "at": "0.1"}


def test_a_text_grows_row_by_row_and_its_bytes_are_counted(explore: Explore) -> None:
    explore.open(**LINK)
    explore.button("Generate with a KV cache").click()
    explore.wait_for_query(view="cache")
    view, (header, floats) = explore.view.locator(".cache-view"), picture_of("cache", **LINK, view="cache")
    status, slider = view.locator(".view-status").first, view.get_by_role("slider", name="generated tokens")
    expect(status).to_have_text(f"{header['steps'][0]} So far that is 20,480 bytes.")
    explore.button("next token").click()
    expect(status).to_contain_text(header["steps"][1])
    slider.focus()
    explore.keys("ArrowRight", "ArrowRight")
    expect(status).to_have_text(f"{header['steps'][3]} So far that is 23,552 bytes.")
    explore.wait_for_query(view="cache.3")
    view.locator(".map .cell").focus()
    explore.keys("Home", "ArrowDown")
    expect(view.locator(".readout")).to_have_text(f"h → t {weight(float(floats[len(header['tokens'])]))}")
    slider.focus()
    explore.keys("End")
    expect(explore.button("next token")).to_be_disabled()
    explore.button("play").click()
    expect(explore.button("pause")).to_be_visible()
    expect(status).to_contain_text(header["steps"][1])
    explore.button("pause").click()
    nothing_serious(explore, explore.view.locator(".other-views"))

    # keys reused at another position
    shift = view.get_by_role("spinbutton", name="positions further on")
    shift.fill("0")
    expect(view).to_contain_text("are 0 positions further on")
    shift.fill("")
    expect(view).to_contain_text("are 0 positions further on")

    # the bytes of typed sizes; bad ones leave the last that fit
    for name, number in {"layers": 32, "query heads": 32, "key/value heads": 8, "channels in a head": 128,
                         "tokens": 8192, "bytes per number": 2}.items():  # fmt: skip
        view.get_by_role("spinbutton", name=name, exact=True).fill(str(number))
    table = view.locator(".listing").last
    expect(table).to_contain_text("1,073,741,824 (8, as it is)")
    expect(view).to_contain_text("This model’s own cache ends at 96 tokens.")
    view.get_by_role("spinbutton", name="key/value heads").fill("7")
    expect(view).to_contain_text("the table shows the last ones that fit")
    expect(table).to_contain_text("1,073,741,824 (8, as it is)")
