"""Server time of a rerun, with and without the start-up freeze, and for ten visitors: `python -m tests.bench.server`.

A visitor here speaks Streamlit's own protocol over a websocket: it types a sentence and waits until the script has run.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import threading
import time
from contextlib import ExitStack

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tests.bench.screen import quantiles, sentence
from tests.bench.serving import Server, serve


class Visitor:
    """One session on the server, without a browser."""

    def __init__(self, server: Server) -> None:
        address = server.url.replace("http", "ws", 1) + "/_stcore/stream"
        self._open = ExitStack()
        protocol = Subprotocol("streamlit")
        self.socket = self._open.enter_context(connect(address, subprotocols=[protocol], max_size=None))
        self.box = ""
        self._run(BackMsg())

    def type(self, text: str) -> float:
        """Puts a sentence into the box; milliseconds until the script has finished and every message is here."""
        message = BackMsg()
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.string_value = self.box, text
        return self._run(message)

    def close(self) -> None:
        self._open.close()

    def _run(self, message: BackMsg) -> float:
        message.rerun_script.query_string = ""
        start = time.perf_counter()
        self.socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(self.socket.recv(decode=False))
            if answer.delta.new_element.text_input.label == "Sentence":
                self.box = answer.delta.new_element.text_input.id
            if answer.WhichOneof("type") == "script_finished":
                return (time.perf_counter() - start) * 1000


def measure_freeze(rounds: int) -> None:
    """Both servers alive, one rerun each in turn."""
    with serve() as frozen, serve(freeze=False) as plain:
        visitors = [Visitor(frozen), Visitor(plain)]
        times: list[list[float]] = [[], []]
        for seed in range(rounds + 3):
            for visitor, own in zip(visitors, times, strict=True):
                own.append(visitor.type(sentence(16, seed)))
        for visitor in visitors:
            visitor.close()
    with_freeze, without = (statistics.median(own[3:]) for own in times)
    print(f"rerun at 16 tokens, server side: {with_freeze:.0f} ms with the start-up freeze, {without:.0f} ms without")


def measure_visitors(tokens: int, visitors: int, seconds: float, pause: float) -> None:
    """Visitors that type a new sentence every `pause` seconds, each at its own moment."""
    times: list[float] = []
    with serve() as server:

        def visit(number: int) -> None:
            visitor = Visitor(server)
            time.sleep(pause * number / visitors)
            for act in range(int(seconds / pause)):
                begun = time.perf_counter()
                took = visitor.type(sentence(tokens, 100 * number + act))
                if act:  # the first one meets the others still connecting
                    times.append(took)
                time.sleep(max(0.0, pause - (time.perf_counter() - begun)))
            visitor.close()

        threads = [threading.Thread(target=visit, args=(number,)) for number in range(visitors)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        memory = server.memory()
    print(
        f"{visitors} visitors, {tokens} tokens, an act every {pause:g} s, server side: {quantiles(times)} ms;"
        f" server memory then {memory:.0f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--visitors", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores; medians, for visitors also the 95th percentile")
    measure_freeze(options.rounds)
    for tokens in (16, 64, 128):
        measure_visitors(tokens, options.visitors, options.seconds, pause=2.0)


if __name__ == "__main__":
    main()
