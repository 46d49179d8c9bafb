"""Rooms: their rules, the routes of a server, and a Valkey that two servers share."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from starlette.requests import Request

from headlight.rooms import page, routes
from headlight.rooms import room as rules
from headlight.rooms.messages import RoomState
from headlight.rooms.room import MAX_PHONES, Room, RoomError, secret_digest, unpack
from headlight.rooms.rooms import RoomNotFound
from headlight.rooms.routes import TOO_MANY_GUESSES, TOO_MANY_TABS, UNAVAILABLE_TEXT, RoomRoutes
from headlight.rooms.store import IDLE_SECONDS, MemoryStore, TooManyRooms, ValkeyStore
from headlight.server import readiness

from .looped import without_waiting
from .room_client import QUESTION, Client, Host, Phone
from .waiting import PATIENCE, wait

HOST = secret_digest("key")
VALKEY = shutil.which("valkey-server")
PHASES = ("idle", "open", "closed", "discuss", "tallies", "answer")
NO_ROOM = str(RoomNotFound())
ACTS = ("close", "discuss", "again", "tallies", "answer", "idle", "let_go", "gather")
NAMES = some.sampled_from(["a", "b", "c", "d"])


def new_room() -> Room:
    return Room("ABCDEF", HOST)


def act(room: Room, name: str, **more: Any) -> None:
    rules.act(room, HOST, {"act": name, **more})


def ask(room: Room, name: str) -> None:
    act(room, "ask", question=QUESTION | {"id": name})


class Class(RuleBasedStateMachine):
    """A host and four phones that say whatever they like; beside them who counts by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.room = new_room()
        self.counted: list[dict[str, int]] = [{}, {}]
        self.asked = 0

    @rule(name=NAMES)
    def join(self, name: str) -> None:
        rules.join(self.room, name)

    @rule(is_new=some.booleans())
    def ask(self, is_new: bool) -> None:
        before = self.room.question
        self.asked += is_new or before is None
        ask(self.room, f"q{self.asked}")
        if before is None or before["id"] != f"q{self.asked}":
            self.counted = [{}, {}]

    @rule(name=some.sampled_from(ACTS))
    def act(self, name: str) -> None:
        before = self.room.pack()
        try:
            act(self.room, name, answer={"right": [], "text": "so it is"})
        except RoomError:
            assert self.room.pack() == before
        if name == "idle":
            self.counted = [{}, {}]

    @rule(name=NAMES, option=some.integers(-1, 3), late=some.booleans())
    def vote(self, name: str, option: int, late: bool) -> None:
        room, before = self.room, self.room.pack()
        question = room.question["id"] if room.question else "q0"
        is_fine = name in room.phones and room.phase == "open" and not late and 0 <= option < 3
        ballot = {"question": "q0" if late else question, "round": room.round, "choice": option}
        try:
            rules.vote(room, name, ballot)
        except RoomError:
            assert not is_fine
            assert room.pack() == before
            return
        assert is_fine
        self.counted[room.round][name] = option

    @invariant()
    def every_vote_counts_once(self) -> None:
        assert self.room.ballots == self.counted
        now = self.counted[self.room.round]
        for name in self.room.phones:
            state = rules.member_view(self.room, name)
            assert (state["voted"], state["choice"]) == (len(now), now.get(name))

    @invariant()
    def no_tally_and_no_answer_is_seen_early(self) -> None:
        phase = self.room.phase
        assert phase in PHASES
        views = [rules.member_view(self.room, name) for name in self.room.phones]
        assert all(bool(state["tallies"]) == (phase in ("tallies", "answer")) for state in views)
        assert all((state["answer"] is not None) == (phase == "answer") for state in views)
        host = rules.member_view(self.room, HOST)
        assert bool(host["tallies"]) == (phase not in ("idle", "open"))
        for number, tally in enumerate(host["tallies"]):
            chosen = Counter(self.counted[number].values())
            assert tally == [chosen[option] for option in range(3)]

    @invariant()
    def it_is_held_as_it_is(self) -> None:
        assert unpack(self.room.pack()) == self.room


TestClass = Class.TestCase
TestClass.settings = settings(stateful_step_count=50)


def test_question_or_a_link_that_does_not_fit_is_refused() -> None:
    room = new_room()
    before = room.pack()
    broken: list[Any] = [
        None, {}, QUESTION | {"id": "a b"}, QUESTION | {"options": ["x"] * 9}, QUESTION | {"options": ["x"]},
        QUESTION | {"options": [1, 2]}, QUESTION | {"text": "x" * 2001}, QUESTION | {"text": "nul\0"},
        QUESTION | {"learn": 1}, QUESTION | {"text": "\ud800"},
    ]  # fmt: skip
    links: list[Any] = ["x", "//x", "/\\x", "/a\n", "/" + "a" * 6000, None]  # off this server
    acts: list[tuple[str, dict[str, Any]]] = [
        *(("ask", {"question": {"id": "q1"} | one if isinstance(one, dict) else one}) for one in broken),
        *(("show", {"link": link}) for link in links),
    ]
    for name, more in acts:
        with pytest.raises(RoomError):
            act(room, name, **more)
        assert room.pack() == before, more


