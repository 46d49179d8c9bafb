"""The Implementations page without a browser: links, every control at its ends, plain forms, a race."""

from __future__ import annotations

import inspect
import re
from itertools import count
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.link.presets import PRESETS
from headlight.picture.settings import Settings
from headlight.queue.policy import QueueFull
from headlight.ui.numbers import scientific
from mha_core import IMPLEMENTATIONS, attention
from pages.implementations import cases, parity, timing
from pages.implementations.parity import InputSizes
from pages.implementations.sources import FORMS, differences
from tests import plain_forms
from tests.closeness import same_function

from .conftest import app_at, blocks
from .numbers_shown import assert_shows
from .test_events import act, wish

ALL = list(IMPLEMENTATIONS)
TURNS = count(1)


def opened(**values: str | list[str]) -> AppTest:
    """The page with the values of a link, and the classes unfolded."""
    app = app_at("implementations", **values)
    app.session_state["folded_classes"] = True
    return app.run()


def notices(app: AppTest) -> list[str]:
    return [sentence for block in blocks(app) if block["kind"] == "notices" for sentence in block["sentences"]]


def difference_tables(app: AppTest) -> list[dict[str, Any]]:
    """float32 and float64 on the sentence, then, where it could be computed, on random input."""
    return [block for block in blocks(app) if block["kind"] == "table" and block["head"][0] in parity.DTYPES]


def sources(app: AppTest) -> list[str]:
    """Of the classes side by side."""
    return [str(code.value) for code in app.code if code.language == "python" and str(code.value).startswith("class ")]


def expected(settings: Settings, layer: int, sizes: InputSizes) -> list[dict[str, Any]]:
    both = parity.compare_sentence(settings, layer), parity.compare_random(sizes, settings.mask, settings.device)
    return [parity.differences(each, dtype) for each in both for dtype in parity.DTYPES]


def test_page_opens_with_result_differences_and_two_sources() -> None:
    app = app_at("implementations").run()
    both = (
        parity.compare_sentence(Settings(PRESETS[0]), 3),
        parity.compare_random(InputSizes(1, 128, 384, 12), "none", "auto"),
    )
    (opening,) = [block["text"] for block in blocks(app, "opening")]
    largest = max(one.worst for equality in both for one in equality.agreements["float32"].values())
    assert opening == (
        f"All seven give the same numbers: the largest relative difference is {scientific(largest)}, "
        "which is rounding in float32."
    )
    (bars,) = [block for block in blocks(app, "opening_picture") if block["kind"] == "bars"]
    assert bars["labels"] == ALL
    for size, name in zip(bars["sizes"], ALL, strict=True):
        every = [each for one in both for each in one.agreements["float32"][name].differences]
        assert_shows(f"{size:.3f}", max(each.relative / each.bound for each in every))
        assert size <= 1, "no bar is longer than its bound while the sentence says rounding"
    assert sources(app) == []
    app = opened()
    assert difference_tables(app) == expected(Settings(PRESETS[0]), 3, InputSizes(1, 128, 384, 12))
    assert ({row[-1] for table in difference_tables(app) for row in table["rows"]}, notices(app)) == ({"OK"}, [])
    assert sources(app) == [inspect.getsource(IMPLEMENTATIONS[name]).rstrip() for name in ("efficient", "einsum")]


def test_a_link_gives_the_page() -> None:
    values: dict[str, str | list[str]] = {
        "s": "it is <b>mine</b>", "at": "5.0", "mask": "window", "w": "2", "b": "2", "n": "9",
        "d": "24", "h": "3", "impl": "naive", "beside": "torch", "what": "training step without maps",
        "race": ["sdpa", "naive"], "secs": "1", "dev": "cpu",
    }  # fmt: skip
    app = opened(**values)
    settings = Settings("it is <b>mine</b>", "window:2", device="auto")
    assert (difference_tables(app), notices(app)) == (expected(settings, 5, InputSizes(2, 9, 24, 3)), [])
    assert [source.split("(")[0] for source in sources(app)] == ["class NaiveAttention", "class TorchAttention"]
    app.button(key="start").click().run()
    plan = timing.TimingPlan("training step without maps", ("naive", "sdpa"), InputSizes(2, 9, 24, 3), 1, "auto")
    assert (app.session_state["timing"].plan, notices(app)) == (plan, [])
    (table,) = [block for block in blocks(app, "race_result") if block["kind"] == "table"]
    assert [row[0] for row in table["rows"]] == ["naive", "sdpa", timing.YARDSTICK]


