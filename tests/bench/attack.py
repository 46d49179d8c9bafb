"""Attacks a server of its own and watches a visitor who types meanwhile: `make attack`.

Only this machine is asked, every attack ends by itself, and nothing is asserted: short forms of the same are tests. The
attackers are a process of their own on the same cores, so that what they cost themselves is in the figures. `--only`
these attacks; `--seconds` of each half of a row.
"""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from multiprocessing import get_context
from multiprocessing.synchronize import Event as EventOfProcesses
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlsplit
from urllib.request import urlopen

from websockets.exceptions import ConnectionClosed, InvalidStatus

from pages.kit.draw.web import API
from tests.bench.serving import Server, options, quantiles, serve
from tests.bench.visitors import Typist, Visitor, open_socket, sentence

PAUSE = 0.25  # seconds between two keys of the visitor who is watched
LONGEST = 60.0  # seconds that he waits for an answer
TOKENS = 16
TEXT = 1_000_000  # characters

Run = Callable[[str, float, int, Callable[[], object]], None]


@dataclass(frozen=True)
class Attack:
    """What is done to the server.

    Attributes:
        told: the same in words.
        run: does it for so many seconds, as attacker number n; it calls `begun` when everything is prepared.
        visitors: so many go on at once.
    """

    told: str
    run: Run
    visitors: int = 1


def turns(seconds: float) -> Iterator[int]:
    """The numbers of turns, from 1 on, as long as the attack goes on."""
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        turn += 1
        yield turn


