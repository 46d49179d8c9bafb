"""Attacks a server of its own and watches a visitor who types and a class that votes meanwhile: `make attack`.

Only this machine is asked, every attack ends by itself, and nothing is asserted: short forms of the same are tests. The
attackers are a process of their own on the same cores, so that what they cost themselves is in the figures. `--only`
these attacks; `--seconds` of each half of a row.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from multiprocessing import get_context
from multiprocessing.synchronize import Event as EventOfProcesses
from typing import Any
from urllib.parse import quote_plus, urlsplit
from urllib.request import urlopen

from websockets.exceptions import ConnectionClosed, InvalidStatus

from headlight.rooms.messages import PATH
from headlight.ui.web import API
from tests.bench.serving import Server, options, quantiles, serve
from tests.bench.visitors import Typist, Visitor, sentence

PAUSE = 0.25  # seconds between two keys of the visitor who is watched
MAX_WAIT_S = 60.0  # seconds that he waits for an answer
TOKENS = 16
TEXT = 1_000_000  # characters
PHONES = 25
VOTE = {"question": "q1", "round": 0, "choice": 0}
QUESTION = {"id": "q1", "text": "Which?", "options": ["a", "b"]}

Run = Callable[[str, float, int, Callable[[], object]], None]


@dataclass(frozen=True)
class Attack:
    """What is done to the server: in words; a function that does it for so many seconds as attacker number n and calls
    `begun` when everything is prepared; and how many do so at once."""

    words: str
    run: Run
    visitors: int = 1


def turns(seconds: float) -> Iterator[int]:
    """The numbers of turns, from 1 on, as long as the attack goes on."""
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        turn += 1
        yield turn


def again(prepare: Callable[[str], Any], act: Callable[[Any, int, int], object]) -> Run:
    """Prepares something for the server's address, and then acts with it again and again."""

    def run(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
        prepared = prepare(url)
        begun()
        for turn in turns(seconds):
            act(prepared, number, turn)

    return run


def burst(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
    """Sends a thousand tiny messages as fast as they are taken, and stays."""
    visitor = Visitor(url, "positions")
    message = visitor.message()
    begun()
    for _ in range(1_000):
        visitor.socket.send(message)
    time.sleep(seconds)


def train(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
    """Presses Train and stays to watch."""
    visitor = Visitor(url, "train", task="who did what")
    visitor.act({"Train": None})
    begun()
    visitor.follow(seconds)


def long_text(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
    """Puts a megabyte into a box whose text stands in the link, again and again."""
    begun()
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        with suppress(ConnectionClosed, InvalidStatus, TimeoutError):
            visitor = Visitor(url, "by-hand", ex="two sentences")
            while time.monotonic() < end:
                turn += 1
                visitor.type("ab "[turn % 2 :: 2] * (TEXT // 2), "Words of the queries")


def unread(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
    """Has Positions drawn for 15 long sentences and reads none of it."""
    reader = Visitor(url, "positions")
    begun()
    for turn in range(15):
        reader.send({"Sentence": sentence(511, f"{number} {turn}")})
    time.sleep(seconds)


def wire(tokens: int, page: str = "", route: str = "") -> Run:
    """Asks the wire for new pictures as fast as it answers."""
    return again(
        lambda url: Typist(url, page),
        lambda typist, number, turn: typist.ask(sentence(tokens, f"{number} {turn}"), route),
    )


def ask(route: str, words: int) -> Run:
    """Asks a route of the wire about new words, one question after another, each when the one before is answered."""

    def act(url: str, number: int, turn: int) -> None:
        question = f"{url}{API}/{route}&s={_words(words, number, turn)}"
        with suppress(OSError, HTTPException), urlopen(question, timeout=MAX_WAIT_S) as answer:
            answer.read()

    return again(lambda url: url, act)


def _words(count: int, number: int, turn: int) -> str:
    return quote_plus(sentence(count + 2, f"{number} {turn}"))


def post(line: HTTPConnection, name: str, **body: Any) -> tuple[int, Any]:
    """Status and content of an answer of the rooms; 0 where the connection was closed."""
    try:
        line.request("POST", f"{PATH}/{name}", json.dumps(body), {"Content-Type": "application/json"})
        answer = line.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if answer.status == 200 else content
    except (OSError, HTTPException):
        line.close()
        return 0, b""


class Class:
    """A room whose phones have the attackers' address and vote in turn."""

    def __init__(self, url: str) -> None:
        self.line, self.votes = HTTPConnection(urlsplit(url).netloc, timeout=MAX_WAIT_S), 0
        room = self.accepted("open")
        self.code = {"code": room["code"]}
        self.tokens = [self.accepted("join", **self.code)["token"] for _ in range(PHONES)]
        self.accepted("act", **self.code, key=room["key"], act="ask", question=QUESTION)

    def accepted(self, name: str, **body: Any) -> Any:
        """The answer to a request, repeated as the browser does."""
        while (answer := post(self.line, name, **body))[0] != 200:
            time.sleep(1 if answer[0] else 0)
        return answer[1]

    def vote(self) -> float:
        """Milliseconds until the next phone's vote is accepted."""
        begun, self.votes = time.monotonic(), self.votes + 1
        self.accepted("vote", **VOTE, **self.code, token=self.tokens[self.votes % PHONES])
        return 1000 * (time.monotonic() - begun)


def of_rooms(name: str, **more: Any) -> Run:
    """Asks for rooms that there are not, one after another."""

    def act(line: HTTPConnection, number: int, turn: int) -> None:
        post(line, name, code="".join("ABCDEFGH"[(turn + 50 * number) >> 3 * at & 7] for at in range(6)), **more)

    return again(lambda url: HTTPConnection(urlsplit(url).netloc, timeout=MAX_WAIT_S), act)


resized = again(
    lambda url: Visitor(url, "implementations", n=400),
    lambda visitor, number, turn: visitor.act({"Tokens, n": 160 + (7 * turn + 40 * number) % 200}),
)
long_sentences = again(
    lambda url: Visitor(url, "positions"),
    lambda visitor, number, turn: visitor.type(sentence(511, f"{number} {turn}")),
)
verdicts, files = ask("lesson?learn=explanation.1", 57), ask("explore.html?model=smollm2", 215)
ATTACKS = {
    "1,000 messages": Attack("one client sends 1,000 rerun messages of a few bytes", burst),
    "ten train": Attack("ten press Train at the defaults and watch: two train, eight wait", train, 10),
    "long text": Attack("a megabyte in one bound text, in a loop", long_text),
    "slow readers": Attack("five have Positions drawn for 15 texts of 511 tokens each and read none", unread, 5),
    "random input": Attack("four change the size of the random input near its bound", resized, 4),
    "each head": Attack("two switch off each head alone, 511 tokens", wire(511, "compare", "ablations"), 2),
    "long sentences": Attack("four type 511 tokens into Positions without a pause", long_sentences, 4),
    "verdicts": Attack("two ask for the verdict on every head of 57 new words, in a loop", verdicts, 2),
    "standalone file": Attack("two ask for the HTML file of 215 new words of SmolLM2, in a loop", files, 2),
    "room codes": Attack("thirty guess the codes of rooms", of_rooms("join"), 30),
    "invented tokens": Attack("thirty vote with tokens of their own", of_rooms("vote", **VOTE, token="invented"), 30),
    "wire, short": Attack("eight ask the wire for 16 new tokens as fast as it answers", wire(TOKENS), 8),
}


def attack(name: str, url: str, seconds: float, begun: EventOfProcesses) -> None:
    """The attackers' side, a process of its own: each visitor in a thread. `begun` is set when all are prepared."""
    own = ATTACKS[name]
    prepared = threading.Barrier(own.visitors, begun.set)
    threads = [
        threading.Thread(target=own.run, args=(url, seconds, number, prepared.wait), daemon=True)
        for number in range(own.visitors)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)


def watch(typist: Typist, other: Visitor, room: Class, seconds: float, seed: str) -> list[list[float]]:
    """Two type for so long, with a pause after every key, in which a phone votes.

    Returns: the milliseconds from each key on Explore to its picture, over the wire, of each run of Positions, and of
    each vote; `MAX_WAIT_S` of an answer that has not come by then.
    """
    end, keys, runs, votes = time.monotonic() + seconds, list[float](), list[float](), list[float]()
    while time.monotonic() < end:
        begun = time.monotonic()
        text = sentence(TOKENS, f"{seed} {len(keys)}")
        while typist.ask(text).status != 200 and time.monotonic() - begun < MAX_WAIT_S:
            time.sleep(0.2)  # one who is sent away comes again, as the browser does
        keys.append(1000 * (time.monotonic() - begun))
        try:
            runs.append(other.type(text))
        except TimeoutError:
            runs.append(1000 * MAX_WAIT_S)
            break
        votes.append(room.vote())
        time.sleep(max(0.0, PAUSE - (time.monotonic() - begun)))
    return [keys, runs, votes]


def measure(name: str, server: Server, seconds: float) -> str:
    """One row: the visitor's times before and during the attack, and the server's memory at its highest."""
    typist, other, room = Typist(server.url), Visitor(server.url, "positions"), Class(server.url)
    watch(typist, other, room, 2, f"{name} warm")
    before = watch(typist, other, room, seconds, f"{name} before")
    processes = get_context("spawn")
    begun = processes.Event()
    client = processes.Process(target=attack, args=(name, server.url, seconds, begun))
    client.start()
    try:
        begun.wait()
        during = watch(typist, other, room, seconds, f"{name} during")
    finally:
        client.kill()
        client.join()
    for one in (typist, other):
        one.close()
    times = "  ".join(quantiles(times) for pair in zip(before, during, strict=True) for times in pair)
    return f"{name:<18} {times} {server.peak():8.0f}  {ATTACKS[name].words}"


def main() -> None:
    asked = options(__doc__, only=list(ATTACKS), seconds=12.0)
    print(f"a visitor types {TOKENS} tokens every {PAUSE:g} s; ms from a key on Explore to its picture, and of a run")
    print("of Positions, and until a vote is accepted: undisturbed and under attack")
    heads = ("key", "key, attacked", "run", "run, attacked", "vote", "vote, attacked")
    print(f"{'attack':<18} {'  '.join(f'{head:>15}' for head in heads)} {'peak MiB':>8}")
    for name in asked.only:
        with serve() as server:
            print(measure(name, server, asked.seconds), flush=True)


if __name__ == "__main__":
    main()
