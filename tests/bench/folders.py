"""Report on the folders of tests/folders: built tiny and random, opened, compared with transformers.

``python -m tests.bench.folders [--cases bert_auto_map_null,byt5] [--workers 2] [--out docs/folders.md]``; exit status 1
if a case is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import torch

from mha_core.pretrained import offline
from tests.folders import corpus
from tests.folders.comparison import ROUNDING, Outcome, judge


def outcome(name: str) -> Outcome:
    """Judge a case in a temporary folder."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    offline.transformers()
    return judge(name, Path(tempfile.mkdtemp()))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", default="")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    start, outcomes = time.monotonic(), list[Outcome]()
    with get_context("spawn").Pool(options.workers) as pool:
        for result in pool.imap(outcome, options.cases.split(",") if options.cases else corpus.names()):
            outcomes.append(result)
            if not result.is_right:
                print(f"{result.name}: {said(result)}", flush=True)
    wrong = sum(not result.is_right for result in outcomes)
    print(f"{len(outcomes) - wrong} of {len(outcomes)} right, {time.monotonic() - start:.0f} s", file=sys.stderr)
    if options.out:
        options.out.write_text(report(outcomes, time.monotonic() - start), encoding="utf-8")
    return min(wrong, 1)


def said(result: Outcome) -> str:
    """The outcome of a case in words."""
    if not result.is_right:
        return f"**wrong**: {result.sentence or result.seen}"
    if result.seen == "refused":
        return f"refused: {result.sentence}"
    far = {part: size for part, size in result.differences.items() if size}
    parts = ", ".join(f"{part} to {size:.1g}" for part, size in far.items())
    return "opens, equal" + (f" but for rounding ({parts})" if far else "") + ("" if result.library else " *")


def report(outcomes: Sequence[Outcome], seconds: float) -> str:
    """Write docs/folders.md."""
    right = [result for result in outcomes if result.is_right]
    opened = [result for result in right if result.seen == "opens"]
    exact = sum(not any(result.differences.values()) for result in opened)
    parts = ("ids", "maps", "states", "logits", "heads off: maps", "masks: maps")
    counts = [f"{part.partition(':')[0]} {sum(part in x.differences for x in opened)}" for part in parts]
    expected = sum(result.case["expected"] == "opens" for result in outcomes)
    cells = [(x.name, x.case["description"], x.case["author"], said(x)) for x in outcomes]
    rows = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in cells]
    return f"""# Model folders as the world writes them

What Headlight makes of {len(outcomes)} model folders as libraries, hubs and people write them: descriptions in \
`tests/folders`, sizes made small, random weights, nothing else edited. Written by `make folders` in \
{seconds:.0f} s: transformers {offline.transformers().__version__}, torch \
{torch.__version__.split("+")[0]}, {datetime.now(UTC):%Y-%m-%d}.

| outcome | folders |
|---|---|
| open, every number that is compared with transformers' own eager pass equal to {ROUNDING:g} | {len(opened)} |
| of these bit-equal in float32 | {exact} |
| refused rightly, by a sentence that says what to do | {len(right) - len(opened)} |
| wrong | {len(outcomes) - len(right)} |

Of the {expected} that transformers opens, \
{sum(result.seen == "opens" and result.case["expected"] == "opens" for result in right)} open here.

Compared were, in so many of the {len(opened)}: {", ".join(counts)}. Each has maps; not compared are ids that \
AutoTokenizer does not give, logits that one of both does not, heads whose projection was not found, and masks of a \
family that takes none of four dimensions. Pictures and sounds are given to both as Headlight prepares them.

- *Heads off*: transformers' pass with that head's part set to 0 before the output projection.
- *Masks*: transformers' pass with the same four-dimensional mask, where the family takes one; else only that \
forbidden weights are 0.
- \\* transformers itself does not read these files; compared with the same model as it saves it.

| folder | what it is | written by | outcome |
|---|---|---|---|
{chr(10).join(rows)}
"""


if __name__ == "__main__":
    sys.exit(main())
