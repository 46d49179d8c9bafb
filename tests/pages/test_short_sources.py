"""The short sources: lines that stand in the classes, none that only records, and the axes that are recorded."""

from __future__ import annotations

import ast
import inspect

import pytest

from mha_core import IMPLEMENTATIONS
from pages.implementations.short_sources import METHODS, label, short_source, without_records

RECORDED = """
    def attend(self, x: Tensor) -> Tensor:
        \"\"\"What it does.\"\"\"
        trace = switches.trace
        # why
        q, k = split(x)
        trace("q", q, "b i d", "split(x)")
        trace("k", k, "b j d", "split(x)")

        scores = (
            q @ k.mT
        )
        trace("scores", scores, "b i j", "q kᵀ")
        of_head(trace, 3)("scores", scores, "i j", "one head")
        together(trace, "v", [scores], "b h i j", "stacked")
        return scores
"""


def test_records_become_the_axes_behind_a_line() -> None:
    assert without_records(RECORDED.strip("\n")).split("\n") == [
        "def attend(x):",
        "    q, k = split(x)  # q: b i d, k: b j d",
        "    scores = (",
        "        q @ k.mT",
        "    )  # b i j",
        "    return scores",
    ]


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_every_line_is_one_of_the_class(name: str) -> None:
    source = {line.strip() for line in inspect.getsource(IMPLEMENTATIONS[name]).split("\n")}
    short = short_source(name)
    for line in filter(None, short.split("\n")):
        assert line.startswith("def ") or line.partition("  # ")[0].strip() in source
    assert len(short.split("\n")) <= 30
    assert "trace(" not in short
    functions = [one.name for one in ast.parse(short).body if isinstance(one, ast.FunctionDef)]
    assert functions == list(METHODS.get(name, ("attend",)))


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_a_label_is_short(name: str) -> None:
    assert label(name).startswith(f"{name}: ")
    assert len(label(name)) < 90
