"""The rooms as a server answers them: a class by its pages, and what a client made by hand gets instead."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import re
import time
from typing import Any

import pytest
from starlette.requests import Request

from pages.kit.draw.web import FILES
from pages.kit.rooms import bounds, page, refusals, routes
from pages.kit.rooms.memory import Memory
from pages.kit.rooms.messages import ALPHABET, RoomState
from pages.kit.rooms.refusals import AWAY, GUESSED, MOST_PHONES, NO_ROOM
from pages.kit.rooms.routes import RoomRoutes
from pages.kit.rooms.store import KEPT_SECONDS, Away
from pages.kit.server import readiness

from .looped import without_waiting
from .room_client import CELL_QUESTION, Client, Host, Phone


async def opened(store: Memory | None = None) -> Host:
    return await Host(RoomRoutes(store or Memory()), "198.51.100.1").open()


async def joined(store: Memory | None = None) -> tuple[Host, Phone]:
    """The host of a room, and a phone in it."""
    host = await opened(store)
    return host, await host.phone()


@without_waiting
async def test_a_class_follows_votes_twice_and_sees_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", itertools.cycle([0.0, 4e9]).__next__)  # a clock that is set moves no room
    host = await opened()
    phones = [await host.phone() for _ in range(3)]
    async with phones[0].events(host.code, phones[0].listen) as told, host.events(host.code, host.listen) as seen:
        first = await told.until(joined=3)
        assert (first["phase"], first["follows"]) == ("idle", True)
        await host.act("show", link="/explore?s=it")
        assert (await told.until(link="/explore?s=it"))["follows"]
        await host.act("let_go")
        await told.until(follows=False)
        question = await host.ask()
        for phone, option in zip(phones, (0, 1, 1), strict=True):
            assert (await phone.vote(question, option))[0] == 200
        state = await told.until(voted=3)
        assert state["mine"] == {"choice": 0, "sentence": ""}
        assert state["tallies"] == (await seen.until(voted=3))["tallies"] == []
        early = await host.post("act", {"code": host.code, "key": host.key, "act": "tallies"})
        assert early == (409, "That cannot be done now: close the vote first.")
        await host.act("close")
        assert (await seen.until(phase="closed"))["tallies"] == [{"voted": 3, "counts": [1, 2, 0], "dots": []}]
        await host.act("again")
        assert (await phones[0].vote(question, 1, 1))[0] == 200
        await host.act("close")
        await host.act("answer", answer={"right": [1], "text": "So it is."})
        state = await told.until(phase="answer")
        assert [tally["counts"] for tally in state["tallies"]] == [[1, 2, 0], [0, 1, 0]]
        assert state["answer"] == {"right": [1], "text": "So it is."}
        await host.done("delete", {"code": host.code, "key": host.key})
        kind, gone = await told.next()
        assert kind == "gone"
        assert gone["told"] == NO_ROOM.english
    assert (await phones[0].vote(question, 1, 1)) == (404, NO_ROOM.english)


# ---- what a client made by hand gets


async def test_nobody_votes_twice_late_or_for_what_there_is_not() -> None:
    host, phone = await joined()
    question = await host.ask(CELL_QUESTION)
    assert (await phone.vote(question, [1, 2]))[0] == 200
    for act in ("close", "discuss", "again", "close"):
        await host.act(act)
        state = await phone.state()
        assert (state["tallies"], set(state)) == ([], set(RoomState.__annotations__))
        assert "ballots" not in json.dumps(state)
    await host.act("tallies")
    assert (await phone.state())["tallies"][0]["dots"] == [[1, 2, 1]]
    question = await host.ask()
    assert [(await phone.vote(question, choice))[0] for choice in (0, 1, 1)] == [200, 200, 200]
    for choice in (3, -1, True, "0", None, 1.0, [0, 0], {"a": 1}, 10**30):
        assert (await phone.vote(question, choice))[0] == 422
    assert (await phone.vote("q9", 0))[0] == (await phone.vote(question, 0, 1))[0] == 409
    assert (await phone.state())["voted"] == 1
    stranger = Phone(host.app)
    stranger.code = host.code
    for token in ("made-by-me", "", "x" * 100, None, 7, phone.listen, host.listen, host.key):
        stranger.token = token  # type: ignore[assignment]
        assert (await stranger.vote(question, 2))[0] == 403
    await host.act("close")
    assert await phone.vote(question, 2) == (409, "Voting is closed.")
    assert (await phone.state())["mine"]["choice"] == 1
    await host.act("tallies")
    assert (await phone.state())["tallies"][0]["counts"] == [0, 1, 0]
    # a phone that comes again, wherever it is, is the same voter
    again = await Client(host.app, "203.0.113.77").done("join", {"code": host.code.lower(), "token": phone.token})
    assert again == {"token": phone.token, "listen": phone.listen}
    assert (await host.done("join", {"code": host.code, "token": "made-by-me"}))["token"] != "made-by-me"
    async with host.events(host.code, "nobody") as told:
        assert (await told.next())[0] == "gone"


async def test_nobody_but_the_host_moves_the_class_or_learns_his_key() -> None:
    host = await opened()
    other = await opened_beside(host)
    phone = await host.phone()
    for key in (phone.token, phone.listen, host.listen, other.key, "", None, 1):
        for name, more in (("act", {"act": "let_go"}), ("delete", {}), ("join", {})):
            status, told = await phone.post(name, {"code": host.code, "key": key, **more})
            assert status == 403, (name, key)
            assert host.key not in str(told)
    state = await phone.state()
    assert state["follows"]
    assert host.key not in json.dumps(state)
    assert host.listen not in json.dumps(state)
    assert (await host.post("join", {"code": host.code, "key": host.key}))[1] == {"token": "", "listen": host.listen}


async def test_nobody_reads_who_wrote_a_sentence_or_one_that_is_not_shown() -> None:
    host, phone = await joined()
    await host.act("write", state="asked")
    for text in ("to be hidden", "seen"):
        assert (await (await host.phone()).write(text))[0] == 200

    async def sentences(listen: str) -> tuple[int, Any]:
        return await phone.get("sentences", code=host.code, listen=listen)

    assert await sentences(phone.listen) == (200, {"sentences": []})
    assert (await sentences("nobody"))[0] == 403
    written = (await sentences(host.listen))[1]["sentences"]
    await host.act("measure", values=[[one["number"], 0.5] for one in written])
    await host.act("hide", number=written[0]["number"], on=True)
    await host.act("write", state="shown")
    ((seen,), state) = (await sentences(phone.listen))[1]["sentences"], await phone.state()
    assert seen == {"number": written[1]["number"], "text": written[1]["text"], "value": 0.5, "hidden": False}
    assert len(state["points"]) == 1


async def test_a_phone_is_refused_in_its_language_with_a_sentence_of_ours() -> None:
    host, phone = await joined()
    body = {"code": host.code, "token": phone.token}
    for language, at in (("de", "german"), ("en", "english"), ("xx", "english")):
        of = f"?lang={language}"
        assert await phone.post(f"sentence{of}", {**body, "text": "a"}) == (409, getattr(refusals.NOT_ASKED, at))
        assert await phone.post(f"vote{of}", body) == (409, getattr(refusals.VOTE_CLOSED, at))
        assert await phone.post(f"join{of}", {"code": "AAAAAA"}) == (404, getattr(NO_ROOM, at))
        async with phone.events("AAAAAA", phone.listen, lang=language) as told:
            assert await told.next() == ("gone", {"told": getattr(NO_ROOM, at)})
    await host.act("write", state="asked")
    long = await phone.post("sentence?lang=de", {**body, "text": "x" * 1234})
    assert long == (422, "Das ist zu lang: 1.234 Zeichen, erlaubt sind 200.")
    for text in ("x" * 10_000, "nul\0", "\x1b[31m", "\ud800", 7, None, ["a"]):
        status, refusal = await phone.write(text)
        assert status == 422, text
        assert str(refusal).endswith(".")
        assert len(str(refusal)) < 100


async def test_a_code_is_needed_and_guessing_costs_only_who_guesses() -> None:
    host = await opened()
    mate = await host.phone("203.0.113.5")
    guesser = Client(host.app, "203.0.113.5")
    heard = [await guesser.post("join", {"code": "AAAAA" + letter}) for letter in "BCDEFGHJKLMNPQRSTUVWXYZ" * 2]
    assert heard[0] == (404, NO_ROOM.english)
    assert heard[-1] == (429, GUESSED.english)
    other = await opened_beside(host)
    assert await guesser.post("join", {"code": other.code}) == heard[-1], "of a room that there is, not a word more"
    async with guesser.events(other.code, "nobody") as told:
        assert (await told.next())[0] == "wait"
    assert mate.token
    assert (await host.phone("203.0.113.5")).token, "his class goes on"
    assert (await other.phone("203.0.113.6")).token, "and everybody elsewhere"
    for code in ("", "ABC", None, 6, "ABCDE0", "ÄBCDEF", "A" * 1000):
        assert (await Client(host.app, "203.0.113.7").post("join", {"code": code}))[0] == 404


async def opened_beside(host: Host) -> Host:
    return await Host(host.app, "198.51.100.2").open()


async def test_other_pages_and_odd_bodies_are_refused() -> None:
    host = await opened()
    said = {"code": host.code}
    for headers in (
        {"origin": "https://evil.example", "host": "here"}, {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"}, {"content-type": "text/plain"},
    ):  # fmt: skip
        assert (await host.post("join", said, **headers))[0] == 403
    assert (await host.post("join", b"[" * 20_000))[0] == 422
    assert (await host.post("join", b'"x"'))[0] == (await host.post("join", b"\xff"))[0] == 422
    assert (await host.post("join", b"x" * 40_000))[0] == 413
    assert (await host.get("join"))[0] == (await host.post("events"))[0] == 405
    assert (await host.post("nothing"))[0] == 404
    assert await Client(RoomRoutes(None)).post("open") == (404, "There are no rooms on this server.")


async def test_a_flood_fills_the_room_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "ASKS", (1.0, 400))
    host = await opened(Memory(most=2))
    flood = [host.post("join", {"code": host.code}) for _ in range(420)]
    statuses = [status for status, _ in await asyncio.gather(*flood)]
    assert statuses.count(200) == MOST_PHONES
    assert set(statuses) == {200, 409, 429}
    elsewhere = Client(host.app, "203.0.113.9")
    assert (await elsewhere.post("open"))[0] == 200
    assert (await elsewhere.post("open"))[0] == 429, "as many rooms as there may be"


# ---- streams


@without_waiting
async def test_however_many_vote_a_stream_has_few_messages_then_beats_and_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = await opened()
    phones = [await host.phone() for _ in range(60)]
    question = await host.ask()
    async with phones[0].events(host.code, phones[0].listen) as told:
        await told.until(phase="open")
        for number, phone in enumerate(phones):
            await phone.vote(question, number % 3)
            await asyncio.sleep(1 / 60)
        await asyncio.sleep(routes.PAUSE_SECONDS)
        assert told.waiting() <= 1 + 1 / routes.PAUSE_SECONDS
        await told.until(voted=60)
        await asyncio.sleep(3 * routes.BEAT_SECONDS)
        assert 2 <= told.waiting() <= 3, "beats"
        monkeypatch.setattr(readiness.STATE, "is_ending", True)
        assert await told.next() == ("", None), "the server ends; the browser connects to another by itself"


@without_waiting
async def test_a_room_ends_by_itself_and_its_phones_hear_of_it() -> None:
    host, phone = await joined()
    async with phone.events(host.code, phone.listen) as told:
        await asyncio.sleep(KEPT_SECONDS - 60)
        await host.act("let_go")  # from now on as long again
        await asyncio.sleep(KEPT_SECONDS - 60)
        assert (await host.post("join", {"code": host.code}))[0] == 200
        await asyncio.sleep(KEPT_SECONDS + 1)
        while (await told.next())[0] == "room":
            pass
    assert (await host.post("join", {"code": host.code}))[0] == 404


class Leaving(Memory):
    """A store that is away while it is told so, before or after it has done what it was asked."""

    is_away, after = False, False

    async def read(self, code: str) -> bytes | None:
        if self.is_away and not self.after:
            raise Away
        return await super().read(code)

    async def swap(self, code: str, version: int, content: bytes) -> bool:
        done = await super().swap(code, version, content)
        if self.is_away:
            raise Away
        return done


@without_waiting
async def test_after_the_store_was_away_a_vote_sent_again_counts_once_and_a_stream_goes_on() -> None:
    store = Leaving()
    host, phone = await joined(store)
    question = await host.ask()
    async with phone.events(host.code, phone.listen) as told:
        await told.until(phase="open")
        store.is_away = True
        assert await phone.vote(question, 1) == (503, AWAY.english)
        store.after = True  # it was stored, but nobody heard so
        assert (await phone.vote(question, 2))[0] == 503
        store.is_away = False
        assert (await phone.vote(question, 2))[0] == 200
        await host.act("close")
        assert await host.act("close") == await host.act("close"), "an act that is sent again is nothing new"
        assert (await told.until(phase="closed"))["voted"] == 1
    store.is_away, store.after = True, False  # for who reads: what tells of changes does not notice
    async with phone.events(host.code, phone.listen) as told:
        assert await told.next() == ("wait", {"told": AWAY.english})
        store.is_away = False
        assert (await told.until(joined=1))["phase"] == "closed"


async def test_no_word_of_a_room_is_in_a_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        host, phone = await joined()
        await host.act("write", state="asked")
        assert (await phone.write("kestrel"))[0] == 200
        assert (await phone.write("kestrel\0"))[0] == 422
    assert "kestrel" not in caplog.text
    assert "198.51.100" not in caplog.text


def test_a_code_cannot_be_guessed_and_a_refusal_is_there_in_both_languages() -> None:
    assert len(set(ALPHABET)) == 32
    assert not set("O0I1") & set(ALPHABET), "they look alike"
    guesses = bounds.GUESSES[0] * 3600 * 90 / 60  # in the life of a room
    assert guesses * 100 * 1000 < len(ALPHABET) ** 6, "of one of a hundred rooms"
    told = [one for one in vars(refusals).values() if isinstance(one, refusals.Bilingual)]
    assert len(told) == 15
    for one in told:
        assert one.german != one.english
        assert one.german.count("{}") == one.english.count("{}")
        assert one.german.endswith(".")


# ---- the page of a room, and what it says of what is kept


async def test_neither_page_sets_a_cookie_or_loads_anything_from_elsewhere() -> None:
    request = Request({
        "type": "http", "method": "GET", "path": "/room", "query_string": b"", "scheme": "http",
        "server": ("school", 80), "headers": [(b"host", b"school")],
    })  # fmt: skip
    for answer in (page.page, page.privacy):
        told = await answer(request)
        assert told.status_code == 200
        assert "set-cookie" not in told.headers
        links = re.findall(r'(?:src|href)="([^"]*)"', bytes(told.body).decode())
        assert links
        assert all(re.match(r"/(?!/)", link) for link in links)


def test_what_is_kept_is_said_in_both_languages_with_the_time_that_holds() -> None:
    privacy = FILES["rooms/privacy.html"].decode()
    english, german = re.findall(r'<section lang="(?:en|de)">(.*?)</section>', privacy, re.DOTALL)
    assert english.count("<p>") == german.count("<p>") > 0
    words = FILES["rooms/room_words.js"].decode()
    for section, unit in ((english, "minutes"), (german, "Minuten")):
        for text in (section, words, str(refusals.NO_ROOM)):
            assert set(re.findall(rf"(\d+) {unit}", text)) == {f"{KEPT_SECONDS / 60:.0f}"}