# ---- as a server answers them


async def opened(store: MemoryStore | None = None) -> Host:
    return await Host(RoomRoutes(store or MemoryStore()), "198.51.100.1").open()


async def joined(store: MemoryStore | None = None) -> tuple[Host, Phone]:
    """The host of a room, and a phone in it."""
    host = await opened(store)
    return host, await host.phone()


@without_waiting
async def test_class_follows_votes_twice_and_sees_the_answer() -> None:
    host = await opened()
    phones = [await host.phone() for _ in range(3)]
    async with phones[0].events(host.code, phones[0].listen) as stream, host.events(host.code, host.listen) as seen:
        first = await stream.until(joined=3)
        assert (first["phase"], first["follows"]) == ("idle", True)
        await host.act("show", link="/explore?s=it")
        assert (await stream.until(link="/explore?s=it"))["follows"]
        await host.act("let_go")
        await stream.until(follows=False)
        question = await host.ask()
        for phone, option in zip(phones, (0, 1, 1), strict=True):
            assert (await phone.vote(question, option))[0] == 200
        state = await stream.until(voted=3)
        assert state["choice"] == 0
        assert state["tallies"] == (await seen.until(voted=3))["tallies"] == []
        early = await host.post("act", {"code": host.code, "key": host.key, "act": "tallies"})
        assert early == (409, "Close the vote first.")
        await host.act("close")
        assert (await seen.until(phase="closed"))["tallies"] == [[1, 2, 0]]
        await host.act("again")
        assert (await phones[0].vote(question, 1, 1))[0] == 200
        await host.act("close")
        await host.act("answer", answer={"right": [1], "text": "So it is."})
        state = await stream.until(phase="answer")
        assert state["tallies"] == [[1, 2, 0], [0, 1, 0]]
        assert state["answer"] == {"right": [1], "text": "So it is."}
        await host.done("delete", {"code": host.code, "key": host.key})
        kind, gone = await stream.next()
        assert kind == "gone"
        assert gone["message"] == NO_ROOM
    assert (await phones[0].vote(question, 1, 1)) == (404, NO_ROOM)


# ---- what a client made by hand gets


async def test_double_late_and_unknown_votes_are_refused() -> None:
    host, phone = await joined()
    assert set(await phone.state()) == set(RoomState.__annotations__)
    question = await host.ask()
    assert [(await phone.vote(question, choice))[0] for choice in (0, 1, 1)] == [200, 200, 200]
    for choice in (3, True, "0", [0, 0], 10**30):
        assert (await phone.vote(question, choice))[0] == 422
    assert (await phone.vote("q9", 0))[0] == (await phone.vote(question, 0, 1))[0] == 409
    assert (await phone.state())["voted"] == 1
    stranger = Phone(host.app)
    stranger.code = host.code
    for token in ("made-by-me", None, phone.listen, host.key):
        stranger.token = token  # type: ignore[assignment]
        assert (await stranger.vote(question, 2))[0] == 403
    await host.act("close")
    assert await phone.vote(question, 2) == (409, "Voting is closed.")
    await host.act("lock", on=True)
    assert (await host.post("join", {"code": host.code}))[0] == 409
    # a phone that comes again, wherever it is, is the same voter
    again = await Client(host.app, "203.0.113.77").done("join", {"code": host.code.lower(), "token": phone.token})
    assert again == {"token": phone.token, "listen": phone.listen}
    async with host.events(host.code, "nobody") as stream:
        assert (await stream.next())[0] == "gone"


async def test_only_the_host_moves_the_class_and_has_the_key() -> None:
    host = await opened()
    other = await opened_beside(host)
    phone = await host.phone()
    for key in (phone.token, phone.listen, host.listen, other.key, "", None, 1):
        for name, more in (("act", {"act": "let_go"}), ("delete", {}), ("join", {})):
            status, content = await phone.post(name, {"code": host.code, "key": key, **more})
            assert status == 403, (name, key)
            assert host.key not in str(content)
    state = await phone.state()
    assert state["follows"]
    assert host.key not in json.dumps(state)
    assert (await host.post("join", {"code": host.code, "key": host.key}))[1] == {"token": "", "listen": host.listen}


