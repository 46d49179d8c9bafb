"""The Implementations page without a browser: links, every control at its ends, short sources, a race."""

from __future__ import annotations

import inspect
from itertools import count
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headlight.link.presets import PRESETS
from headlight.picture.settings import Settings
from headlight.queue.policy import QueueFull
from headlight.ui.numbers import scientific
from mha_core import IMPLEMENTATIONS
from pages.implementations import cases, parity, timing
from pages.implementations.parity import InputSizes
from pages.implementations.short_sources import short_source

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


def differences(app: AppTest) -> list[dict[str, Any]]:
    """float32 and float64 on the sentence, then, where it could be computed, on random input."""
    return [block for block in blocks(app) if block["kind"] == "table" and block["head"][0] in parity.DTYPES]


def sources(app: AppTest) -> list[str]:
    """Of the classes side by side."""
    return [str(code.value) for code in app.code if code.language == "python" and str(code.value).startswith("class ")]


def expected(settings: Settings, layer: int, sizes: InputSizes) -> list[dict[str, Any]]:
    both = parity.compare_sentence(settings, layer), parity.compare_random(sizes, settings.mask, settings.device)
    return [parity.differences(each, dtype) for each in both for dtype in parity.DTYPES]


def test_it_opens_with_one_sentence_a_picture_of_the_differences_and_two_sources() -> None:
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
    assert differences(app) == expected(Settings(PRESETS[0]), 3, InputSizes(1, 128, 384, 12))
    assert ({row[-1] for table in differences(app) for row in table["rows"]}, notices(app)) == ({"OK"}, [])
    assert sources(app) == [inspect.getsource(IMPLEMENTATIONS[name]).rstrip() for name in ("efficient", "einsum")]


def test_a_link_gives_the_page() -> None:
    values: dict[str, str | list[str]] = {
        "s": "it is <b>mine</b>", "at": "5.0", "mask": "window", "w": "2", "b": "2", "n": "9",
        "d": "24", "h": "3", "impl": "naive", "beside": "torch", "what": "training step without maps",
        "race": ["sdpa", "naive"], "secs": "1", "dev": "cpu",
    }  # fmt: skip
    app = opened(**values)
    settings = Settings("it is <b>mine</b>", "window:2", device="auto")
    assert (differences(app), notices(app)) == (expected(settings, 5, InputSizes(2, 9, 24, 3)), [])
    assert [source.split("(")[0] for source in sources(app)] == ["class NaiveAttention", "class TorchAttention"]
    app.button(key="start").click().run()
    plan = timing.TimingPlan("training step without maps", ("naive", "sdpa"), InputSizes(2, 9, 24, 3), 1, "auto")
    assert (app.session_state["timing"].plan, notices(app)) == (plan, [])
    (table,) = [block for block in blocks(app, "race_result") if block["kind"] == "table"]
    assert [row[0] for row in table["rows"]] == ["naive", "sdpa", timing.YARDSTICK]


def test_a_link_with_garbage_says_so() -> None:
    garbage = {
        "at": "6.0", "b": "0", "n": "1025", "d": "1e9", "h": "-1", "impl": "flash", "beside": "",
        "what": "sleep", "race": "everything", "secs": "999",
    }  # fmt: skip
    app = opened(**garbage)
    warnings = notices(app)
    assert sorted(one.split("=")[0] for one in warnings) == sorted(f"The link says {key}" for key in garbage)
    assert len(differences(app)) == 4


def press(app: AppTest, sheet: str, event: dict[str, str]) -> None:
    """Sends what a button of a sheet says."""
    act(app, sheet, wish(next(TURNS), event))
    assert not app.exception


def test_a_case_sets_every_control_and_its_report_stands_beside() -> None:
    app = opened()
    press(app, "cases", {"case": cases.NOTEBOOK})
    sizes = InputSizes(8, 80, 12, 2, "none")
    equality = parity.compare_random(sizes, "none", "auto")
    assert differences(app)[2:] == [parity.differences(equality, dtype) for dtype in parity.DTYPES]
    (report,) = [block["text"] for block in blocks(app, "reported")]
    found = equality.agreements["float32"]["einsum"].torch_out
    assert 0 < found.relative <= found.bound
    assert f"einsum’s output differs by {scientific(found.relative)} from nn.MultiheadAttention’s" in report
    assert "The notebook reports 1.98e−7" in report
    before = app.session_state["n"]
    press(app, "cases", {"case": "<b>"})
    assert app.session_state["n"] == before


def test_the_dictionary_is_searched_and_a_full_queue_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_every_line_of_a_short_source_is_one_of_the_class() -> None:
    for name, implementation in IMPLEMENTATIONS.items():
        source = {line.strip() for line in inspect.getsource(implementation).split("\n")}
        short = short_source(name)
        for line in filter(None, short.split("\n")):
            assert line.startswith("def ") or line.partition("  # ")[0].strip() in source, name
        assert len(short.split("\n")) <= 30
        assert "trace(" not in short
