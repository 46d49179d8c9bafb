"""How near rounding comes to its bound on other kernels: `python -m tests.bench.rounding [--sentences N]`.

Each setting runs in a process of its own: the kernels of torch (ATEN_CPU_CAPABILITY), the products of MKL (MKL_CBWR)
and the threads. In each the seven implementations compute random sentences, each under every mask in turn, on every
layer of MiniLM; the line says the largest relative difference, and the largest part that one is of its own bound.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from itertools import product

ATEN, MKL, THREADS = ("default", "avx2", ""), ("COMPATIBLE", "AVX2", ""), (1, 2)  # "": as the processor has it
MASKS = ("none", "causal", "window:1", "window:3", "prefix:2", "sinks:1", "dilated:2:2", "causal & window:3 | sinks:1")
WORDS = (
    "the a cat dog animal street bank orange favorite fruit it was too tired because can you that how are sat on and "
    "river money fish bright red ! , . 12 Zürich quantum x"
)


def measure(sentences: int) -> dict[str, float]:
    """The largest difference and the largest part of a bound, in this process as it is."""
    from mha_core import load_model, masks
    from mha_core.measure.agreement import agreements

    model, chance, words = load_model("minilm", device="cpu"), random.Random(0), WORDS.split()
    worst = {"difference": 0.0, "bound": 0.0, "share": 0.0}
    for number in range(sentences):
        text, mask = " ".join(chance.choices(words, k=chance.randrange(31))), MASKS[number % len(MASKS)]
        run = model.run(text, mask=mask)
        n = len(run.ids)
        allow = None if mask == "none" else masks.allow(masks.parse(mask), n, n)
        for layer in range(len(model.encoder.layers)):
            own = model.encoder.block(layer).attention
            for agreement in agreements(own.save(), own.n_heads, run.hidden[layer].unsqueeze(0), allow=allow).values():
                for found in agreement.every:
                    if found.relative > worst["difference"]:
                        worst |= {"difference": found.relative, "bound": found.bound}
                    worst["share"] = max(worst["share"], found.share)
    return worst


def main(sentences: int) -> None:
    print("kernels of torch · products of MKL · threads: largest difference (its bound), largest part of a bound")
    for aten, mkl, threads in product(ATEN, MKL, THREADS):
        settings = {"ATEN_CPU_CAPABILITY": aten, "MKL_CBWR": mkl, "OMP_NUM_THREADS": str(threads)}
        environment = os.environ | {name: value for name, value in settings.items() if value}
        command = [sys.executable, "-m", "tests.bench.rounding", "--sentences", str(sentences), "--here"]
        found = json.loads(subprocess.check_output(command, env=environment, text=True))
        print(
            f"{aten or 'as it is'} · {mkl or 'as it is'} · {threads}: "
            f"{found['difference']:.1e} ({found['bound']:.1e}), {found['share']:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--here", action="store_true", help="this process alone, as JSON")
    asked = parser.parse_args()
    if asked.here:
        print(json.dumps(measure(asked.sentences)))
    else:
        main(asked.sentences)