@without_waiting
async def test_code_is_needed_and_guessing_costs_only_who_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "GUESS_RATE", (0.01, 30))
    host = await opened()
    phone = await host.phone("203.0.113.5")
    guesser = Client(host.app, "203.0.113.5")
    heard = [await guesser.post("join", {"code": "AAAAA" + letter}) for letter in "BCDEFGHJKLMNPQRSTUVWXYZ" * 2]
    assert heard[0] == (404, NO_ROOM)
    assert heard[-1] == (429, TOO_MANY_GUESSES)
    other = await opened_beside(host)
    assert await guesser.post("join", {"code": other.code}) == heard[-1], "of a room that there is, not a word more"
    async with guesser.events(other.code, "nobody") as stream:
        assert (await stream.next())[0] == "wait"
    assert (await phone.vote(await host.ask(), 1))[0] == 200, "his class goes on"
    assert (await guesser.post("join", {"code": host.code}))[0] == 200, "and grows: its network knows this code"
    assert (await other.phone("203.0.113.6")).token, "and everybody elsewhere"
    for code in ("", "ABC", None, 6, "ABCDE0", "ÄBCDEF", "A" * 1000):
        assert (await Client(host.app, "203.0.113.7").post("join", {"code": code}))[0] == 404


async def opened_beside(host: Host) -> Host:
    return await Host(host.app, "198.51.100.2").open()


async def test_other_pages_and_odd_bodies_are_refused() -> None:
    host = await opened()
    body = {"code": host.code}
    for headers in (
        {"origin": "https://evil.example", "host": "here"}, {"sec-fetch-site": "same-site"},
        {"content-type": "text/plain"},
    ):  # fmt: skip
        assert (await host.post("join", body, **headers))[0] == 403
    assert (await host.post("join", b"[" * 20_000))[0] == 422
    assert (await host.post("join", b"x" * 40_000))[0] == 413
    assert (await host.get("join"))[0] == (await host.post("events"))[0] == 405
    assert (await host.post("nothing"))[0] == 404
    assert await Client(RoomRoutes(None)).post("open") == (404, "Rooms are off on this server.")


@without_waiting
async def test_newcomer_waits_for_a_turn_in_a_network_that_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "GUESS_RATE", (1.0, 1))
    host = await opened()
    guesser = Client(host.app, "203.0.113.5")
    guesses = [guesser.post("join", {"code": f"AAAAA{letter}"}) for letter in "BCDEFGHJKLMN"]
    *heard, (status, _) = await asyncio.gather(*guesses, guesser.post("join", {"code": host.code}))
    assert {wrong for wrong, _ in heard} == {404}
    assert status == 200
    begun = asyncio.get_running_loop().time()
    assert 0 < begun <= routes.MAX_WAIT_SECONDS
    assert (await guesser.post("vote", {"code": host.code, "token": "invented"}))[0] == 429
    assert asyncio.get_running_loop().time() - begun >= routes.LATE_SECONDS, "a refusal takes its time"


@without_waiting
async def test_flood_fills_the_room_and_no_more() -> None:
    host = await opened(MemoryStore(max_rooms=2))
    flood = [host.post("join", {"code": host.code}) for _ in range(420)]
    statuses = [status for status, _ in await asyncio.gather(*flood)]
    assert statuses.count(200) == MAX_PHONES
    assert set(statuses) == {200, 409}
    elsewhere = Client(host.app, "203.0.113.9")
    idle = await elsewhere.done("open")
    assert (await elsewhere.post("open"))[0] == 429, "as many rooms as there may be"
    async with host.events(host.code, host.listen):
        await asyncio.sleep(IDLE_SECONDS + 1)
        assert (await elsewhere.post("open"))[0] == 200, "an idle room gives its place"
    assert (await elsewhere.post("join", {"code": idle["code"]}))[0] == 404
    assert await host.ask()


# ---- streams


@without_waiting
async def test_newest_stream_of_a_phone_replaces_its_oldest_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    share = routes.MAX_OWN_STREAMS
    monkeypatch.setattr(routes, "MAX_STREAMS", share + 1)
    host, phone = await joined()
    other = await host.phone()
    async with AsyncExitStack() as stack:
        # the host's, at last, replaces the oldest one of the phone with the most
        members: list[Host | Phone] = [other, *[phone] * 2 * share, host]
        seen, *own, last = [await stack.enter_async_context(who.events(host.code, who.listen)) for who in members]
        async with phone.events(host.code, "nobody") as stranger:
            assert (await stranger.next())[0] == "gone"
        await host.ask()
        for stream in (seen, last, *own[share + 1 :]):
            await stream.until(phase="open")
        for stream in own[: share + 1]:
            while (event := await stream.next())[0] == "room":
                pass
            assert event == ("wait", {"message": TOO_MANY_TABS})


