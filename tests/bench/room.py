"""A class in a room: `python -m tests.bench.room`. Nothing is asserted.

A phone is a stream that it opens anew when it is lost, as EventSource does, and votes that are sent again until they
are answered; tests/browser/test_copies.py kills servers behind nginx while such a class votes.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

from pages.kit.rooms.messages import PATH
from tests.bench.serving import Server, options, quantiles, serve

AGAIN = 0.3  # seconds until what was not answered is sent again
BACK = 1.0  # seconds after which EventSource opens a stream anew
PATIENCE = 30.0
QUESTION = {"kind": "own", "text": "Which one?", "options": ["it", "animal", "street"], "link": ""}


@dataclass
class Person:
    """Somebody with a secret of a room: the state that came last, when each version and each message came, and the
    seconds without a stream, each time that one was lost."""

    url: str
    code: str = ""
    secret: dict[str, str] = field(default_factory=dict)
    listen: str = ""
    state: dict[str, Any] = field(default_factory=dict)
    at: dict[int, float] = field(default_factory=dict)
    heard: deque[float] = field(default_factory=deque)
    lost: list[float] = field(default_factory=list)
    again: int = 0
    cookie: str = field(default_factory=lambda: f"headlight_copy={uuid4().hex}")

    async def post(self, name: str, said: dict[str, Any]) -> Any:
        """The answer to an act, which is sent until there is one."""
        while True:
            status, told = await self._once(name, {"code": self.code, **self.secret, **said})
            if status == 200:
                return json.loads(told)
            if status not in (0, 429, 502, 503, 504):
                raise RuntimeError(f"{name}: {status} {told}")
            self.again += 1
            await asyncio.sleep(AGAIN)

    async def _once(self, name: str, said: dict[str, Any]) -> tuple[int, str]:
        content = json.dumps(said)
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await self._connect()
                lines = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\nConnection: close"
                writer.write(f"POST {PATH}/{name} HTTP/1.1\r\n{self._head()}\r\n{lines}\r\n\r\n{content}".encode())
                try:
                    answer = (await reader.read()).decode()
                finally:
                    await _close(writer)
        except (OSError, asyncio.IncompleteReadError):
            return 0, ""
        head, _, body = answer.partition("\r\n\r\n")
        told = body[body.find("{") : body.rfind("}") + 1]
        status = int(head.split()[1]) if head.startswith("HTTP/1.") else 0
        return (0, "") if status == 200 and not told else (status, told or body)  # who answered was killed meanwhile

    async def follow(self) -> None:
        """Listens until it is cancelled or the room is gone."""
        gone_at = 0.0
        while True:
            try:
                reader, writer = await self._connect()
                query = urlencode({"code": self.code, "listen": self.listen})
                writer.write(f"GET {PATH}/events?{query} HTTP/1.1\r\n{self._head()}\r\n\r\n".encode())
                try:
                    taken = b" 200 " in await reader.readline()  # else a copy is away, and nginx keeps the line
                    while taken and (line := await reader.readline()):
                        if line.startswith(b"event: gone"):
                            return
                        if line.startswith(b"data: {") and b'"version"' in line:
                            if gone_at:
                                self.lost.append(time.perf_counter() - gone_at)
                                gone_at = 0.0
                            self._take(json.loads(line[6:]))
                finally:
                    await _close(writer)
            except OSError:
                pass
            gone_at = gone_at or time.perf_counter()
            await asyncio.sleep(BACK)

    def _take(self, state: dict[str, Any]) -> None:
        self.state = state
        now = time.perf_counter()
        self.heard.append(now)
        self.at.setdefault(state["version"], now)

    async def until(self, version: int) -> float:
        """When a version of the state, or a newer one, had come."""
        while self.state.get("version", 0) < version:
            await asyncio.sleep(0.01)
        return min(at for known, at in self.at.items() if known >= version)

    def busiest_second(self) -> int:
        """The most messages of any second."""
        heard, most, begin = list(self.heard), 0, 0
        for end, at in enumerate(heard):
            while at - heard[begin] > 1:
                begin += 1
            most = max(most, end - begin + 1)
        return most

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = urlsplit(self.url)
        return await asyncio.open_connection(address.hostname, address.port, limit=2**20)

    def _head(self) -> str:
        return f"Host: {urlsplit(self.url).netloc}\r\nCookie: {self.cookie}"


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@dataclass
class Class:
    """A host and his phones, all of whom listen."""

    host: Person
    phones: list[Person]
    listening: list[asyncio.Task[None]]
    asked: int = 0

    async def act(self, act: str, **more: Any) -> int:
        return int((await self.host.post("act", {"act": act, **more}))["version"])

    async def ask(self) -> str:
        self.asked += 1
        await self.act("ask", question=QUESTION | {"id": f"q{self.asked}"})
        return f"q{self.asked}"

    async def end(self) -> None:
        await self.host.post("delete", {})
        for task in self.listening:
            task.cancel()
        await asyncio.gather(*self.listening, return_exceptions=True)


async def opened(url: str, phones: int) -> Class:
    host = Person(url)
    told = await host.post("open", {})
    host.code, host.secret, host.listen = told["code"], {"key": told["key"]}, told["listen"]
    people = [Person(url, host.code) for _ in range(phones)]
    for person in people:
        joined = await person.post("join", {})
        person.secret, person.listen = {"token": joined["token"]}, joined["listen"]
    listening = [asyncio.create_task(person.follow()) for person in (host, *people)]
    await asyncio.gather(*(person.until(1) for person in people))
    return Class(host, people, listening)


async def voted(room: Class, seconds: float) -> list[float]:
    """The milliseconds of each vote, when all vote within so many seconds, and change their mind once."""
    question = await room.ask()

    async def vote(phone: Person, number: int) -> float:
        await asyncio.sleep(seconds * number / len(room.phones))
        begun = time.perf_counter()
        for choice in ((number + 1) % 3, number % 3):
            await phone.post("vote", {"question": question, "round": 0, "choice": choice})
        return 500 * (time.perf_counter() - begun)

    return list(await asyncio.gather(*(vote(phone, number) for number, phone in enumerate(room.phones))))


async def tally_of(room: Class) -> tuple[list[int], list[int]]:
    """What was counted, and what should have been."""
    await room.act("close")
    version = await room.act("tallies")
    await asyncio.gather(*(phone.until(version) for phone in room.phones))
    (counts,) = {tuple(phone.state["tallies"][0]["counts"]) for phone in room.phones}
    right = Counter(number % 3 for number in range(len(room.phones)))
    return list(counts), [right[option] for option in range(3)]


async def measure_one(server: Server, phones: int, acts: int) -> None:
    before = server.memory()
    room = await opened(server.url, phones)
    delays = list[float]()
    for turn in range(acts):
        begun = time.perf_counter()
        version = await room.act("show", link=f"/?s=turn+{turn}")
        delays += [1000 * (at - begun) for at in await asyncio.gather(*(p.until(version) for p in room.phones))]
        await asyncio.sleep(0.5)
    print(f"{phones} phones: the host's change is there after {quantiles(delays)} ms, longest {max(delays):.0f}")
    for phone in room.phones:
        phone.heard.clear()
    took = await voted(room, 2.0)
    counted, right = await tally_of(room)
    busiest = max(phone.busiest_second() for phone in room.phones)
    print(
        f"each votes twice in 2 s: a vote takes {quantiles(took)} ms; counted {counted} of {right}; "
        f"at most {busiest} messages a second to a phone; memory {server.memory() - before:+.0f} MiB"
    )
    await room.end()


def main() -> None:
    asked = options(__doc__, phones=200, acts=20)
    with serve() as server:
        asyncio.run(measure_one(server, asked.phones, asked.acts))


if __name__ == "__main__":
    main()
