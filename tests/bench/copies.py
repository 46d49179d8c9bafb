"""Copies behind nginx, one of them killed again and again while people type: `python -m tests.bench.copies`.

Needs nginx. Nothing is asserted; a short form of the same is a test. Every visitor is a connection, which he opens anew
when it is lost, and questions, which are asked anew as the browser does.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from websockets.exceptions import WebSocketException

from tests.bench.serving import options, quantiles
from tests.bench.visitors import Typist, sentence, shown_in
from tests.browser.copies import NGINX, behind_nginx
from tests.browser.server import OwnServer

PAUSE = 0.5  # seconds between two keys
TOKENS = 16
AGAIN = 0.3  # seconds until a question without an answer is asked again, as wire.js does


class Victim:
    """Types until `over`, and goes on where he was when his copy dies.

    Attributes:
        keys: milliseconds from each key to its picture.
        again: how often a question was asked again, and by which status.
        wrong: pictures of another sentence.
        back: seconds from each loss of his connection until his page has run again elsewhere.
    """

    def __init__(self, url: str, number: int) -> None:
        self.url, self.number, self.cookie = url, number, f"headlight_copy={uuid4().hex}"
        self.keys: list[float] = []
        self.again: list[int] = []
        self.wrong = 0
        self.back: list[float] = []

    def type(self, over: threading.Event) -> None:
        typist = Typist(self.url, cookie=self.cookie)
        listens = self._listen(typist, over)
        turn = 0
        while not over.is_set():
            turn, begun = turn + 1, time.perf_counter()
            text = sentence(TOKENS, f"{self.number} {turn}")
            while (answer := typist.ask(text)).status != 200:
                self.again.append(answer.status)
                time.sleep(AGAIN)
            self.keys.append(1000 * (time.perf_counter() - begun))
            self.wrong += shown_in(answer.body)[0]["typed"] != text
            over.wait(max(0.0, PAUSE - (time.perf_counter() - begun)))
        listens.join()
        typist.close()

    def _listen(self, typist: Typist, over: threading.Event) -> threading.Thread:
        def listen() -> None:
            while not over.is_set():
                try:
                    with suppress(TimeoutError):
                        typist.visitor.take(0.5)
                except WebSocketException:
                    self._come_back(typist)

        thread = threading.Thread(target=listen)
        thread.start()
        return thread

    def _come_back(self, typist: Typist) -> None:
        lost = time.perf_counter()
        while True:
            try:
                fresh = Typist(self.url, cookie=self.cookie)
                break
            except (OSError, WebSocketException):
                time.sleep(AGAIN)
        self.back.append(time.perf_counter() - lost)
        typist.visitor, typist.headers = fresh.visitor, fresh.headers


@contextmanager
def behind_one_address(count: int, *arguments: str) -> Iterator[tuple[str, list[OwnServer]]]:
    """Copies behind nginx: its address, and they. Where there is no nginx, the program ends."""
    if NGINX is None:
        sys.exit("there is no nginx on this machine; on Debian its package is nginx-light")
    command = [sys.executable, "-m", "headlight", "--no-open", *arguments]
    with tempfile.TemporaryDirectory() as name, ExitStack() as open_:
        folder = Path(name)
        copies = [OwnServer(folder / f"copy{number}", command=command) for number in range(count)]
        for copy in copies:
            open_.callback(copy.stop)
        yield open_.enter_context(behind_nginx(folder, [copy.port for copy in copies])), copies


def main() -> None:
    asked = options(__doc__, copies=2, visitors=10, kills=20)
    with behind_one_address(asked.copies) as (url, copies), ThreadPoolExecutor(asked.visitors) as pool:
        victims, over = [Victim(url, number) for number in range(asked.visitors)], threading.Event()
        typing = pool.map(lambda victim: victim.type(over), victims)
        for turn in range(asked.kills):
            time.sleep(2)
            copies[turn % len(copies)].process.kill()
            time.sleep(1)
            copies[turn % len(copies)].start()
        time.sleep(2)
        over.set()
        list(typing)
    keys, back = [took for one in victims for took in one.keys], [1000 * took for one in victims for took in one.back]
    again, wrong = [status for one in victims for status in one.again], sum(one.wrong for one in victims)
    typed = f"{asked.visitors} visitors, {len(keys)} keys, {quantiles(keys)} ms, longest {max(keys):.0f}"
    print(f"{asked.kills} kills: {typed}")
    print(f"pictures of another sentence: {wrong}; questions asked again: {len(again)} {sorted(set(again))}")
    print(f"{len(back)} connections lost; back after {quantiles(back)} ms, longest {max(back, default=0.0):.0f}")


if __name__ == "__main__":
    main()
