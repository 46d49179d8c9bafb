"""Write what `check` finds into docs/check.md: ``python -m tests.check.table [--seeds 20]``."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mha_core import check
from mha_core.check import FAILS
from tests.check.layers import D_MODEL, MUTANTS, N_HEADS, OPTIONS, SOURCES, build
from tests.check.test_right_layers import SIZES, transformers_layers

DOCUMENT = Path(__file__).parents[2] / "docs" / "check.md"


def count_alarms(seeds: int) -> tuple[int, int]:
    """Return how many checks of right layers were made, and how many gave an alarm."""
    checks = alarms = 0
    for seed in range(seeds):
        for d_model, n_heads in SIZES:
            for dtype in (torch.float64, torch.float32):
                cases: list[tuple[nn.Module, dict[str, Any], list[int]]] = [
                    (build(style, d_model, n_heads, seed), OPTIONS[style], []) for style in SOURCES
                ]
                torch.manual_seed(seed)
                cases.append((nn.MultiheadAttention(d_model, n_heads, batch_first=True), {}, [12]))
                for layer, options, expected in cases:
                    report = check(layer, d_model, n_heads, dtype=dtype, **options)
                    checks += 1
                    alarms += [finding.number for finding in report.failures] != expected
        for layer, options in transformers_layers():
            report = check(layer, D_MODEL, N_HEADS, **options)
            checks += 1
            alarms += bool(report.failures)
    return checks, alarms


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
    checks, alarms = count_alarms(seeds)
    times = []
    for d_model, n_heads in ((64, 4), (384, 12)):
        start = time.perf_counter()
        check(build("Separate", d_model, n_heads), d_model, n_heads, **OPTIONS["Separate"])
        times.append(f"{time.perf_counter() - start:.1f} s for d_model {d_model}")
    text = (
        f"{found} of {len(MUTANTS)} broken layers fail in the property that they break, {named} of them with the cause "
        f"that was planted. {checks} checks of right layers ({seeds} seeds, three sizes, two formats, and layers "
        f"of transformers) gave {alarms} alarms; `nn.MultiheadAttention` fails 12 alone, rightly. "
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
