"""The Train page in a browser: a run is started, watched, left, stopped and scrubbed; what was recorded is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import NewTab
from .explore_page import Explore
from .tab import WAIT_MS, place_of
from .train_page import LONG, SHORT, Train


def test_a_point_of_a_recorded_curve_opens_its_step_by_mouse_and_by_keyboard(train: Train) -> None:
    train.open(pe=["none", "alibi"])
    expect(train.page.get_by_text("Not trained yet: alibi.").first).to_be_visible()
    chart = train.page.locator(".st-key-axes_accuracy .js-plotly-plot")
    point = chart.locator(".scatterlayer .trace .points path").nth(2)
    step = point.evaluate("point => point.__data__.x")
    assert step != 30
    train.page.mouse.click(*place_of(point).middle)
    expect(train.page.get_by_role("tab", name="Film", exact=True)).to_have_attribute("aria-selected", "true")
    expect(train.slider).to_have_attribute("aria-valuetext", f"step {step} of 400")
    train.tab("Curves")
    frame = chart.locator("..")
    frame.focus()
    train.keys("ArrowUp", "ArrowRight", "ArrowRight", "ArrowRight")  # the first comes to the first point
    expect(frame).to_have_attribute("aria-valuetext", re.compile(r".+: 0\.\d+ after step 30"))
    train.keys("Enter")
    expect(train.slider).to_have_attribute("aria-valuetext", "step 30 of 400")


def test_both_offers_of_a_plan_that_its_time_limit_would_cut_change_it(train: Train) -> None:
    train.open(task="dates", budget="100")
    warning = train.page.get_by_text("The time limit of 100 s would probably cut these runs short")
    plan = train.page.get_by_role("progressbar").locator("..").first  # a rerun shows the old bar for a moment too
    expect(warning).to_be_visible()
    train.page.get_by_role("button", name=re.compile("^Time limit")).click()
    expect(warning).to_have_count(0)
    expect(plan).to_contain_text("9 short trainings (3 × 3 seeds)")
    train.page.wait_for_url(re.compile("budget=(?!100(&|$))"))
    train.page.get_by_role("button", name=re.compile("^1 seed: about")).click()
    expect(plan).to_contain_text("3 short trainings of 1,000 steps")
    train.wait_for_query(seeds="1")
    train.tab("Ask").tab("Curves")  # the page runs again, and the offer stays taken
    expect(plan).to_contain_text("3 short trainings of 1,000 steps")
    expect(train.page.get_by_role("button", name=re.compile("^1 seed"))).to_have_count(0)


def test_files_of_a_run_are_downloaded_and_one_is_opened_again(train: Train, tmp_path: Path) -> None:
    train.open(task="your own text", tab="Report")
    names = {"The trained model, zip": "headlight-run.zip", "All curves, CSV": "headlight-training.csv"}
    for label, name in names.items():
        with train.page.expect_download() as waiting:
            train.button(label).click()
        assert waiting.value.suggested_filename == name
        waiting.value.save_as(tmp_path / name)
    train.page.get_by_text("Open a saved run or a recording").click()
    train.page.locator("input[type=file]").last.set_input_files(tmp_path / "headlight-run.zip")
    expect(train.page.get_by_text("Opened: A text, character by character: rotary")).to_be_visible()
    film = train.tab("Film").film
    film.get_by_role("button", name="first").click()
    expect(train.slider).to_have_attribute("aria-valuetext", "step 0 of 1,000")
    film.get_by_role("button", name="play").click()
    expect(train.slider).not_to_have_attribute("aria-valuetext", "step 0 of 1,000")
    train.tab("Curves").page.get_by_role("link", name="Analyse “rotary”").click()
    train.page.wait_for_url("**model=text-rotary-1*")


@pytest.mark.thorough("A walk over the report, a sentence, and tables of one's own.")
def test_the_report_a_sentence_and_bad_and_good_tables(train: Train, tmp_path: Path) -> None:
    # the report: a cell of the matrix shows its rows, a heading sorts
    train.open(pe=["none", "alibi"], only="wrong answers", tab="Report")
    cell = train.tab("Report").page.locator(".matrix td button").first
    count = cell.inner_text()
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(train.page.get_by_text(f"{count} test rows of")).to_be_visible()
    heading = train.page.get_by_role("columnheader", name="P(dog)")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    train.page.wait_for_url("**sort=P*desc=true*")
    cells = train.page.locator("table", has=heading).locator("tbody tr td:nth-child(3)").all_inner_texts()
    shares = [float(share.strip("<>")) for share in cells]
    assert len(shares) > 1
    assert shares == sorted(shares, reverse=True)

    # a sentence of one's own, with a word that the model does not know
    words = train.tab("Ask").page.get_by_role("textbox", name="A sentence")
    expect(train.page.locator("[role='tabpanel']:visible").get_by_role("rowheader").first).to_be_visible()  # answered
    train.enter(words, "the zebra <b>chased</b> the dog")
    expect(train.page.get_by_text("not in this model’s vocabulary").first).to_be_visible()
    expect(train.page.get_by_role("rowheader", name="the zebra <b>chased</b> the dog")).to_be_visible()
    train.page.wait_for_url("**ask=*")

    # a table that cannot be used, and one that can
    train.open(task="your own CSV")
    expect(train.button("Train")).to_be_disabled()
    lines = [f"{word} {other},{word}" for word in ("sport", "tech") for other in "abcdefgh"]
    for name, text in (("bad.csv", "a,b\n1,2\n"), ("good.csv", "\n".join(["text,label", *lines]))):
        (tmp_path / name).write_text(text, "utf-8")
        train.page.locator("input[type=file]").first.set_input_files(tmp_path / name)
        if name == "bad.csv":
            expect(train.page.get_by_text("This data cannot be used: ")).to_be_visible()
            expect(train.button("Train")).to_be_disabled()
    expect(train.button("Train")).to_be_enabled()


@pytest.mark.thorough("Trains a model and waits for it.")
@pytest.mark.usefixtures("nobody_else_works")
def test_a_run_is_started_by_keyboard_left_alone_scrubbed_and_opened(train: Train) -> None:
    train.open(**{**SHORT, "pe": "none"})
    train.button("Train").focus()
    train.keys("Enter")
    expect(train.button("Stop")).to_be_enabled()
    train.go("Explore")  # the training goes on while its visitor is elsewhere
    # a press before Streamlit has answered: it must not take Train's settings out of the link
    train.page.locator("body").dispatch_event("pointerdown")
    train.on(Explore).settled()
    train.page.evaluate("history.pushState({}, '', location.pathname)")  # as Streamlit does after a second run
    train.go("Train")
    train.settled().over()
    train.wait_for_query(steps="40")
    assert [row[0] for row in train.known()] == ["none"]
    expect(train.page.locator(".js-plotly-plot")).to_have_count(2)
    assert train.notices() == []

    slider = train.tab("Film").slider
    expect(slider).to_have_attribute("aria-valuetext", "step 40 of 40")
    slider.focus()
    train.keys("Home")
    expect(slider).to_have_attribute("aria-valuetext", "step 0 of 40")
    train.keys("ArrowRight")
    expect(slider).not_to_have_attribute("aria-valuetext", "step 0 of 40")
    train.film.get_by_role("button", name="last").click()
    expect(slider).to_have_attribute("aria-valuetext", "step 40 of 40")
    train.film.get_by_role("button", name="head 1", exact=True).click()
    train.page.wait_for_url("**film=0.0.1*")
    train.tab("Report").page.get_by_role("link", name="Open in Maps").click()
    train.page.wait_for_url("**model=*")
    train.on(Explore).settled()
    expect(train.page.get_by_text("trained here").first).to_be_visible()


@pytest.mark.thorough("Trains a model and stops it.")
@pytest.mark.usefixtures("nobody_else_works")
def test_run_survives_reload_can_be_stopped_and_is_private(train: Train, new_phone: NewTab) -> None:
    train.open(**LONG).button("Train").click()
    expect(train.button("Stop")).to_be_enabled()
    expect(train.page.get_by_text("steps/s").first).to_be_visible(timeout=2 * WAIT_MS)
    assert "headlight" not in train.page.url.split("?")[1]
    train.page.reload()
    expect(train.page.get_by_text("steps/s").first).to_be_visible()
    expect(train.button("Stop")).to_be_enabled()
    stranger = new_phone(Train).open(**LONG)
    expect(stranger.page.get_by_text("Trained in advance")).to_be_visible()
    expect(stranger.button("Stop")).to_be_disabled()
    train.button("Stop").click()
    train.over()
    expect(train.page.get_by_text("Stopped. The models trained so far are kept.")).to_be_visible()
    assert int(train.page.get_by_role("progressbar").get_attribute("aria-valuenow") or 100) < 100
    expect(train.page.get_by_text("none (cut short): stopped.").first).to_be_visible()
    known = train.known()
    train.page.reload()
    expect(train.page.get_by_text("Stopped. The models trained so far are kept.")).to_be_visible()
    train.settled().until(lambda: train.known() == known, "what was learnt is there again")
