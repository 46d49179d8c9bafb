"""A run in a notebook: the frame that `run.show()` gives, and the state that the widget shares."""

from __future__ import annotations

import html
import re
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.formatters import HTMLFormatter

from mha_core import Model, Run
from mha_core.errors import HeadlightError, SizeError
from mha_core.show import standalone, widget, widget_class


@pytest.fixture(scope="module")
def run(minilm: Model) -> Run:
    return minilm.run("how are you")


def test_a_cell_shows_the_whole_file_in_a_frame(run: Run, tmp_path: Path) -> None:
    page = standalone(run, layer=3, head=1, row=2, title='a "title" <b>')
    shown = run.show(layer=3, head=1, row=2, title='a "title" <b>', height=500)
    frame = re.fullmatch(r'<iframe srcdoc="([^"]*)" title="([^"]*)" sandbox="([^"]*)" style="([^"]*)"></iframe>',
                         HTMLFormatter()(shown))  # fmt: skip
    assert frame
    assert html.unescape(frame[1]) == page
    assert html.unescape(frame[2]) == 'a "title" <b>'
    assert "allow-same-origin" not in frame[3]
    assert "height: 500px" in frame[4]
    assert shown.save(tmp_path / "heads.html").read_text("utf-8") == page
    assert len(repr(shown)) < 200


def test_what_is_not_there_cannot_be_shown(run: Run) -> None:
    places: tuple[dict[str, Any], ...] = ({"layer": 6}, {"head": -1}, {"row": 5})
    for place in places:
        with pytest.raises(SizeError, match="is not there"):
            run.show(**place)
        with pytest.raises(SizeError, match="is not there"):
            widget(run, **place)


def test_what_the_browser_chooses_is_state_in_python(run: Run) -> None:
    made = widget(run, layer=2, head=5, row=1)
    heard: list[tuple[str, Any]] = []
    made.observe(lambda change: heard.append((change["name"], change["new"])), names=["layer", "head", "row", "key"])
    assert torch.equal(made.chosen, run.weights[2, 5, 1])
    made.set_state({"layer": 3, "head": 1, "row": 4, "key": 2})  # as it comes from the browser
    assert dict(heard) == {"layer": 3, "head": 1, "row": 4, "key": 2}
    assert torch.equal(made.chosen, run.weights[3, 1, 4])
    for name, wrong in (("layer", 6), ("head", 12), ("row", 5), ("key", -1)):
        with pytest.raises(SizeError, match=f"{name}={wrong} is not there; this run has {name}s 0 to"):
            setattr(made, name, wrong)
    assert torch.equal(made.chosen, run.weights[3, 1, 4])
    made.key = None


def test_the_widget_sends_every_number(run: Run) -> None:
    state = widget(run).get_state()
    floats = run.weights.numel() * 4
    (length,) = struct.unpack_from("<I", state["message"])
    assert len(state["message"]) >= 4 + length + floats + run.weights.numel()
    assert run.weights.numpy().tobytes() in state["message"]
    assert "export default { render" in state["_esm"]


def test_without_anywidget_a_sentence_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    widget_class.cache_clear()
    with pytest.raises(HeadlightError, match="pip install anywidget"):
        widget(run)
    assert HTMLFormatter()(run.show())