@without_waiting
async def test_however_many_vote_a_stream_has_few_messages_and_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    host = await opened()
    phones = [await host.phone() for _ in range(60)]
    question = await host.ask()
    async with phones[0].events(host.code, phones[0].listen) as stream:
        await stream.until(phase="open")
        for number, phone in enumerate(phones):
            await phone.vote(question, number % 3)
            await asyncio.sleep(1 / 60)
        await asyncio.sleep(routes.PAUSE_SECONDS)
        assert stream.waiting() <= 1 + 1 / routes.PAUSE_SECONDS
        await stream.until(voted=60)
        monkeypatch.setattr(readiness.STATE, "is_ending", True)
        assert await stream.next() == ("", None), "the server ends; the browser connects to another by itself"


@without_waiting
async def test_room_ends_by_itself_and_its_phones_hear_of_it() -> None:
    host, phone = await joined(MemoryStore(kept_seconds=300))
    async with phone.events(host.code, phone.listen) as stream:
        await asyncio.sleep(240)
        await host.act("let_go")  # from now on as long again
        await asyncio.sleep(240)
        assert (await host.post("join", {"code": host.code}))[0] == 200
        await asyncio.sleep(301)
        while (await stream.next())[0] == "room":
            pass
    assert (await host.post("join", {"code": host.code}))[0] == 404


async def test_no_word_of_a_room_is_in_a_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        host = await opened()
        await host.ask(QUESTION | {"text": "kestrel"})
        body = {"code": host.code, "key": host.key, "act": "ask", "question": {"id": "q", "text": "kestrel\0"}}
        assert (await host.post("act", body))[0] == 422
    assert "kestrel" not in caplog.text
    assert "198.51.100" not in caplog.text


# ---- the page of a room, and what it says of what is kept


async def test_neither_page_sets_a_cookie_or_loads_anything_from_elsewhere() -> None:
    request = Request({
        "type": "http", "method": "GET", "path": "/room", "query_string": b"", "scheme": "http",
        "server": ("school", 80), "headers": [(b"host", b"school")],
    })  # fmt: skip
    for answer in (page.page, page.privacy):
        response = await answer(request)
        assert response.status_code == 200
        assert "set-cookie" not in response.headers
        links = re.findall(r'(?:src|href)="([^"]*)"', bytes(response.body).decode())
        assert links
        assert all(re.match(r"/(?!/)", link) for link in links)


# ---- in a Valkey that two servers share


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]] | None]:
    """The address and the process of one of the test's own, with nothing of it on a disk."""
    if VALKEY is None:  # then the store in memory stands for it: what is around it is the same
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    with subprocess.Popen([VALKEY, *options, "--dir", tmp_path], stdout=subprocess.DEVNULL) as server:
        wait(lambda: answers(port) or server.poll() is not None)
        yield f"valkey://127.0.0.1:{port}/0", server
        server.kill()


def answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


async def test_two_servers_hold_one_room_until_the_store_is_away(
    valkey: tuple[str, subprocess.Popen[bytes]] | None,
) -> None:
    if valkey is None:
        return
    address, server = valkey
    here, there = ValkeyStore(address), ValkeyStore(address)
    host = await Host(RoomRoutes(here), "198.51.100.1").open()
    phones = [await host.phone() for _ in range(8)]
    for phone in phones[4:]:
        phone.app = RoomRoutes(there)
    async with (
        phones[0].events(host.code, phones[0].listen) as stream,
        phones[7].events(host.code, phones[7].listen) as elsewhere,
    ):
        question = await host.ask()
        await elsewhere.until(phase="open")
        votes = [phone.vote(question, turn % 3) for turn in range(4) for phone in phones]
        assert {status for status, _ in await asyncio.gather(*votes)} == {200}, "each phone, four times, at once"
        for member in (stream, elsewhere):
            assert (await member.until(voted=8))["tallies"] == []
    bounded = ValkeyStore(address, max_rooms=2, kept_seconds=1)
    assert await bounded.create("AAAAAA", b"one")
    assert not await bounded.create("AAAAAA", b"another")
    with pytest.raises(TooManyRooms):
        await bounded.create("BBBBBB", b"two")
    assert not await bounded.swap("AAAAAA", b"what is not there", b"two")
    assert await bounded.swap("AAAAAA", b"one", b"two")
    assert await bounded.read("AAAAAA") == b"two"
    while await bounded.read("AAAAAA"):
        await asyncio.sleep(0.05)
    server.kill()
    server.wait(PATIENCE)
    assert await phones[0].vote(question, 1) == (503, UNAVAILABLE_TEXT)
    for store in (here, there, bounded):
        await store.close()
