"""The Positions page as a visitor meets it: encodings by mouse and keyboard, sliders, presets, the link, a phone."""

from __future__ import annotations

from playwright.sync_api import expect

from pages.positions.parts import TITLES

from .positions_page import Positions


def test_two_encodings_side_by_side(positions: Positions) -> None:
    positions.open()
    left, right = (positions.part(f"{TITLES[name]}: picture").bounding_box() for name in ("sinusoidal", "learned"))
    assert left is not None
    assert right is not None
    assert right["x"] >= left["x"] + left["width"]
    assert abs(right["y"] - left["y"]) < 2
    assert abs(right["height"] - left["height"]) < 2
    expect(positions.page.locator(".js-plotly-plot")).to_have_count(11)
    first = positions.page.locator(".js-plotly-plot").first
    expect(first.locator(".ytick text").first).to_have_text("0 [CLS]")
    assert positions.notices() == []
    assert "NaN" not in positions.page.locator("body").inner_text()
    positions.page.get_by_role("button", name="ALiBi and T5").click()
    expect(positions.heading("ALiBi: all heads")).to_be_attached()
    positions.wait_for_query(enc="alibi", enc2="t5")
    expect(positions.page.get_by_role("slider", name="Position on the circles")).to_be_hidden()
    positions.box.fill("how are <b>you</b>")  # the sentence is live
    expect(positions.part("ALiBi: picture").locator(".ytick text").nth(3)).to_have_text("3 <")
    assert positions.page.locator(".js-plotly-plot b").count() == 0
    positions.page.get_by_role("button", name="waves and a trained table").click()
    expect(positions.heading("Sinusoids: picture")).to_be_attached()
    positions.wait_for_query(enc=None, enc2=None)


def test_encodings_and_the_position_by_keyboard(positions: Positions) -> None:
    positions.open()
    positions.choose("Encoding", "rotary")
    expect(positions.heading(TITLES["rotary"])).to_be_visible()
    positions.choose("Beside it", "t5")
    expect(positions.heading("T5's relative bias: buckets")).to_be_attached()
    positions.wait_for_query(enc="rotary", enc2="t5")
    expect(positions.page.get_by_role("spinbutton", name="Head in sight")).to_be_visible()
    heading = "Rotary (RoPE): pair 0, position by position"
    assert positions.row(heading)[:2] == ["1", "1.0000"]
    positions.page.get_by_role("slider", name="Position on the circles").focus()
    for _ in range(2):
        positions.page.keyboard.press("ArrowRight")
    expect(positions.part(heading).locator("tbody th").first).to_have_text("3")
    assert positions.row(heading)[1:3] == ["3.0000", "0.4775"]
    positions.wait_for_query(at_pos="3")
    pair = positions.page.get_by_role("spinbutton", name="Pair of channels")
    pair.fill("4")
    pair.press("Enter")
    # 10000^(−8/32) is 0.1
    moved = "Rotary (RoPE): pair 4, position by position"
    expect(positions.heading(moved)).to_be_attached()
    assert positions.row(moved)[1] == "0.3000"


def test_sizes_that_do_not_go_leave_the_picture(positions: Positions) -> None:
    positions.open(enc="rotary", enc2="sinusoidal", d="51", h="3")
    assert [notice.split(":")[0] for notice in positions.notices()] == [
        f"The {name} encoding cannot be made" for name in ("rotary", "sinusoidal")
    ]
    expect(positions.page.locator(".js-plotly-plot")).to_have_count(11)
