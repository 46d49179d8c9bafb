"""Scaled dot product in a browser: a case by one click, typeset formulas, a box of a figure that opens its step."""

from __future__ import annotations

from playwright.sync_api import expect

from .conftest import NewTab
from .measures import height
from .scaled_dot_page import ScaledDot
from .shapes_page import Shapes


def test_a_case_by_one_click_its_formula_and_a_box_of_the_figure(new_tab: NewTab) -> None:
    tab = new_tab(ScaledDot).open(qs="3, 6", s="how are you")
    assert height(tab.settled().page) <= 2400
    formula = tab.page.locator("math").first
    expect(formula).to_contain_text("3×6")
    tab.page.get_by_role("button", name="values of another width", exact=True).click()
    tab.wait_for_query(qs=None, kv="both from elsewhere", nk="5", wv="4")
    expect(formula).to_contain_text("6×5")
    # MathML is laid out, not spelled out in a line: a fraction is higher than its numerator
    over, whole = formula.locator("mfrac > *").first, formula.locator("mfrac")
    assert whole.bounding_box()["height"] > over.bounding_box()["height"] > 0  # type: ignore[index]
    tab.page.get_by_role("link", name="SoftMax over the keys: opens the step weights on Shapes").click()
    tab.page.wait_for_url("**/shapes?**")
    shapes = tab.on(Shapes).settled()
    assert shapes.query["step"] == ["weights"]
    assert shapes.query["s"] == ["how are you"]
