"""A run as one HTML file, in a notebook and as a widget."""

from __future__ import annotations

import base64
import html
import json
import re
import struct
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from IPython.core.formatters import HTMLFormatter

from mha_core import Model, Run, masks
from mha_core.errors import HeadlightError, SizeError
from mha_core.show import standalone, widget, widget_class
from mha_core.show.cells import write_cells
from mha_core.show.html import check_size

from .conftest import TIRED

ODD = ['"', ",", "a\nb", "😀", "=cmd", "</script>", "<!--"]


def unpacked(message: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack_from("<I", message)
    return json.loads(message[4 : 4 + length]), message[4 + length :]


def contents(page: str) -> tuple[dict[str, Any], np.ndarray[Any, Any], dict[str, Any], np.ndarray[Any, Any]]:
    """What a file says and its float32 maps, then what its maps say and their bytes."""
    block = re.search(r'id="headlight-run">([^<]*)<', page)
    assert block
    parts, body = unpacked(zlib.decompress(base64.b64decode(block[1])))
    length = parts["parts"][0]
    said, floats = unpacked(body[:length])
    named, maps = unpacked(body[length:])
    return said, np.frombuffer(floats, np.float32), named, np.frombuffer(maps, np.uint8)


@pytest.fixture(scope="module")
def run(minilm: Model) -> Run:
    return minilm.run(TIRED)


def test_the_file_holds_the_runs_numbers(run: Run) -> None:
    said, floats, named, maps = contents(standalone(run, layer=3, head=1, row=10))
    n = len(run.tokens)
    assert named["tokens"] == run.tokens
    assert [3, 1] in said["exact"]
    wanted = torch.stack([run.weights[layer, head] for layer, head in said["exact"]])
    assert np.array_equal(floats.reshape(-1, n, n), wanted.numpy())
    assert np.array_equal(maps.reshape(run.weights.shape), (run.weights * 255).round().byte().numpy())


@pytest.mark.parametrize("words", [0, 13, pytest.param(510, marks=pytest.mark.thorough("A long text takes seconds."))])
def test_a_file_stays_small(minilm: Model, words: int) -> None:
    run = minilm.run(" ".join(["cat"] * words))
    assert len(standalone(run, layer=5, head=11).encode()) <= 60_000 + 1.5 * run.weights.numel()


def test_more_weights_than_a_file_holds_are_refused_before_anything_is_packed(run: Run) -> None:
    allowed = 20_000_000
    for layers, heads, n in ((30, 9, 512), (1, 1, 4473), (30, 9, 273)):
        weights = torch.zeros(1, 1, 1, 1).expand(layers, heads, n, n)
        with pytest.raises(SizeError) as refused:
            standalone(replace(run, tokens=["word"] * n, weights=weights))
        least = int((allowed / (layers * heads)) ** 0.5)
        assert str(refused.value).endswith(f"shorten the text to {least} tokens")
        check_size(layers * heads, least)
    check_size(72, 512)  # MiniLM's longest sentence


SWITCHES: list[tuple[dict[str, Any], str]] = [
    ({}, "nothing changed"),
    ({"mask": "causal"}, "mask causal"),
    ({"mask": masks.window(2)}, "a mask given as a rule"),
    ({"position": "none"}, "no positions"),
    ({"heads_off": [(5, 0), (0, 2), (5, 0)]}, "2 heads off"),
    (
        {"mask": "unseen:0", "position": "rotary", "temperature": 2, "heads_off": [(0, 0)], "values_off": (1,)},
        "mask unseen 0, rotary positions (this model was not trained for them), temperature 2, 1 head off, "
        "without the value of “the”",
    ),
]


@pytest.mark.parametrize(("switches", "sentence"), SWITCHES, ids=[sentence for _, sentence in SWITCHES])
def test_a_file_says_what_the_run_changed(minilm: Model, switches: dict[str, Any], sentence: str) -> None:
    """The words, the heads that are off and the blocked cells; those are just the ones without a weight."""
    run = minilm.run(TIRED, **switches)
    page = standalone(run)
    said = contents(page)[0]
    assert (run.interventions.summary, said["changed"]) == (sentence, sentence)
    assert f" · {html.escape(sentence)}</title>" in page
    assert said["off"] == [f"{layer}.{head}" for layer, head in run.interventions.heads_off]
    blocked = (run.weights == 0).all(dim=0)  # (h, i, j)
    assert blocked.any() == bool(said["forbidden"])
    for head, own in enumerate(blocked if said["forbidden"] else []):
        assert said["forbidden"][head if len(said["forbidden"]) > 1 else 0] == write_cells(own)


def test_built_in_mask_is_named_and_hatched(writer: Model) -> None:
    run = writer.run("how are you", temperature=2)
    said = contents(standalone(run))[0]
    assert said["changed"] == "temperature 2, causal mask: built in"
    assert said["forbidden"] == [write_cells(torch.ones(3, 3).triu(1).bool())]


def test_callers_text_is_escaped(run: Run) -> None:
    page = standalone(run, title="a <b>", changed="painted & more", link="javascript:alert(1)")
    assert (contents(page)[0]["changed"], contents(page)[0]["link"]) == ("painted & more", "")
    assert "<title>a &lt;b&gt; · painted &amp; more</title>" in page
    assert contents(standalone(run, link="http://x.example/?s=a"))[0]["link"] == "http://x.example/?s=a"
    tokens = (ODD * 3)[: len(run.tokens)]
    page = standalone(replace(run, tokens=tokens), title="</title><script>x")
    assert contents(page)[2]["tokens"] == tokens
    assert page.count("<script") == 3
    assert "</title><script>x" not in page


def test_a_place_that_is_not_there_is_an_error(run: Run) -> None:
    ways: list[Callable[..., Any]] = [partial(standalone, run), run.show, partial(widget, run)]
    for name, place in (("layer", 6), ("head", -1), ("row", 15)):
        for way in ways:
            with pytest.raises(SizeError, match=f"{name}=.* is not there; this run has"):
                way(**{name: place})


# ---- in a notebook


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


def test_choice_in_the_browser_is_state_in_python(run: Run) -> None:
    made = widget(run, layer=2, head=5, row=1)
    changes: list[tuple[str, Any]] = []
    made.observe(lambda one: changes.append((one["name"], one["new"])), names=["layer", "head", "row", "key"])
    assert torch.equal(made.row_weights, run.weights[2, 5, 1])
    made.set_state({"layer": 3, "head": 1, "row": 4, "key": 2})  # as it comes from the browser
    assert dict(changes) == {"layer": 3, "head": 1, "row": 4, "key": 2}
    assert torch.equal(made.row_weights, run.weights[3, 1, 4])
    for name, wrong in (("layer", 6), ("head", 12), ("row", 15), ("key", -1)):
        with pytest.raises(SizeError, match=f"{name}={wrong} is not there; this run has {name}s 0 to"):
            setattr(made, name, wrong)
    assert torch.equal(made.row_weights, run.weights[3, 1, 4])
    made.key = None
    with pytest.warns(DeprecationWarning, match="row_weights"):
        assert torch.equal(made.chosen, made.row_weights)


def test_the_widget_sends_every_number(run: Run) -> None:
    state = widget(run).get_state()
    (length,) = struct.unpack_from("<I", state["message"])
    assert len(state["message"]) >= 4 + length + run.weights.numel() * 5
    assert run.weights.numpy().tobytes() in state["message"]
    assert state["_esm"].startswith("// Built by `make scripts`")


def test_without_anywidget_a_sentence_names_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    widget_class.cache_clear()
    with pytest.raises(HeadlightError, match="pip install anywidget"):
        widget(run)
    assert HTMLFormatter()(run.show())
