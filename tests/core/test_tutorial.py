"""The tutorial: its cells run from top to bottom, and print what stands below them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch

from mha_core.measure import rounding
from tests.closeness import SAME_FUNCTION, quoted

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


def check(printed: str, stored: str) -> None:
    """Assert the same words, and the numbers that are written; of one with an exponent, which is rounding, its size."""
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", stored)
    for own, written in zip(NUMBER.findall(printed), NUMBER.findall(stored), strict=True):
        if "e-" in written:
            assert abs(float(own)) <= rounding.sum_bound(1000), own
        else:
            digits, _, power = written.partition("e")
            quoted(float(own) / 10 ** int(power or 0), digits)


def test_every_cell_prints_what_stands_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    book = nbformat.read(TUTORIAL, as_version=4)
    nbformat.validate(book)
    names: dict[str, Any] = {}
    printed = []
    for cell in (cell for cell in book.cells if cell.cell_type == "code"):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(cell.source, cell.id, "exec"), names)
        printed.append(out.getvalue())
        check(out.getvalue(), "".join(output.text for output in cell.outputs))
    assert sum(map(bool, printed)) >= 12
    (of_all,) = [text for text in printed if text.startswith("naive")]
    seven = re.findall(r"^(\w+) +(\S+)$", of_all, re.MULTILINE)
    assert [name for name, _ in seven] == list(names["IMPLEMENTATIONS"])
    assert all(float(difference) < SAME_FUNCTION for _, difference in seven)
    assert names["distance"](names["out"], names["their_out"]) < rounding.sum_bound(1000)


RIGHT = """
def scores(q, k):
    return q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])


def combine_heads(mixed):
    return mixed.transpose(1, 2).flatten(2)
"""
WRONG = "def scores(q, k):\n    return q\n\n\ndef combine_heads(mixed):\n    return mixed.transpose(1, 2).flatten(2)\n"


@pytest.mark.parametrize(
    ("own", "said"),
    [("", ["not yet", "not yet"]), (RIGHT, ["what the layer does"] * 2), (WRONG, ["not yet", "what the layer does"])],
    ids=["as it stands", "right", "another shape"],
)
def test_the_exercise_says_whether_what_was_written_is_what_the_layer_does(own: str, said: list[str]) -> None:
    cells = {cell.id: cell.source for cell in nbformat.read(TUTORIAL, as_version=4).cells if cell.cell_type == "code"}
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for name, source in cells.items():
            exec(compile(own if own and name == "own-lines-write" else source, name, "exec"), names)
            if name == "own-lines-check":
                break
    judged = out.getvalue().splitlines()[-2:]
    assert [re.split(r" {2,}| (?=not)| (?=what)|, relative", line)[1] for line in judged] == said
    assert [line.split()[0] for line in judged] == ["scores", "combine_heads"]
