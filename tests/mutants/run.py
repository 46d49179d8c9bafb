"""Try the mutants of mutants.json against a suite: ``python -m tests.mutants.run COVERAGE RESULT --tree TREE``.

For each mutant the tests that reach its line run, the quickest first, until one is red; a mutant of the browser's files
is tried by Node's tests first, then by the browser tests. COVERAGE is what ``pytest --cov --cov-context=test`` of that
suite recorded, RESULT gets a row for each mutant. ``-m "not thorough"`` is the suite of ``make test``. TREE is changed
while it runs: give it a clone of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

from .catalog import CATALOG, Mutant
from .reach import Reach

MAX_SECONDS = 3600  # for one mutant: a suite that hangs has seen it


def durations(report: Path | None) -> dict[str, float]:
    """Read how long each test took from a JUnit report: id -> seconds."""
    cases = xml.parse(report).iter("testcase") if report else []
    return {
        f"{'/'.join((case.get('classname') or '').split('.')[:3])}.py::{case.get('name')}": float(case.get("time") or 0)
        for case in cases
    }


def first_red(tree: Path, tests: list[str], selection: str) -> str | None:
    """Run tests of a tree one after another; return the first that fails, or None."""
    names = tree / ".mutant-tests"
    names.write_text("\n".join(tests), "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--timeout=60", "-p", "no:cacheprovider", "--no-header"]
    command += ["-m", selection] if selection else []
    command.append(f"@{names.name}")
    try:
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=MAX_SECONDS)
    except subprocess.TimeoutExpired:
        return "a test that never ends"
    finally:
        names.unlink()
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode in (0, 5):  # 5: the selection has no test among these
        return None
    return found[1] if found else f"the run ended with {done.returncode}: {done.stdout[-300:]}"


def known_tests(tree: Path) -> set[str]:
    """Collect the ids of a tree's tests: some with strange characters were recorded under another name."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    return set(subprocess.run(command, cwd=tree, capture_output=True, text=True).stdout.splitlines())


def red_in_node(tree: Path) -> str | None:
    """Build the scripts that the browser reads and run Node's tests of their modules; return what fails."""
    if subprocess.run(["node", "bundle.js"], cwd=tree / "tests/web", capture_output=True).returncode:
        return "make scripts"
    files = map(str, sorted((tree / "tests/web/unit").glob("*.test.js")))
    done = subprocess.run(["node", "--test", *files], cwd=tree / "tests/web", capture_output=True)
    return "test-web" if done.returncode else None


def candidates(tree: Path, mutant: Mutant, reach: Reach) -> list[str]:
    """The tests of a tree that may see a mutant: those that reach its line.

    Of a browser module all browser tests, those first that speak most of its folder.
    """
    if mutant.file.endswith(".js"):
        word, files = Path(mutant.file).parent.name.rstrip("s"), sorted((tree / "tests/browser").glob("test_*.py"))
        files.sort(key=lambda file: -file.read_text("utf-8").lower().count(word))
        return [str(file.relative_to(tree)) for file in files]
    lines = (tree / mutant.file).read_text("utf-8").split("\n")
    (line, *_) = [at for at, text in enumerate(lines, 1) if text == mutant.text][mutant.nth :]
    return reach.tests(mutant.file, line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("coverage", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--junit", type=Path, help="how long the tests take, from an earlier run")
    parser.add_argument("-m", dest="selection", default="")
    parser.add_argument("--only", type=int, nargs="*", help="the numbers of some mutants")
    given = parser.parse_args()
    mutants = [Mutant(**row) for row in json.loads(CATALOG.read_text("utf-8"))]
    reach, took = Reach(given.coverage), durations(given.junit)
    rows = json.loads(given.result.read_text("utf-8")) if given.result.exists() else {}
    known = known_tests(given.tree)
    for number, mutant in enumerate(mutants):
        if str(number) in rows or (given.only and number not in given.only):
            continue
        path, start = given.tree / mutant.file, time.monotonic()
        before = path.read_text("utf-8")
        if mutant.text not in before.split("\n"):
            rows[str(number)] = {"killed by": "its line is gone", "tests": 0, "seconds": 0}
            continue
        tests = candidates(given.tree, mutant, reach)
        if not mutant.file.endswith(".js"):
            tests = sorted(known.intersection(tests), key=lambda test: (took.get(test, 1.0), test))
        try:
            mutant.apply(given.tree)
            script = mutant.file.endswith(".js")
            killer = (red_in_node(given.tree) if script else None) or first_red(given.tree, tests, given.selection)
        finally:
            path.write_text(before, "utf-8")
        rows[str(number)] = {"killed by": killer, "tests": len(tests), "seconds": round(time.monotonic() - start)}
        given.result.write_text(json.dumps(rows, indent=1), "utf-8")
        print(number, mutant.file, mutant.line, mutant.operator, rows[str(number)], flush=True)


if __name__ == "__main__":
    main()