def burst(messages: int) -> Run:
    """Sends tiny messages as fast as they are taken, and comes back when it is thrown out."""

    def run(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
        begun()
        end, left = time.monotonic() + seconds, messages
        while left and time.monotonic() < end:
            visitor = Visitor(url, "positions")
            message = visitor.message()
            with suppress(ConnectionClosed, TimeoutError):
                while left and time.monotonic() < end:
                    visitor.socket.send(message)
                    left -= 1

    return run


def train(task: str, **link: Any) -> Run:
    """Presses Train and stays to watch."""

    def run(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
        visitor = Visitor(url, "train", task=task, **link)
        visitor.act({"Train": None})
        begun()
        visitor.follow(seconds)

    return run


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


def random_input(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
    """Changes the sizes of the random input, near the largest, before each answer has come."""
    visitor = Visitor(url, "implementations", n=400)
    begun()
    for turn in turns(seconds):
        visitor.act({"Tokens, n": 160 + (7 * turn + 40 * number) % 200})


def long_sentences(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
    """Types sentences of 511 tokens into Positions without a pause."""
    visitor = Visitor(url, "positions")
    begun()
    for turn in turns(seconds):
        visitor.type(sentence(511, f"{number} {turn}"))


def wire(tokens: int, page: str = "", route: str = "", *, nameless: bool = False) -> Run:
    """Asks the wire for new pictures as fast as it answers: with the name of a visit, or as if no page were open."""

    def run(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
        typist = Typist(url, page)
        typist.headers = {} if nameless else typist.headers
        begun()
        for turn in turns(seconds):
            typist.ask(sentence(tokens, f"{number} {turn}"), route)

    return run


def ask(route: str, words: int) -> Run:
    """Asks a route of the wire about new words, one question after another, each when the one before is answered."""

    def run(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
        begun()
        for turn in turns(seconds):
            question = f"{url}{API}/{route}&s={_words(words, number, turn)}"
            with suppress(OSError, HTTPException), urlopen(question, timeout=LONGEST) as answer:
                answer.read()

    return run


def _words(count: int, number: int, turn: int) -> str:
    return quote_plus(sentence(count + 2, f"{number} {turn}"))


def deaf(url: str, seconds: float, number: int, begun: Callable[[], object]) -> None:
    """Asks the wire for pictures of 511 tokens and reads nothing; who is sent away or hung up on comes again."""
    begun()
    place, end, turn = urlsplit(url), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        turn += 1
        question = f"{API}/maps?s={_words(509, number, turn)}"
        with suppress(OSError), socket.create_connection((str(place.hostname), place.port or 80), 10) as line:
            line.sendall(f"GET {question} HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
            line.settimeout(max(0.1, end - time.monotonic()))
            begins = line.recv(12)
            while begins.endswith(b"200") and time.monotonic() < end:
                time.sleep(0.2)
                if line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):  # hung up on
                    break
        time.sleep(0.2)


ATTACKS = {
    "1,000 messages": Attack("one client sends 1,000 rerun messages of a few bytes", burst(1_000)),
    "100,000 messages": Attack("one client sends 100,000 of them", burst(100_000)),
    "ten train": Attack("ten press Train at the defaults and watch: two train, eight wait", train("who did what"), 10),
    "ten tell names": Attack("the same with full names and 200 more tokens", train("full names", more=200), 10),
    "long text": Attack("a megabyte in one bound text, in a loop", long_text),
    "slow readers": Attack("five have Positions drawn for 15 texts of 511 tokens each and read none", unread, 5),
    "random input": Attack("four change the size of the random input near its bound", random_input, 4),
    "each head": Attack("two switch off each head alone, 511 tokens", wire(511, "compare", "each"), 2),
    "long sentences": Attack("four type 511 tokens into Positions without a pause", long_sentences, 4),
    "20 × 1,000": Attack("twenty clients send 1,000 rerun messages each", burst(1_000), 20),
    "40 deaf": Attack("forty ask the wire for 511 new tokens and read nothing", deaf, 40),
    "verdicts": Attack(
        "two ask for the verdict on every head of 57 new words, in a loop", ask("lesson?learn=explanation.1", 57), 2
    ),
    "standalone file": Attack(
        "two ask for the HTML file of 215 new words of SmolLM2, in a loop", ask("explore.html?model=smollm2", 215), 2
    ),
    "wire, short": Attack("eight ask the wire for 16 new tokens as fast as it answers", wire(TOKENS), 8),
    "wire, long": Attack("four ask the wire for 511 new tokens", wire(511), 4),
    "wire, nameless": Attack("forty ask it for 16 new tokens, none with a page open", wire(TOKENS, nameless=True), 40),
}


def attack(name: str, url: str, seconds: float, begun: EventOfProcesses) -> None:
    """The attackers' side, a process of its own: each visitor in a thread. `begun` is set when all are prepared."""
    own = ATTACKS[name]
    prepared = threading.Barrier(own.visitors, begun.set)

    def run(number: int) -> None:
        own.run(url, seconds, number, prepared.wait)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(own.visitors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)


@dataclass(frozen=True)
class Watched:
    """What a visitor waited for, in ms: `LONGEST` of an answer that has not come by then.

    Attributes:
        keys: from each key to its picture, over the wire.
        runs: of another one's sentence on Positions, to the end of the script's run.
    """

    keys: list[float]
    runs: list[float]


def watch(typist: Typist, other: Visitor, seconds: float, seed: str) -> Watched:
    """Two type for so long, the one on Explore, the other on Positions, with a pause after every key."""
    end, seen = time.monotonic() + seconds, Watched([], [])
    while time.monotonic() < end:
        begun = time.monotonic()
        text = sentence(TOKENS, f"{seed} {len(seen.keys)}")
        seen.keys.append(key(typist, text))
        try:
            seen.runs.append(other.type(text))
        except TimeoutError:
            seen.runs.append(1000 * LONGEST)
            return seen
        time.sleep(max(0.0, PAUSE - (time.monotonic() - begun)))
    return seen


def key(typist: Typist, text: str) -> float:
    """Milliseconds until the picture of a sentence is there; one who is sent away comes again, as the browser does."""
    begun = time.perf_counter()
    while time.perf_counter() - begun < LONGEST:
        if typist.ask(text).status == 200:
            break
        time.sleep(0.2)
    return 1000 * (time.perf_counter() - begun)


def measure(name: str, server: Server, seconds: float) -> str:
    """One row: the visitor's times before and during the attack, and the server's memory at its highest."""
    typist, other = Typist(server.url), Visitor(server.url, "positions")
    watch(typist, other, 2, f"{name} warm")
    before = watch(typist, other, seconds, f"{name} before")
    processes = get_context("spawn")
    begun = processes.Event()
    client = processes.Process(target=attack, args=(name, server.url, seconds, begun))
    client.start()
    try:
        begun.wait()
        during = watch(typist, other, seconds, f"{name} during")
    finally:
        client.kill()
        client.join()
    for one in (typist, other):
        one.close()
    times = "  ".join(map(quantiles, (before.keys, during.keys, before.runs, during.runs)))
    return f"{name:<18} {times} {server.peak():8.0f}  {ATTACKS[name].told}"


def foreign_host(server: Server) -> str:
    """Tells whether a page of another name, whose name leads to this machine, may open a connection."""
    try:
        own = f"http://evil.example:{server.port}"
        with open_socket(own, own, sock=socket.create_connection(("127.0.0.1", server.port))):
            return "ACCEPTED"
    except InvalidStatus as refused:
        return f"refused ({refused.response.status_code})"


def lesson_file() -> str:
    """How long the server takes to start, without and with a lesson's file of one key of 60,000 names."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "90-names.toml").write_text(".".join(["a"] * 60_000) + "=1", encoding="utf-8")
        for lessons in ("", folder):
            begun = time.monotonic()
            with serve(HEADLIGHT_LESSONS=lessons):
                took.append(time.monotonic() - begun)
    return f"a lesson of 120 kB in one key: the server starts in {took[0]:.1f} s without it, in {took[1]:.1f} s with it"


def main() -> None:
    asked = options(__doc__, only=list(ATTACKS), seconds=12.0)
    print(f"a visitor types {TOKENS} tokens every {PAUSE:g} s; ms from a key on Explore to its picture, and of a run")
    print("of Positions: undisturbed and under attack")
    heads = ("key", "key, attacked", "run", "run, attacked")
    print(f"{'attack':<18} {'  '.join(f'{head:>15}' for head in heads)} {'peak MiB':>8}")
    for name in asked.only:
        with serve() as server:
            print(measure(name, server, asked.seconds), flush=True)
    with serve() as server:
        print(f"websocket of another Host with its own Origin: {foreign_host(server)}", flush=True)
    print(lesson_file())


if __name__ == "__main__":
    main()
