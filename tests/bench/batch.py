"""Short maps asked for at once, each a pass of its own or all one padded batch: `python -m tests.bench.batch`.

A pass of its own waits for its turn in the server's queue, as a visitor's does. Every line says when the last visitor
has his maps, and when the mean one has; no asserts but that the two ways give the same numbers.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch

from mha_core import Model, Run, load_model
from mha_core.clock import calls, machine
from pages.kit.picture.sharing import SHORT_TOKENS, THREADS, turn
from tests.bench.serving import options
from tests.bench.visitors import sentence

SAME = 1e-5
LENGTHS = ((8, SHORT_TOKENS), (SHORT_TOKENS, SHORT_TOKENS))  # tokens of the shortest and the longest


def texts_of(visitors: int, shortest: int, longest: int) -> list[str]:
    """A different sentence for each."""
    draw = random.Random(visitors)
    return [sentence(draw.randint(shortest, longest), number) for number in range(visitors)]


class Asked:
    """Visitors who ask at once, and when each had his maps, in seconds, of every round."""

    def __init__(self, model: Model, texts: Sequence[str]) -> None:
        self.model, self.texts = model, texts
        self.pool = ThreadPoolExecutor(len(texts))

    def one_by_one(self) -> tuple[list[Run], list[float]]:
        begun = time.perf_counter()

        def ask(text: str) -> tuple[Run, float]:
            with turn(len(self.model.tokenize(text)[1])):
                run = self.model.run(text)
            return run, time.perf_counter() - begun

        runs, waits = zip(*self.pool.map(ask, self.texts), strict=True)
        return list(runs), list(waits)

    def together(self) -> tuple[list[Run], list[float]]:
        begun = time.perf_counter()
        torch.set_num_threads(THREADS)
        runs = self.model.run_batch(self.texts)
        return runs, [time.perf_counter() - begun] * len(runs)


def measure(model: Model, visitors: int, shortest: int, longest: int, rounds: int) -> None:
    asked = Asked(model, texts_of(visitors, shortest, longest))
    ways: dict[str, Callable[[], tuple[list[Run], list[float]]]] = {
        "each a pass": asked.one_by_one,
        "one batch": asked.together,
    }
    pairs = zip(asked.one_by_one()[0], asked.together()[0], strict=True)
    differs = max(float((alone.weights - beside.weights).abs().max()) for alone, beside in pairs)
    assert differs <= SAME, differs
    waits: dict[str, list[list[float]]] = {name: [] for name in ways}

    def timed(name: str) -> None:
        waits[name].append(ways[name]()[1])

    for _ in calls({name: partial(timed, name) for name in ways}, rounds):
        pass
    print(f"{visitors} visitors, {shortest} to {longest} tokens; the maps differ by at most {differs:.1e}")
    for name, found in waits.items():
        last, mean = (statistics.median(map(of, found[2:])) for of in (max, statistics.fmean))
        print(
            f"  {name:12} the last has his maps after {1000 * last:6.1f} ms, the mean one after {1000 * mean:6.1f} ms"
        )


def main() -> None:
    """Measures and prints all lines."""
    asked = options(__doc__, visitors=32, rounds=30)
    print(machine())
    model = load_model("minilm", device="cpu")
    for shortest, longest in LENGTHS:
        measure(model, asked.visitors, shortest, longest, asked.rounds)


if __name__ == "__main__":
    main()