def test_link_with_garbage_says_so() -> None:
    garbage = {
        "at": "6.0", "b": "0", "n": "1025", "d": "1e9", "h": "-1", "impl": "flash", "beside": "",
        "what": "sleep", "race": "everything", "secs": "999",
    }  # fmt: skip
    app = opened(**garbage)
    warnings = notices(app)
    assert sorted(one.split("=")[0] for one in warnings) == sorted(f"The link says {key}" for key in garbage)
    assert len(difference_tables(app)) == 4


def press(app: AppTest, sheet: str, event: dict[str, str]) -> None:
    """Sends what a button of a sheet says."""
    act(app, sheet, wish(next(TURNS), event))
    assert not app.exception


def test_case_sets_every_control_and_its_report_stands_beside() -> None:
    app = opened()
    press(app, "cases", {"case": cases.NOTEBOOK})
    sizes = InputSizes(8, 80, 12, 2, "none")
    equality = parity.compare_random(sizes, "none", "auto")
    assert difference_tables(app)[2:] == [parity.differences(equality, dtype) for dtype in parity.DTYPES]
    (report,) = [block["text"] for block in blocks(app, "reported")]
    found = equality.agreements["float32"]["einsum"].torch_out
    assert 0 < found.relative <= found.bound
    assert f"einsum’s output differs by {scientific(found.relative)} from nn.MultiheadAttention’s" in report
    assert "The notebook reports 1.98e−7" in report
    before = app.session_state["n"]
    press(app, "cases", {"case": "<b>"})
    assert app.session_state["n"] == before


def test_dictionary_is_searched_and_a_full_queue_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    (table,) = [block for block in blocks(opened(find="barycentre"), "words") if block["kind"] == "table"]
    assert [row[0] for row in table["rows"]] == ["weights · v"]

    def full(*_: object) -> None:
        raise QueueFull("40 heavy computations are already waiting; try again in a minute")

    monkeypatch.setattr(timing, "heavy_slot", full)
    app = opened()
    app.button(key="start").click().run()
    assert [block["text"] for block in blocks(app, "race_result")] == [
        "The timing ended early: 40 heavy computations are already waiting; try again in a minute."
    ]


def test_each_plain_form_is_made_from_the_core_and_computes_the_same() -> None:
    assert plain_forms.FILE.read_text(encoding="utf-8") == plain_forms.text()
    assert list(FORMS) == [*ALL, "attention"]
    namespace: dict[str, Any] = {}
    for name, lines in FORMS.items():
        source = "\n".join(lines)
        assert len(lines) <= 30
        assert not re.search("mha_core|trace|switches|position", source), name
        exec(source, namespace)
        if name == "attention":
            continue
        layer = IMPLEMENTATIONS[name](24, 3, bias=name != "einsum").double()
        plain = namespace[type(layer).__name__](24, 3).double()
        plain.load_state_dict({key.replace(".linear", ""): value for key, value in layer.state_dict().items()})
        x = torch.randn(2, 5, 24, dtype=torch.float64, requires_grad=True)
        expected = layer(x)
        if name == "sequence_first":
            out, weights = plain(x.transpose(0, 1))
            actual = out.transpose(0, 1), weights.permute(2, 3, 0, 1)
        else:
            actual = plain(x)
        for one, other in zip(actual, expected, strict=True):
            same_function(one, other)
        both = [torch.autograd.grad(out.sum() + (weights**2).sum(), x)[0] for out, weights in (actual, expected)]
        same_function(*both)
    q, k, v = (torch.randn(2, 3, *shape, dtype=torch.float64) for shape in ((4, 6), (5, 6), (5, 7)))
    for call in ((q,), (q, k), (q, k, v)):
        for one, other in zip(namespace["attention"](*call), attention(*call), strict=True):
            same_function(one, other)


def test_lines_that_differ_only_in_names_are_not_marked() -> None:
    one, other = FORMS["efficient"], FORMS["einsum"]
    renamed = [re.sub(r"\b(scores|project|query|x|EfficientAttention)\b", r"own_\1", line) for line in one]
    assert renamed != one
    assert differences(one, renamed) == differences(renamed, one) == []
    for lines, others in ((one, other), (other, one)):
        marked = {lines[n].split("=")[0].strip() for n in differences(lines, others)}
        assert {"scores", "mixed", "joined", "out", "self.query"} <= marked
        assert not marked & {"q", "weights", "return out, weights", "self.d_head", "import math"}
