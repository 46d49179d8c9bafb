"""The Train page as a visitor meets it: a run is started, watched, stopped and scrubbed; workers die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from playwright.sync_api import expect

from .conftest import NewTab
from .expected import WIDE
from .explore_page import Explore
from .server import Server
from .train_page import LONG, SHORT, Train


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


def test_a_run_is_started_by_keyboard_left_alone_scrubbed_and_opened(train: Train) -> None:
    train.open(**SHORT)
    train.button("Train").focus()
    train.page.keyboard.press("Enter")
    expect(train.button("Stop")).to_be_enabled()
    train.go("Explore")  # the training goes on while its visitor is elsewhere
    train.on(Explore).settled()
    train.go("Train")
    train.settled().over()
    assert train.query["steps"] == ["40"]
    assert [row[0] for row in train.known()] == ["none", "rotary"]
    expect(train.page.locator(".js-plotly-plot")).to_have_count(2)
    expect(train.page.get_by_text("after 40 steps (seed 1)").first).to_be_visible()
    assert train.notices() == []

    slider = train.slider
    expect(slider).to_have_attribute("aria-valuetext", "step 40 of 40")
    slider.focus()
    train.page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "step 0 of 40")
    train.page.keyboard.press("ArrowRight")
    expect(slider).not_to_have_attribute("aria-valuetext", "step 0 of 40")
    train.film.get_by_role("button", name="last").click()
    expect(slider).to_have_attribute("aria-valuetext", "step 40 of 40")
    train.film.get_by_role("button", name="head 1", exact=True).click()
    train.page.wait_for_url("**film=0.0.1*")
    assert "NaN" not in train.page.locator("body").inner_text()

    train.page.get_by_role("link", name="Open in Explore").click()
    train.page.wait_for_url("**model=*")
    train.on(Explore).settled()
    expect(train.page.get_by_text("trained here").first).to_be_visible()


def test_a_run_is_stopped_while_another_explores_and_the_next_one_is_killed(
    train: Train, explore: Explore, server: Server
) -> None:
    train.open(**LONG).start()
    expect(train.page.get_by_text("steps/s").first).to_be_visible()
    explore.open()
    explore.retype(WIDE)
    explore.shows(WIDE)
    train.button("Stop").click()
    train.over()
    expect(train.page.get_by_text("Stopped: what was learnt up to there is kept.")).to_be_visible()
    assert train.known()[0][0] == "none"
    assert not workers(server)

    train.start()  # the place is free again
    expect(train.page.get_by_text("steps/s").first).to_be_visible()
    for worker in workers(server):
        os.kill(worker, signal.SIGKILL)
    train.over()
    expect(train.page.get_by_text("The training ended early: the training process ended unexpectedly")).to_be_visible()
    train.page.get_by_text("learned", exact=True).click()
    expect(train.button("Train")).to_be_enabled()


def test_the_curves_are_drawn_anew_only_when_there_is_news(train: Train, server: Server) -> None:
    """A worker that is frozen says nothing: the bar goes on, the curves rest. They go on with it, and at once."""
    drawn: list[str] = []

    def arrived(frame: str | bytes) -> None:
        told = frame if isinstance(frame, bytes) else frame.encode()
        drawn.extend(name for name in ("curves_told", "train_start", "knows") if name.encode() in told)

    train.page.on("websocket", lambda socket: socket.on("framereceived", arrived))
    train.open(**LONG).start()
    expect(train.page.get_by_text("of 5,000 steps (seed 1)").first).to_be_visible()
    (worker,) = workers(server)
    os.kill(worker, signal.SIGSTOP)
    try:
        while drawn[-5:] != ["train_start"] * 5:  # what it had said before has been drawn by then
            train.page.wait_for_timeout(100)
        drawn.clear()
        while len(drawn) < 5:
            train.page.wait_for_timeout(100)
        assert set(drawn) == {"train_start"}
    finally:
        os.kill(worker, signal.SIGCONT)
    while "curves_told" not in drawn or "knows" not in drawn:
        train.page.wait_for_timeout(100)
    train.button("Stop").click()
    train.over()


def test_a_sentence_is_asked_and_a_cell_of_the_confusion_matrix_lists_its_sentences(train: Train) -> None:
    train.open(cand="rotary")
    box = train.page.get_by_role("textbox", name="A sentence")
    box.fill("the zebra <b>chased</b> the dog")
    box.press("Enter")
    expect(train.page.get_by_text("not in this model’s vocabulary").first).to_be_visible()
    expect(train.page.get_by_role("rowheader", name="the zebra <b>chased</b> the dog")).to_be_visible()
    train.page.wait_for_url("**ask=*")
    cell = train.page.locator(".matrix td button").first
    count = cell.inner_text()
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(train.page.get_by_text(f"{count} test rows of")).to_be_visible()


def test_bad_and_good_tables(train: Train, tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.csv", tmp_path / "good.csv"
    bad.write_text("a,b\n1,2\n", "utf-8")
    lines = [f"{word} {other},{word}" for word in ("sport", "tech") for other in "abcdefgh"]
    good.write_text("\n".join(["text,label", *lines]), "utf-8")
    train.open(task="your own CSV", **{**SHORT, "pe": "none"})
    expect(train.button("Train")).to_be_disabled()
    picker = train.page.locator("input[type=file]").first
    picker.set_input_files(bad)
    expect(train.page.get_by_text("This data cannot be used: ")).to_be_visible()
    expect(train.button("Train")).to_be_disabled()
    train.page.locator("input[type=file]").first.set_input_files(good)
    expect(train.button("Train")).to_be_enabled()
    train.settled().start().over()
    assert [row[0] for row in train.known()] == ["none"]


def test_on_a_phone_the_first_screen_shows_a_curve(new_phone: NewTab) -> None:
    phone = new_phone(Train).open()
    phone.page.wait_for_function("() => document.querySelector('link[href*=\"house.css\"]')?.sheet")
    for name in ("Train", "Stop"):
        box = phone.button(name).bounding_box()
        assert box
        assert box["y"] < 300
    chart = phone.page.locator(".js-plotly-plot").first.bounding_box()
    assert chart
    assert chart["y"] < 500
