"""Rooms in a Valkey that two servers share, by Debian's where it is installed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.kit.rooms import place
from pages.kit.rooms.refusals import AWAY
from pages.kit.rooms.routes import RoomRoutes
from pages.kit.rooms.shared import Shared
from pages.kit.rooms.store import Away, Full

from .room_client import Host, Phone
from .valkey_server import VALKEY, Valkey


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey | None]:
    if VALKEY is None:  # then the store in memory stands for it: what is around it is the same
        yield None
        return
    server = Valkey(tmp_path)
    yield server
    server.stop()


@pytest.mark.thorough("It stops a Valkey and waits until it is taken for away and for there again.")
async def test_two_servers_hold_one_room_and_go_on_after_the_store_was_away(valkey: Valkey | None) -> None:
    if valkey is None:
        return
    stores = [Shared(valkey.address) for _ in range(2)]
    here, there = (RoomRoutes(store) for store in stores)
    host = await Host(here, "198.51.100.1").open()
    phones = [await host.phone() for _ in range(8)]
    for phone in phones[4:]:
        phone.app = there
    async with (
        phones[0].events(host.code, phones[0].listen) as told,
        phones[7].events(host.code, phones[7].listen) as elsewhere,
    ):
        question = await host.ask()
        await elsewhere.until(phase="open")
        said = [phone.vote(question, turn % 3) for turn in range(4) for phone in phones]
        assert {status for status, _ in await asyncio.gather(*said)} == {200}, "each phone, four times, at once"
        for stream in (told, elsewhere):
            assert (await stream.until(voted=8))["tallies"] == []
        twin = Phone(there, phones[0].address)  # on another server a phone is the same voter
        again = await twin.done("join", {"code": host.code, "token": phones[0].token})
        assert again == {"token": phones[0].token, "listen": phones[0].listen}
        twin.code, twin.token, twin.listen = host.code, again["token"], again["listen"]
        status, counted = await twin.vote(question, 1)
        assert status == 200
        assert (await elsewhere.until(version=counted["version"]))["voted"] == 8

        valkey.process.send_signal(signal.SIGSTOP)
        assert await phones[1].vote(question, 2) == (503, AWAY.english)
        assert (await elsewhere.next())[0] == "wait"
        valkey.process.send_signal(signal.SIGCONT)
        while (await phones[1].vote(question, 2))[0] != 200:
            await asyncio.sleep(0.05)
        await host.act("close")
        await host.act("tallies")
        for stream in (told, elsewhere):
            (tally,) = (await stream.until(phase="tallies"))["tallies"]
            assert tally["voted"] == sum(tally["counts"]) == 8

        valkey.stop()
        valkey.start()  # an empty one: all that it held is gone, and that is said
        for stream in (told, elsewhere):
            kind = ""
            while kind != "gone":
                kind, _ = await stream.next()
    for store in stores:
        await store.close()


async def test_a_shared_store_holds_so_many_rooms_for_so_long(valkey: Valkey | None) -> None:
    if valkey is None:
        return
    store = Shared(valkey.address, most=1, kept_seconds=1)
    assert await store.create("AAAAAA", b"one")
    assert not await store.create("AAAAAA", b"another")
    with pytest.raises(Full):
        await store.create("BBBBBB", b"two")
    assert not await store.swap("AAAAAA", 7, b"of a version that is not")
    assert await store.swap("AAAAAA", 1, b"two")
    assert not await store.swap("BBBBBB", 1, b"of a room that is not")
    assert await store.read("AAAAAA") == b"two"
    while await store.read("AAAAAA"):
        await asyncio.sleep(0.05)
    while True:
        try:
            assert await store.create("BBBBBB", b"two")
            break
        except Full:  # within the same second
            await asyncio.sleep(0.05)
    await store.delete("BBBBBB")
    assert await store.read("BBBBBB") is None
    assert await store.create("CCCCCC", b"three"), "a deleted one makes room"
    await store.close()
    nowhere = Shared("valkey://127.0.0.1:1/0")
    with pytest.raises(Away):
        await nowhere.read("AAAAAA")
    await nowhere.close()


def test_an_address_that_can_be_none_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("nowhere", "http://rooms:6379", "valkey://rooms:99999/0"):
        monkeypatch.setenv(place.VARIABLE, address)
        with pytest.raises(ValueError, match=r"HEADLIGHT_ROOMS: .* as valkey://HOST:6379/0"):
            place.of_environment()
