"""Write what `check` finds into docs/check.md: ``python -m tests.check.table [--seeds 20]``."""

from __future__ import annotations

import argparse
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from mha_core import check
from mha_core.check import FAILS
from tests.check.layers import ALARMS, D_MODEL, MUTANTS, N_HEADS, OPTIONS, SOURCES, build
from tests.check.test_right_layers import SIZES, transformers_layers

DOCUMENT = Path(__file__).parents[2] / "docs" / "check.md"


def count_alarms(seed: int) -> tuple[int, int]:
    """Return how many checks of right layers were made with a seed, and how many gave an alarm that is not true."""
    torch.set_num_threads(1 + seed % 2)
    cases: list[tuple[Any, int, int, dict[str, Any], list[int]]] = []
    torch.manual_seed(seed)
    for d_model, n_heads in SIZES:
        own = [(build(style, d_model, n_heads, seed), OPTIONS[style], ALARMS.get(style, [])) for style in SOURCES]
        torchs = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        for dtype in (torch.float64, torch.float32):
            for layer, options, expected in [*own, (torchs, {}, [12]), (F.scaled_dot_product_attention, {}, [])]:
                cases.append((layer, d_model, n_heads, {**options, "dtype": dtype}, expected))
    cases += [(layer, D_MODEL, N_HEADS, options, []) for layer, options in transformers_layers()]
    alarms = 0
    for layer, d_model, n_heads, options, expected in cases:
        report = check(layer, d_model, n_heads, seconds=600, **options)
        if [finding.number for finding in report.failures] != expected:
            alarms += 1
            print(f"{options}: {report}", file=sys.stderr)
    print(f"seed {seed}: {len(cases)} checks, {alarms} alarms", file=sys.stderr)
    return len(cases), alarms


def main() -> None:
    """Check every broken layer and the right ones, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    rows, found, named = [], 0, 0
    for mutant in MUTANTS:
        finding = check(mutant.build(), D_MODEL, N_HEADS, **mutant.options)[mutant.number]
        is_found = finding.verdict == FAILS
        found += is_found
        named += is_found and finding.cause == mutant.cause
        cause = finding.cause if is_found else finding.verdict
        rows.append(f"| {mutant.number} | {mutant.style} | {mutant.name} | {cause} |")
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        checks, alarms = map(sum, zip(*pool.map(count_alarms, range(seeds)), strict=True))
    times = []
    for d_model, n_heads in ((64, 4), (384, 12)):
        layer, start, processor = build("Separate", d_model, n_heads), time.perf_counter(), time.process_time()
        check(layer, d_model, n_heads, **OPTIONS["Separate"])
        seconds = time.perf_counter() - start, time.process_time() - processor
        times.append("{:.1f} s ({:.1f} s of a processor) for d_model {}".format(*seconds, d_model))
    text = (
        f"{found} of {len(MUTANTS)} broken layers fail in the property that they break, {named} of them with the cause "
        f"that was planted. {checks} checks of right layers ({seeds} seeds, three sizes, two formats, one and two "
        f"threads: the styles and texts, torch's layer and kernel, layers of transformers) gave {alarms} alarms; "
        "`nn.MultiheadAttention` and three of the texts fail 12 alone, and the notebook 14, rightly. "
        f"One check takes {' and '.join(times)}.\n\n"
        "| property | style | what is wrong | cause named |\n|---|---|---|---|\n" + "\n".join(sorted(rows, key=_number))
    )
    document = DOCUMENT.read_text("utf-8")
    mark = "<!-- python -m tests.check.table -->"
    DOCUMENT.write_text(re.sub(f"{mark}.*", lambda _: f"{mark}\n\n{text}\n", document, flags=re.DOTALL), "utf-8")


def _number(row: str) -> int:
    return int(row.split("|")[1])


if __name__ == "__main__":
    main()
