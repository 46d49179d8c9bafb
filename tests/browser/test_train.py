"""The Train page as a visitor meets it: a run is started, watched, stopped and scrubbed; workers die."""

from __future__ import annotations

import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from .conftest import WAIT_MS, NewPage
from .helpers import TIRED, WIDE, Server
from .train_page import LONG, SHORT, Train


@pytest.fixture
def tab(desktop: BrowserContext, server: Server, watched: Callable[[Page, str], Page]) -> Iterator[Train]:
    """The page, not yet opened, in a new tab."""
    server.check()
    page = watched(desktop.new_page(), server.url)
    yield Train(page, server.url)
    page.close()


def workers(server: Server) -> list[int]:
    """The processes that this server trains in."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == server.process.pid and b"mha_core.training.worker" in command:
            found.append(int(entry.name))
    return found


def test_a_run_is_started_watched_and_scrubbed(tab: Train) -> None:
    tab.open(**SHORT).start()
    expect(tab.page.get_by_text("steps/s").first).to_be_visible(timeout=WAIT_MS)
    tab.over()
    rows = tab.known()
    assert [row[0] for row in rows] == ["none", "rotary"]
    expect(tab.page.locator(".js-plotly-plot")).to_have_count(2)
    expect(tab.page.get_by_text("after 40 steps (seed 1)").first).to_be_visible()
    assert tab.notices() == []

    slider = tab.slider
    expect(slider).to_have_attribute("aria-valuetext", "step 40 of 40")
    slider.focus()
    tab.page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "step 0 of 40")
    tab.page.keyboard.press("ArrowRight")
    expect(slider).not_to_have_attribute("aria-valuetext", "step 0 of 40")
    tab.film.get_by_role("button", name="last").click()
    expect(slider).to_have_attribute("aria-valuetext", "step 40 of 40")
    tab.film.get_by_role("button", name="head 1", exact=True).click()
    tab.page.wait_for_url("**film=0.0.1*")
    assert "NaN" not in tab.page.locator("body").inner_text()


def test_a_run_is_stopped_and_its_place_is_free(tab: Train, server: Server) -> None:
    tab.open(**LONG).start()
    expect(tab.page.get_by_text("steps/s").first).to_be_visible(timeout=WAIT_MS)
    tab.button("Stop").click()
    tab.over()
    expect(tab.page.get_by_text("Stopped: what was learnt up to there is kept.")).to_be_visible()
    assert tab.known()[0][0] == "none"
    assert not workers(server)
    tab.start()
    tab.button("Stop").click()
    tab.over()


def test_a_killed_worker_is_told_and_the_page_lives_on(tab: Train, server: Server) -> None:
    tab.open(**LONG).start()
    expect(tab.page.get_by_text("steps/s").first).to_be_visible(timeout=WAIT_MS)
    for worker in workers(server):
        os.kill(worker, signal.SIGKILL)
    tab.over()
    expect(tab.page.get_by_text("The training ended early: the training process ended unexpectedly")).to_be_visible()
    tab.page.get_by_text("learned", exact=True).click()
    tab.start()
    tab.button("Stop").click()
    tab.over()


def test_the_curves_are_drawn_anew_only_when_there_is_news(tab: Train, server: Server) -> None:
    """A worker that is frozen says nothing: the bar goes on, the curves rest. They go on with it, and at once."""
    drawn: list[str] = []

    def arrived(frame: str | bytes) -> None:
        told = frame if isinstance(frame, bytes) else frame.encode()
        drawn.extend(name for name in ("curves_told", "train_start", "knows") if name.encode() in told)

    tab.page.on("websocket", lambda socket: socket.on("framereceived", arrived))
    tab.open(**LONG).start()
    expect(tab.page.get_by_text("of 5,000 steps (seed 1)").first).to_be_visible(timeout=WAIT_MS)
    (worker,) = workers(server)
    os.kill(worker, signal.SIGSTOP)
    try:
        tab.page.wait_for_timeout(4000)  # what it had said before has been drawn
        drawn.clear()
        while drawn.count("train_start") < 5:
            tab.page.wait_for_timeout(100)
        assert set(drawn) == {"train_start"}
    finally:
        os.kill(worker, signal.SIGCONT)
    while "curves_told" not in drawn or "knows" not in drawn:
        tab.page.wait_for_timeout(100)
    tab.button("Stop").click()
    tab.over()


def test_a_training_goes_on_while_its_visitor_is_on_another_page(tab: Train) -> None:
    tab.open(**SHORT).start()
    tab.page.get_by_role("link", name="Explore", exact=True).click()
    expect(tab.page.locator(".view[data-numbers]").first).to_be_visible(timeout=WAIT_MS)
    tab.page.get_by_role("link", name="Train", exact=True).click()
    tab.settled().over()
    assert [row[0] for row in tab.known()] == ["none", "rotary"]
    assert tab.query["steps"] == ["40"]


def test_a_trained_model_opens_in_explore(tab: Train) -> None:
    tab.open(**SHORT).start().over()
    tab.page.get_by_role("link", name="Open in Explore").click()
    tab.page.wait_for_url("**model=*")
    expect(tab.page.locator(".view[data-numbers]").first).to_be_visible(timeout=WAIT_MS)
    expect(tab.page.get_by_text("trained here").first).to_be_visible()


def test_a_cell_of_the_confusion_matrix_lists_its_sentences(tab: Train) -> None:
    tab.open(cand="rotary")
    cell = tab.page.locator(".matrix td button").first
    count = cell.inner_text()
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(tab.page.get_by_text(f"{count} test rows of")).to_be_visible()


def test_typed_sentences_are_asked(tab: Train) -> None:
    tab.open()
    box = tab.page.get_by_role("textbox", name="A sentence")
    box.fill("the zebra <b>chased</b> the dog")
    box.press("Enter")
    expect(tab.page.get_by_text("not in this model’s vocabulary").first).to_be_visible()
    expect(tab.page.get_by_role("rowheader", name="the zebra <b>chased</b> the dog")).to_be_visible()
    tab.page.wait_for_url("**ask=*")


def test_bad_and_good_tables(tab: Train, tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    bad.write_text("a,b\n1,2\n", "utf-8")
    lines = [f"{word} {other},{word}" for word in ("sport", "tech") for other in "abcdefgh"]
    good.write_text("\n".join(["text,label", *lines]), "utf-8")
    tab.open(task="your own CSV", **SHORT)
    expect(tab.button("Train")).to_be_disabled()
    picker = tab.page.locator("input[type=file]").first
    picker.set_input_files(bad)
    expect(tab.page.get_by_text("This data cannot be used: ")).to_be_visible(timeout=WAIT_MS)
    expect(tab.button("Train")).to_be_disabled()
    tab.page.locator("input[type=file]").first.set_input_files(good)
    expect(tab.button("Train")).to_be_enabled(timeout=WAIT_MS)
    tab.start().over()
    assert [row[0] for row in tab.known()] == ["none", "rotary"]


def test_two_train_while_a_third_explores(tab: Train, new_page: NewPage) -> None:
    """The time of the third one's reruns is printed beside that of a quiet server; nothing asserts a speed."""
    explore = new_page().open()
    quiet = [explored(explore) for _ in range(5)]
    others = [tab, Train(new_page().page, tab.url)]
    for other in others:
        other.open(**LONG).start()
    busy = [explored(explore) for _ in range(5)]
    for other in others:
        other.button("Stop").click()
        other.over()
    medians = (f"{1000 * statistics.median(times):.0f} ms" for times in (quiet, busy))
    print("a sentence typed in Explore to its picture: {} alone, {} while two others train".format(*medians))


