"""The excerpt of the source: the file's own lines, and among them the ones that made the step."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path

import pytest

from headlight.picture import traces
from headlight.picture.settings import Settings
from headlight.picture.step_source import ROOT, Excerpt
from mha_core import IMPLEMENTATIONS, Step

TEXT = "how are you"


def shown_of(name: str, mask: str = "causal") -> list[tuple[Step, Excerpt]]:
    found = traces.trace_layer(Settings(TEXT, mask), 2, name)
    return [(step, found.source(step)) for step in found.steps]


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_lines_are_the_files_own_and_the_marked_ones_give_the_recorded_tensor_its_value(name: str) -> None:
    for step, shown in shown_of(name):
        file = Path(step.code.co_filename)
        own = file.read_text("utf-8").splitlines()[shown.first_line - 1 : shown.first_line - 1 + len(shown.lines)]
        assert textwrap.dedent("\n".join(own)) == "\n".join(shown.lines)
        assert shown.origin == f"{file.relative_to(ROOT).as_posix()} · {step.code.co_qualname}"
        # the last line is the function's last, the first follows its docstring
        source, start = inspect.getsourcelines(step.code)
        assert shown.first_line + len(shown.lines) == start + len("".join(source).rstrip().splitlines())
        assert '"""' not in "\n".join(shown.lines)
        assert not shown.lines[0].startswith(("def ", ")", " "))
        # what only records is named, and nothing else
        records = [shown.lines[line].strip() for line in shown.records]
        called = re.compile(
            r"(trace|switches\.trace|record_stacked|_record|head_tracer\(trace, n\)|softmax_over_keys)\(|trace = "
        )
        assert all(called.match(line) for line in records), records
        kept = [line.strip() for n, line in enumerate(shown.lines) if n not in shown.records]
        assert not [line for line in kept if re.match(r"(trace|record_stacked)\(|trace = ", line)]
        recorded_at = step.line - shown.first_line
        assert all(0 <= line <= recorded_at for line in shown.marks), "they stand above the line that records it"
    for mask, ran in (("none", "torch.softmax(scores"), ("causal", "torch.softmax(masked")):
        for step, shown in shown_of(name, mask):
            if step.name.split(".")[0] == "weights" and step.name != "weights.exp":
                (line,) = (shown.lines[number] for number in shown.marks)
                assert ran in line, "of two branches the one that ran"
