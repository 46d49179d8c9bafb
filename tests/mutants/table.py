"""Writes table.md, which suite kills which mutant: ``python -m tests.mutants.table OLD TEST ALL``, results of `run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .catalog import CATALOG

TABLE = Path(__file__).with_name("table.md")
HEAD = """# Mutants: which suite kills which

OLD is the suite of commit 8de3e921, TEST is `make test`, ALL is `make test-all`. A cell names the test that was red.
{sums}

| # | place | change | OLD | TEST | ALL |
|---|---|---|---|---|---|
"""


def cell(row: dict[str, Any] | None) -> str:
    """Say what killed a mutant: the test without its folder and parameters, "–" for a survivor."""
    if row is None:
        return "not tried"
    killer = row["killed by"]
    if killer and killer.startswith("the run ended"):
        return "the collection"
    return "–" if killer is None else f"`{str(killer).split('/')[-1].partition('[')[0].removesuffix('.py')}`"


def main(*results: str) -> None:
    suites = [json.loads(Path(result).read_text("utf-8")) for result in results]
    mutants = json.loads(CATALOG.read_text("utf-8"))
    old, test, everything = ({number for number, row in suite.items() if row["killed by"]} for suite in suites)
    tried_by_both = suites[0].keys() & suites[1].keys()
    sums = (
        f"OLD kills {len(old)} of the {len(suites[0])} that it was tried on; of these TEST kills {len(old & test)} "
        f"and ALL {len(old & everything)}. TEST kills {len((test - old) & tried_by_both)} that OLD does not."
    )
    rows = []
    for number, mutant in enumerate(mutants):
        change = f"`{mutant['text'].strip()}` → `{mutant['mutated'].strip()}`".replace("|", "\\|")
        cells = [cell(suite.get(str(number))) for suite in suites]
        rows.append(f"| {number} | {mutant['file']}:{mutant['line']} | {change} | {' | '.join(cells)} |\n")
    TABLE.write_text(HEAD.format(sums=sums) + "".join(rows), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
