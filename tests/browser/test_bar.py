"""The bar by keyboard, and the projector's way back."""

from __future__ import annotations

from playwright.sync_api import expect

from pages.kit.draw.pages import PAGES

from .axe import COLOURS, Findings
from .conftest import NewTab
from .expected import TIRED
from .explore_page import Explore
from .glossary_page import Glossary

# How the area that scrolls is framed while it has the focus.
FRAME = """main => {
  main.focus();
  return [null, "::before", "::after"].map((part) => getComputedStyle(main, part)).filter(
    (style) => style.outlineStyle !== "none" || style.boxShadow !== "none").length;
}"""


def test_tab_begins_at_the_way_past_the_bar_and_arrows_walk_an_opened_menu(new_tab: NewTab) -> None:
    tab = new_tab(Glossary).open()
    tab.page.keyboard.press("Tab")
    assert tab.focused() == "Skip to main content"
    tab.page.keyboard.press("Enter")
    main = tab.page.locator("#stMain")
    expect(main).to_be_focused()
    assert main.evaluate(FRAME) == 0, "no frame round the whole page"

    listed = [page for page in PAGES.values() if not page.within]
    for page in listed:
        expect(tab.link(page.title)).to_be_visible()
    groups = tab.house.locator(".group > :is(button, a)").all_inner_texts()
    assert groups == list(dict.fromkeys(page.group for page in listed))
    tab.page.keyboard.press("Escape")
    opener = tab.house.get_by_role("button", name="Change", exact=True)
    opener.focus()
    walked = []
    titles = [page.title for page in listed if page.group == "Change"]
    for key in (*["ArrowDown"] * (len(titles) + 1), "ArrowUp"):
        tab.page.keyboard.press(key)
        walked.append(tab.focused())
    assert walked == [*titles, titles[0], titles[-1]]
    tab.page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "false")
    tab.page.keyboard.press("ArrowDown")
    expect(opener).to_have_attribute("aria-expanded", "true")
    for _ in titles:
        tab.page.keyboard.press("Tab")
    expect(opener).to_have_attribute("aria-expanded", "false")  # the focus has left it, by the last of its pages


def test_the_projector_is_played_by_keys_and_escape_leaves_it_last(explore: Explore) -> None:
    explore.page.set_viewport_size({"width": 1280, "height": 720})
    explore.open(mask="causal")
    press, root = explore.page.keyboard.press, explore.page.locator("html")
    press("p")
    explore.wait_for_query(big=["true"])
    explore.settled()
    bar, room = explore.view.locator(".projector-bar"), explore.view.locator(".large .map")
    expect(bar).to_have_css("font-size", "24px")
    for part in (".projector-bar textarea", ".in-title", ".large .legend"):
        expect(explore.view.locator(part)).to_be_in_viewport(ratio=1)
    above, foot = room.bounding_box(), bar.bounding_box()
    assert above
    assert foot
    assert above["y"] + above["height"] <= foot["y"], "the bar covers no row"
    assert foot["y"] - above["y"] - above["height"] < 20, "the map takes the height"
    for key, now in {"}": "layer 4", "{": "layer 3", "]": "head 2", "[": "head 1"}.items():
        press(key)
        expect(bar.locator(".now", has_text=now)).to_be_visible()
    press("o")
    explore.shows(mask="causal", heads_off=((3, 1),))
    press("m")
    press("ArrowUp")
    explore.shows(heads_off=((3, 1),))
    press("Escape")  # leaves the list, not the projector
    press("t")
    press("ArrowDown")
    explore.shows(position="none", heads_off=((3, 1),))
    press("Enter")
    for back in ({"heads_off": ((3, 1),)}, {"mask": "causal", "heads_off": ((3, 1),)}, {"mask": "causal"}):
        press("u")
        explore.shows(**back)
    press("e")
    press("End")
    explore.page.keyboard.type(" of it")
    explore.shows(f"{TIRED} of it", mask="causal")
    press("Enter")
    explore.page.emulate_media(reduced_motion="no-preference")
    bar.evaluate("bar => bar.getAnimations().forEach((fade) => fade.finish())")
    expect(bar).to_have_css("opacity", "0")
    press("Shift")
    expect(bar).to_have_css("opacity", "1")
    explore.page.emulate_media(reduced_motion="reduce")
    assert bar.evaluate("bar => bar.getAnimations().length") == 0
    findings = Findings(explore)
    findings.look("the projector")
    explore.in_theme("light")
    findings.look("the projector", only=COLOURS)
    explore.in_theme("dark")
    assert not findings.lines, "\n".join(findings.lines)
    expect(explore.view.locator(".in-title")).to_have_text("mask: causal")
    assert explore.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") <= 720
    explore.view.get_by_role("button", name="view", exact=True).click()
    press("Escape")
    expect(explore.view.locator(".view-menu .menu-panel")).to_be_hidden()
    expect(root).to_have_class("projector")
    explore.house.get_by_role("button", name="Look", exact=True).click()
    press("Escape")
    expect(root).to_have_class("projector")
    press("Escape")
    explore.wait_for_query(big=None)
    expect(root).not_to_have_class("projector")
