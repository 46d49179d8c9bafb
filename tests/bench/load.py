"""A class on one server: how long each act takes, and what memory it costs: `make load`, and for long `make soak`.

Each visitor is a connection without a browser and acts at moments of its own. Nothing here is asserted. `--seconds` of
each class; instead `--visitors`, so many who type, switch and go from page to page, or `--minutes` of mixed visits.
"""

from __future__ import annotations

import itertools
import random
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from websockets.exceptions import ConnectionClosed

from tests.bench.serving import Server, at_once, options, quantiles, serve
from tests.bench.visitors import PICTURES, SENTENCE, Typist, Visitor, sentence

EXPLORE = ("",)
PAGES = ("", "model-map", "shapes", "masks", "positions", "compare", "by-hand", "implementations")
# What is switched in turn: the keys of a link.
SWITCHES: tuple[dict[str, list[str]], ...] = ({"mask": ["causal"]}, {"pos": ["none"]}, {"t": ["2"]}, {})
BOXES = {"train": "A sentence", "by-hand": "Words of the queries"}  # what is typed into, where it is another one


@dataclass
class Class:
    """Visitors of these pages in turn, who act every `pause` seconds on sentences of so many `tokens`.

    Attributes:
        stay: the acts after which they go on to the next page; every third act then also switches something.
        times: milliseconds of every act but the first, by page; "next page" is until a page has come.
        errors: exceptions on the screen, questions without a picture and lost connections.
    """

    pages: Sequence[str]
    visitors: int
    pause: float
    tokens: tuple[int, int] = (16, 16)
    stay: int | None = None
    times: dict[str, list[float]] = field(default_factory=dict)
    errors: int = 0

    def attend(self, server: Server, seconds: float) -> None:
        """Lets all of them come, act for so long, and go."""
        at_once(self.visitors, lambda number: self._visit(server, number, seconds))

    def _visit(self, server: Server, number: int, seconds: float) -> None:
        end = time.monotonic() + seconds
        time.sleep(self.pause * number / self.visitors)
        for turn in itertools.count(number):
            begun = time.perf_counter()
            try:
                page = self.pages[turn % len(self.pages)]
                visitor = Typist(server.url, page) if page in PICTURES else Visitor(server.url, page)
                if turn > number:
                    self.times.setdefault("next page", []).append(1000 * (time.perf_counter() - begun))
                self._stay(visitor, page, f"{number} {turn}", end)
                visitor.close()
            except (ConnectionClosed, TimeoutError):
                self.errors += 1
            if time.monotonic() > end or self.stay is None:
                return

    def _stay(self, visitor: Typist | Visitor, page: str, seed: str, end: float) -> None:
        """Acts on one page until the end, or for as long as they stay."""
        draw = random.Random(seed)
        for act in itertools.count():
            begun = time.monotonic()
            if begun > end or act == self.stay:
                break
            if self.stay and isinstance(visitor, Typist):
                visitor.query = SWITCHES[act // 3 % len(SWITCHES)]
            tokens = 5 if page == "by-hand" else draw.randint(*self.tokens)
            took = self._act(visitor, page, sentence(tokens, f"{seed} {act}"))
            if act:  # the first one meets the others still coming
                self.times.setdefault(page or "explore", []).append(took)
            time.sleep(max(0.0, self.pause - (time.monotonic() - begun)))
        self.errors += visitor.errors if isinstance(visitor, Visitor) else 0

    def _act(self, visitor: Typist | Visitor, page: str, text: str) -> float:
        if isinstance(visitor, Visitor):
            return visitor.type(text, BOXES.get(page, SENTENCE))
        answer = visitor.ask(text)
        self.errors += answer.status != 200
        return answer.took

    def report(self) -> str:
        """All times together, and each page's where there are several."""
        every = [took for own in self.times.values() for took in own]
        pages = ", ".join(f"{page} {statistics.median(own):.0f}" for page, own in self.times.items())
        said = f"{quantiles(every)} ms, longest {max(every, default=0.0):.0f}, {len(every)} acts, {self.errors} errors"
        return said + (f" (medians: {pages})" if len(self.times) > 1 else "")


def lesson(name: str, visitors: Class, seconds: float, training: int = 0) -> None:
    """One class on a server of its own, with so many visitors who train and watch meanwhile."""
    with serve() as server:
        trainers = [threading.Thread(target=_train, args=(server, seconds), daemon=True) for _ in range(training)]
        for trainer in trainers:
            trainer.start()
        visitors.attend(server, seconds)
        print(f"{name}: {visitors.report()}; memory at its highest {server.peak():.0f} MiB", flush=True)


def _train(server: Server, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        visitor = Visitor(server.url, "train", task="full names")
        visitor.act({"Train": None})
        visitor.follow(min(20.0, end - time.monotonic()))
        visitor.close()


def soak(minutes: float) -> None:
    """Mixed visits that come and go, and the server's memory every half minute; the slope leaves out ten minutes."""
    own, began, seen = Class((*PAGES, "train"), 8, 4.0, (16, 128)), time.monotonic(), list[tuple[float, float]]()
    with serve() as server:
        while (now := (time.monotonic() - began) / 60) < minutes:
            own.attend(server, 28)
            seen.append((now, server.memory()))
            print(f"  {now:4.1f} min {seen[-1][1]:6.0f} MiB", flush=True)
        late = [(at, memory) for at, memory in seen if at >= min(10.0, minutes / 2)]
        slope = statistics.linear_regression(*zip(*late, strict=True)).slope if len(late) > 1 else float("nan")
        print(f"soak of {minutes:g} min: {own.report()}")
        print(f"memory {slope:+.1f} MiB a minute after the first ten, at its highest {server.peak():.0f} MiB")


def main() -> None:
    asked = options(__doc__, seconds=40.0, visitors=0, minutes=0.0)
    if asked.minutes:
        soak(asked.minutes)
        return
    if asked.visitors:
        walk = Class(PAGES, asked.visitors, 5.0, (8, 64), stay=4)
        lesson(f"{asked.visitors} type, switch and go on, every 5 s", walk, asked.seconds)
        return
    lesson("25 on Explore, every 5 s", Class(EXPLORE, 25, 5.0), asked.seconds)
    lesson("50 on Explore, every 5 s", Class(EXPLORE, 50, 5.0), asked.seconds)
    lesson("25 on seven pages, every 5 s", Class(PAGES, 25, 5.0), asked.seconds)
    lesson("10 on Explore, every 2 s, while 2 train", Class(EXPLORE, 10, 2.0), asked.seconds, training=2)


if __name__ == "__main__":
    main()