def explored(explore: object) -> float:
    """Seconds from a typed sentence to its picture, there and back."""
    began = time.perf_counter()
    for sentence in (WIDE, TIRED):
        explore.retype(sentence)  # type: ignore[attr-defined]
        explore.shows(sentence)  # type: ignore[attr-defined]
    return (time.perf_counter() - began) / 2


def test_by_keyboard_alone(tab: Train) -> None:
    tab.open(**SHORT)
    train = tab.button("Train")
    train.focus()
    tab.page.keyboard.press("Enter")
    expect(tab.button("Stop")).to_be_enabled(timeout=WAIT_MS)
    tab.over()
    assert len(tab.known()) == 2


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_on_a_phone_in_both_themes(new_page: NewPage, scheme: str) -> None:
    explore = new_page(viewport={"width": 375, "height": 812}, color_scheme=scheme)
    phone = Train(explore.page, explore.url).open()
    phone.page.wait_for_function("() => document.querySelector('link[href*=\"house.css\"]')?.sheet")
    wide = phone.page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= 375
    for name in ("Train", "Stop"):
        box = phone.button(name).bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 44
        assert box["y"] < 300
    chart = phone.page.locator(".js-plotly-plot").first.bounding_box()
    assert chart
    assert chart["y"] < 500  # the first screen shows a curve
