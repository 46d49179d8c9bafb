"""SmolLM2 beside transformers' Llama, and what a visitor waits for: `python -m tests.bench.decoder`. No asserts.

With `--quick` a fifth of the rounds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch

from mha_core import Model, load_model
from mha_core.clock import describe_machine
from mha_core.models.generation import Generation
from tests.bench.core import text_of
from tests.bench.medians import median_times
from tests.bench.serving import options, quantiles, serve
from tests.bench.visitors import Typist
from tests.browser.server import ROOT
from tests.core.llama import in_transformers

LOAD = """
import time; from mha_core import load_model
begun = time.perf_counter(); load_model("smollm2", device="cpu"); print(time.perf_counter() - begun)
"""


def measure_maps(model: Model, rounds: int) -> None:
    """Text to the tensors of all 270 maps, all states and the next token's logits, in one series with transformers."""
    theirs = in_transformers(model)
    for tokens in (16, 64, 128, 256, 512):
        text = text_of(tokens + 2)

        def ours(text: str = text) -> object:
            return model.run(text)

        def transformers(text: str = text) -> object:
            ids = torch.tensor([model.tokenize(text)[1]])
            with torch.no_grad():
                out = theirs(ids, output_attentions=True, output_hidden_states=True, logits_to_keep=1)
            return torch.cat(out.attentions), torch.cat(out.hidden_states), out.logits

        times = median_times({"ours": ours, "theirs": transformers}, max(5, rounds // tokens))
        own, other = times["ours"], times["theirs"]
        print(f"{tokens:4d} tokens   {1000 * own:7.1f} ms, transformers {1000 * other:7.1f} ms: {own / other:.3f}")


def measure_loading(rounds: int) -> None:
    """In processes of their own: with an empty cache folder, and with the one that this filled."""
    first, later = list[float](), list[float]()
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            for times in (first, later, later):
                environment = {**os.environ, "HEADLIGHT_CACHE": folder}
                done = subprocess.check_output([sys.executable, "-c", LOAD], cwd=ROOT, env=environment, text=True)
                times.append(float(done))
    print(f"loading: {statistics.median(first):.2f} s the first time, {statistics.median(later):.2f} s from the cache")


def measure_generation(model: Model, tokens: int) -> None:
    """Tokens a second with a key/value cache, each with its row of every map."""
    text = Generation(model, "Once upon a time")
    begun = time.perf_counter()
    for _ in range(tokens):
        text.step(1.0)
    print(f"generation: {tokens / (time.perf_counter() - begun):.1f} tokens a second over {tokens} tokens")


def measure_page(model: Model, rounds: int) -> None:
    """A visitor of the server: a key typed, and a head switched off, until the new maps and next tokens are there.

    Each beside a bare pass over the same sentence, in turn with it.
    """
    with serve() as server:
        before = server.memory()
        typist = Typist(server.url)
        typist.query["model"] = ["smollm2"]
        text = text_of(34)
        typist.ask(text)
        loaded = server.memory()
        keys, heads, passes = list[float](), list[float](), list[float]()
        for number in range(rounds):
            typed = f"{text[:-3]}{number:03d}"
            typist.query.pop("off", None)
            keys.append(typist.ask(typed).took)
            begun = time.perf_counter()
            model.run(typed)
            passes.append(1000 * (time.perf_counter() - begun))
            typist.query["off"] = [f"L{number % 30} H{number % 9}"]
            heads.append(typist.ask(text).took)
        typist.close()
        print(f"server: {before:.0f} MiB, with SmolLM2 {loaded:.0f}, after the visit {server.memory():.0f} MiB")
    print(
        f"32 tokens: a bare pass {quantiles(passes)} ms; a typed key → picture {quantiles(keys)} ms;"
        f" a head off → next tokens {quantiles(heads)} ms"
    )


def main() -> None:
    """Measures and prints all lines."""
    few = 5 if options(__doc__, quick=False).quick else 1
    print(describe_machine())
    model = load_model("smollm2", device="cpu")
    model.run(text_of(18))
    measure_generation(model, 100 // few)
    measure_maps(model, 4000 // few)
    measure_loading(max(1, 3 // few))
    measure_page(model, max(5, 30 // few))


if __name__ == "__main__":
    main()
