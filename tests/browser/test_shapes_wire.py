"""The steps over the wire: what is here is not asked for, what is not keeps the name of what is shown meanwhile."""

from __future__ import annotations

from playwright.sync_api import Route, expect

from pages.kit.picture.settings import Settings

from .expected import TIRED
from .held import begins_with_its_picture, hold, holds_back, say
from .shapes_page import Shapes, check_readout, check_side, listed, read, step_of, steps_of
from .tab import place_of


def test_what_is_here_is_not_asked_for_and_what_is_not_replaces_what_keeps_its_name(shapes: Shapes) -> None:
    holds_back(shapes)
    shapes.open(step="x")
    what_is_here_is_not_asked_for(shapes)
    the_steps_of_another_layer_replace_those_that_keep_their_name(shapes)
    keys_layers_and_steps_are_drawn_without_the_script(shapes)


def what_is_here_is_not_asked_for(shapes: Shapes) -> None:
    asked: list[str] = []
    shapes.page.on("request", lambda request: asked.append(request.url) if "/api/steps" in request.url else None)
    for name in listed(steps_of("efficient"))[1:4]:
        shapes.button("next ▶").click()
        shapes.drawn(name)
    shapes.head(5).click()
    shapes.option("weights").click()
    shapes.click_cell(3, 4)
    shapes.settled("weights")
    check_readout(shapes.readout(), "weights", (0, 5, 3, 4))
    shapes.lesson_button("wrong axis").click()
    shapes.page.wait_for_url("**lesson=wrong+axis**")
    shapes.settled()
    assert asked == []


def the_steps_of_another_layer_replace_those_that_keep_their_name(shapes: Shapes) -> None:
    held: list[Route] = []
    shapes.page.route("**/api/steps?*", lambda route: held.append(route))
    before = shapes.says()
    shapes.layer(5).click()
    expect(shapes.layer(5)).to_have_attribute("aria-pressed", "true")
    expect(shapes.view).to_have_attribute("data-late", "")
    expect(shapes.label).to_contain_text("layer 3, pretrained weights")
    assert shapes.says() == before
    shapes.head(4).click()
    expect(shapes.side().locator(".plane .readout")).to_contain_text("[0, 4, 3, 4]")
    check_readout(shapes.readout(), "weights", (0, 4, 3, 4))
    for route in held:
        route.continue_()
    shapes.page.unroute("**/api/steps?*")
    expect(shapes.label).to_contain_text("layer 5, pretrained weights")
    shapes.settled("weights")
    assert len(held) <= 2
    told = read(shapes.readout())
    tensor = step_of("efficient", "weights", 5).value
    assert told["value"] == float(f"{float(tensor[0, 4, 3, 4]):.3e}")
    assert shapes.query["at"] == ["5.4.3.4"]


def keys_layers_and_steps_are_drawn_without_the_script(shapes: Shapes) -> None:
    hold(shapes)
    shapes.box.click()
    shapes.keys("End")
    text = TIRED
    for key in " now":
        shapes.page.keyboard.type(key)
        text += key
        expect(shapes.view).to_have_attribute("data-digest", Settings(text).digest)
        expect(shapes.box).to_be_focused()
    shapes.layer(2).click()
    expect(shapes.label).to_contain_text("layer 2")
    shapes.option("weights").click()
    shapes.drawn("weights")
    check_side(shapes.says(), "efficient", step_of("efficient", "weights", 2, Settings(text)))
    shapes.wait_for_query(s=text)


def test_fast_steps_through_a_long_text_ask_for_few_and_show_the_last(shapes: Shapes) -> None:
    """Above the limit the numbers of a step come when it is chosen."""
    text = " ".join(["the", "cat", "ran", "a", "far", "way", "it", "was", "so", "we"] * 25)
    shapes.open(s=text, step="x", at="3.4.200")
    asked: list[str] = []
    shapes.page.on("request", lambda request: asked.append(request.url) if "/api/steps" in request.url else None)
    shapes.lines.focus()
    shapes.keys(*["ArrowDown"] * 11)
    step = step_of("efficient", listed(steps_of("efficient"))[11], 3, Settings(text))
    shapes.settled(step.name)
    expect(shapes.side().locator(".plane .readout")).to_be_visible()
    check_side(shapes.says(), "efficient", step)
    told = read(shapes.readout())
    assert told["value"] == float(f"{float(step.value[told['index']]):.3e}")
    assert 1 <= len(asked) < 11
    for name, cell in (("q.transpose", (0, 4, 200, 0)), ("out", (0, 200, 128))):
        shapes.to_step(name)
        expect(shapes.side().locator(".plane .readout")).to_be_visible()
        step = step_of("efficient", name, 3, Settings(text))
        told = read(shapes.readout())
        assert told["index"] == cell
        assert told["value"] == float(f"{float(step.value[cell]):.3e}")
        check_side(shapes.says(), "efficient", step)


def test_a_step_chosen_on_the_first_picture_is_kept(shapes: Shapes) -> None:
    """The page begins with the numbers of one step; those of another are asked for before the script is there."""
    holds_back(shapes, from_the_start=True)
    begins_with_its_picture(shapes, f"{shapes.url}/shapes?step=weights&at=3.1.10.2")
    shapes.drawn("weights")
    check_side(shapes.says(), "efficient", step_of("efficient", "weights"))
    check_readout(shapes.readout(), "weights", (0, 1, 10, 2))
    early = place_of(shapes.side())
    shapes.option("mixed").click()
    expect(shapes.side().locator(".plane .readout")).to_be_visible()
    shapes.drawn("mixed")
    say(shapes)
    shapes.page.wait_for_selector("#headlight-early", state="detached")
    shapes.settled("mixed")
    check_side(shapes.says(), "efficient", step_of("efficient", "mixed"))
    check_readout(shapes.readout(), "mixed", (0, 1, 10, 0))
    shapes.page.wait_for_url("**step=mixed**")
    shapes.to_step("weights")
    stands = place_of(shapes.side())
    assert max(abs(one - other) for one, other in zip(early[:3], stands[:3], strict=True)) <= 1, "nothing jumped"
