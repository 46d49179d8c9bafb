"""A lesson given to a class: one host, two phones, two votes, a second question, an own one, the way out and back."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Locator, expect

from headlight.lessons.course import course

from .conftest import NewTab
from .lessons_page import Beside
from .measures import small_targets, unreadable
from .plain_pages import Phone
from .tab import Tab

IT = course().lessons["it"]
A_ROOM = pytest.mark.thorough("a long hour of a room: two votes, a projector")


def open_room(host: Tab) -> tuple[Locator, str]:
    """Open a room in Share; return the host's strip and the code."""
    strip = host.page.get_by_role("region", name="Room")
    host.share().get_by_role("button", name="Open a room").click()
    return strip, strip.locator('[aria-keyshortcuts="k"] .text').inner_text()


def test_a_vote_of_a_phone_is_counted_and_its_answer_shown(new_tab: NewTab, new_phone: NewTab) -> None:
    host = new_tab(Beside).begin(IT)
    strip, code = open_room(host)
    phone = new_phone(Phone)
    phone.join(code)
    expect(phone.page.locator(".veil")).to_be_visible()  # of the step's curtain
    host.keys("v")
    phone.option("On the previous word").click()
    phone.option("On “animal”").click()  # a change of mind
    expect(strip.get_by_role("status")).to_have_text("1 have voted")
    expect(phone.page.locator(".votes .bar")).to_have_count(0)
    host.keys(*"vt")  # at once: each waits for what the last one does
    for votes in (host.lesson.locator(".votes"), phone.page.locator(".votes")):
        expect(votes).to_have_text(["0", "1", "0", "0"])
    host.keys("s")
    for lit in (host.lit, phone.page.locator(".option", has_text="✓ right, as just measured")):
        expect(lit).to_contain_text("On “animal”")
    expect(phone.page.locator(".veil")).to_have_count(0)
    assert unreadable(phone.page, least=8) == []
    assert small_targets(phone.page) == []


def test_the_answer_on_the_wall_ends_an_open_vote(new_tab: NewTab, new_phone: NewTab) -> None:
    host = new_tab(Beside).begin(IT)
    strip, code = open_room(host)
    phone = new_phone(Phone)
    phone.join(code)
    host.keys("v")
    phone.option("On the previous word").click()
    expect(strip.get_by_role("status")).to_have_text("1 have voted")
    host.keys("Space")
    expect(phone.page.locator(".option", has_text="✓ right, as just measured")).to_contain_text("On “animal”")
    expect(phone.option("On “street”")).to_be_disabled()
    expect(strip.get_by_role("button", name="end the question")).to_be_visible()


@A_ROOM
def test_the_projector_has_a_key_for_every_step_and_a_host_his_question(new_tab: NewTab, new_phone: NewTab) -> None:
    host = new_tab(Beside).begin(IT)
    strip, code = open_room(host)
    phone = new_phone(Phone)
    phone.page.goto(f"{phone.url}/room/{code.lower()}")  # typed by hand

    with host.page.expect_popup() as opened:
        strip.get_by_role("button", name="more").click()
        strip.get_by_role("button", name="projector").click()
    front = opened.value
    status, press = front.get_by_role("status", name="Answer"), front.keyboard.press
    expect(front.locator(".large-code .code")).to_have_text(code)
    press("v")
    expect(front.locator(".veil")).to_be_visible()
    phone.option("On the previous word").click()
    expect(status).to_have_text("1 of 1 have voted")
    press("v")
    expect(phone.page.get_by_role("status", name="Answer")).to_have_text("The vote is closed.")
    press("s")
    expect(front.locator(".veil")).to_have_count(0)
    press("x")
    expect(phone.option("On “cat”")).to_be_enabled()
    expect(front.locator(".veil")).to_be_visible()
    expect(status).to_have_text("0 of 1 have voted")
    for key in "vsq":
        press(key)  # at once: each waits for what the last one does

    host.page.bring_to_front()
    strip.get_by_role("button", name="ask …").click()
    strip.get_by_label("Question").fill("Who was <b>tired</b>?")
    strip.get_by_label("Answers").fill("the cat\nthe dog")
    strip.get_by_role("button", name="ask the class", exact=True).click()
    phone.option("the dog").click()
    expect(strip).to_contain_text("<b>tired</b>")
    expect(strip.get_by_role("status")).to_have_text("1 have voted")
    host.keys(*"vt")
    expect(strip.locator(".question-card .votes")).to_have_text(["0", "1"])


@A_ROOM
def test_class_votes_twice_explores_freely_and_returns(new_tab: NewTab, new_phone: NewTab) -> None:
    host = new_tab(Beside).begin(IT)
    strip, code = open_room(host)
    press, status = host.keys, strip.get_by_role("status")
    one, two = new_phone(Phone), new_phone(Phone)
    for phone in (one, two):
        phone.join(code)
    expect(strip).to_contain_text("2 joined")

    # two votes; a press that began before one ends on the same button
    press("v")
    close = strip.get_by_role("button", name="close the vote").element_handle()
    one.option("On the previous word").click()
    two.option("On “animal”").click()
    expect(status).to_have_text("2 have voted")
    assert close.evaluate("(button) => button.isConnected")
    two.page.emulate_media(color_scheme="dark")
    two.page.reload()  # it is the same voter afterwards
    expect(two.option("On “animal”")).to_have_attribute("aria-pressed", "true")
    assert unreadable(two.page, least=8) == []
    press("v")
    expect(status).to_have_text("50 % are right. Let them discuss, then vote again.")
    expect(host.lesson.locator(".votes .bar")).to_have_count(0)
    press("r")
    for phone in (one, two):  # until then its buttons are those of the first vote
        expect(phone.page.get_by_role("status", name="Answer")).to_contain_text("Discuss with your neighbour")
    press("v")
    one.option("On “animal”").click()
    two.option("On “animal”").click()
    expect(status).to_have_text("2 have voted")
    press("v", "t")
    for votes in (host.lesson.locator(".votes"), one.page.locator(".votes")):
        expect(votes).to_have_text(["10", "12", "00", "00"])
    expect(status).to_have_text("50 %, then 100 % are right: 100 % of the possible gain.")
    press("s")
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    # the second question, a phone that goes on alone, and the way back
    press("x")
    expect(one.option("On “cat”")).to_be_enabled()
    host.wait_for_query(learn="it.1.2")
    expect(two.page.locator(".veil")).to_be_visible()
    press("v")
    for key, then in (("s", "answer"), ("q", "end the question"), ("g", "ask …")):
        strip.get_by_role("button", name=then).wait_for()
        press(key)
    one.page.get_by_role("link", name="explore on your own").click()
    expect(one.on(Beside).lesson).to_contain_text("On “cat”")
    expect(strip).to_contain_text("gather")
    press("g")
    one.page.wait_for_url(lambda url: urlsplit(url).path == "/room")
    expect(one.view).to_be_visible()

    # counts, a lock, and the end of the room
    press("k")
    counts = strip.get_by_role("link", name="counts, CSV").get_attribute("href") or ""
    assert unquote(counts).count('"On “animal”","1","2","yes","1"') == 1
    assert unquote(counts).count('"On the previous word","1","0","no","1"') == 1
    strip.get_by_role("button", name="lock the room").click()
    strip.get_by_role("button", name="unlock the room").click()
    strip.get_by_role("button", name="close room").click()
    expect(strip).to_be_hidden()
    expect(one.page.get_by_role("alert")).to_contain_text("room")
    expect(two.page.get_by_label("Code")).to_be_visible()
