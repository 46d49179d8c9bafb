"""The files that the server makes of a link, and a lesson on paper, are the core's numbers; a class's address."""

from __future__ import annotations

import base64
import csv
import html
import io
import re
import zlib
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch

from headlight.lessons.course import course
from headlight.lessons.verdict import verdict
from headlight.link.limits import MAX_TEXT_LENGTH
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.picture.traces import trace_layer
from headlight.server import addresses, options
from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.measure import rounding
from mha_core.positions import ALiBi, Sinusoidal
from tests.closeness import identical, within_rounding

from .conftest import answer, answers, unpacked

ODD = 'say "=cmd", it @ 😀'


def made(route: str, **values: Any) -> bytes:
    return answer(route, urlencode(values, doseq=True).encode("ascii"))


def arrays_of(route: str, **values: Any) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(made(route, **values)), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays}


def rows_of(route: str, **values: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(made(route, **values).decode("utf-8-sig"))))


def check(rows: list[list[str]], expected: torch.Tensor) -> None:
    """The rows of a table are these numbers."""
    assert np.array_equal(np.array([row[1:] for row in rows], np.float32), expected.numpy())


def test_explores_files_are_of_the_links_picture(model: Model) -> None:
    run = model.run(ODD, mask="causal")
    link = {"s": ODD, "mask": "causal", "at": "2.5"}
    head, *rows = rows_of("explore.csv", **link)
    assert (head[0], [text.removeprefix("'") for text in head[1:]]) == ("layer 2 head 5: query / key", run.tokens)
    check(rows, run.weights[2, 5])
    head, *rows = rows_of("explore.csv", **link, look="mean")
    assert head[0] == "mean of 12 heads: query / key"
    check(rows, run.weights[2].mean(dim=0))
    arrays = arrays_of("explore.npz", **link)
    assert np.array_equal(arrays["weights"], run.weights.numpy())
    assert (arrays["tokens"].tolist(), made("explore.html", **link).decode().count("</title>")) == (run.tokens, 1)
    for route in ("explore.csv", "shapes.npz"):
        with pytest.raises(HeadlightError):
            made(route, s="x" * (MAX_TEXT_LENGTH + 1))


CHANGED: list[dict[str, Any]] = [
    {}, {"mask": "combination", "rule": "causal & unseen:0"}, {"mask": "painted", "on": "causal", "p": "6.rGB.3rJB"},
    {"mask": "causal", "pos": "rotary", "t": 0.5, "off": "L5 H11", "unheard": "1-2"},
]  # fmt: skip


def test_html_file_has_the_pages_changes() -> None:
    for link in CHANGED:
        values = {"s": "how are you now", "at": "3.1.2", **link}
        page = made("explore.html", **values).decode()
        block = re.search(r'id="headlight-run">([^<]*)<', page)
        assert block
        own, _ = unpacked(unpacked(zlib.decompress(base64.b64decode(block[1])))[1])
        shown, _ = unpacked(answers("focus", urlencode(values, doseq=True))[0])
        assert (own["changed"], ("nothing changed" in own["changed"])) == (shown["label"], not link)
        assert f"{html.escape(shown['label'])}</title>" in page
        assert [text for text in own["forbidden"] if text] == [text for text in shown["forbidden"] if text], link
        off = [link["off"]] if isinstance(link.get("off"), str) else link.get("off", [])
        assert own["off"] == sorted(name[1:].replace(" H", ".") for name in off), link


def test_files_of_pages_with_two_or_more_maps(model: Model) -> None:
    pair = arrays_of("compare.npz", s="can you", s2="can it be", pos2="as trained", at="1.3")
    for side, text in (("left", "can you"), ("right", "can it be")):
        run = model.run(text)
        assert np.array_equal(pair[side], run.weights[1, 3].numpy())
        assert pair[f"{side}_columns"].tolist() == run.tokens
    masks = rows_of("masks.csv", s="can you", mask="causal", at="1.3")
    blank = masks.index([])
    for own, rule in ((masks[:blank], "causal"), (masks[blank + 1 :], "none")):
        check(own[1:], model.run("can you", mask=rule).weights[1, 3])
    link = {"s": "can you", "three": ["as trained", "none"], "at": "1.3"}
    for mean in (True, False):
        arrays = arrays_of("compare.npz", **link, mean=str(mean).lower())
        for name, position in (("as trained", "trained"), ("none", "none")):
            weights = model.run("can you", position=position).weights[1]
            identical(torch.from_numpy(arrays[name]), weights.mean(0) if mean else weights[3])


def test_by_hand_gives_every_matrix_of_its_example_and_the_map_of_a_real_layer(model: Model) -> None:
    edited = "s_0.5_0.1_0.4_0.1_0.8_0.3_0.4_0.3_9"
    arrays = arrays_of("by_hand.npz", m=edited)
    scores = torch.tensor([[0.5, 0.1, 0.4], [0.1, 0.8, 0.3], [0.4, 0.3, 9]])
    identical(torch.from_numpy(arrays["Inputs, scores"]), scores)
    assert arrays["Inputs, scores_rows"].tolist() == ["how", "are", "you"]
    (weights,) = (value for name, value in arrays.items() if name.endswith(", weights"))
    # exp, whose argument of up to 9 is rounded, the row's sum and a division
    within_rounding(torch.from_numpy(weights), scores.double().softmax(-1), rounding.sum_bound(81, 3, 1, 1))
    assert ["Inputs, scores", "how", "are", "you"] in rows_of("by_hand.csv", m=edited)
    run = model.run("can you")
    head, *rows = rows_of("by_hand.csv", ex="entropy", s="can you", at="1.3")
    assert head == ["layer 1 head 3: query / key", *run.tokens]
    check(rows, run.weights[1, 3])


def test_positions_scaled_dot_and_shapes_give_what_they_show() -> None:
    arrays = arrays_of("positions.npz", s="can you", enc="sinusoidal", enc2="alibi", d="64", h="8", amp="0.5")
    assert arrays["as trained"].shape == arrays["none"].shape == (4, 4)
    waves, lowered = Sinusoidal(64, 0.5).add(torch.zeros(1, 4, 64))[0], ALiBi(8).bias(torch.zeros(1, 8, 4, 8), 4)
    identical(torch.from_numpy(arrays["sinusoidal, channels"]), waves)
    identical(torch.from_numpy(arrays["alibi, head 7"]), lowered[0, 7])
    arrays = arrays_of("by_hand.npz", ex="scaled dot product", qs="2, 3, 6", kv="both from elsewhere", nk="5", wv="4")
    weights = torch.from_numpy(next(value for name, value in arrays.items() if name.endswith("weights")))
    ours, torchs = (
        torch.from_numpy(value) for name, value in arrays.items() if "mixed" in name and value.dtype == "f4"
    )
    assert (weights.shape, ours.shape) == ((3, 5), (3, 4))
    within_rounding(weights.double().sum(-1), torch.ones(3), rounding.sum_bound(5, 1, 1))
    within_rounding(ours, torchs, rounding.sum_bound(6, 6, 5, 5, 5))  # scores twice, a softmax's row, and what is mixed
    with pytest.raises(HeadlightError, match="0 sizes were given; 2 to 5 are needed"):
        made("by_hand.csv", ex="scaled dot product", qs="x")
    steps = {step.name: step.value for step in trace_layer(Settings("can you"), 1, "fused").steps}
    link = {"s": "can you", "impl": "fused", "step": "weights", "at": "1.3"}
    head, *rows = rows_of("shapes.csv", **link)
    assert head[1:] == ["j0", "j1", "j2", "j3"]
    check(rows, steps["weights"].reshape(-1, 4))
    arrays = arrays_of("shapes.npz", **link)
    for name in ("q", "scores", "weights", "out"):
        identical(torch.from_numpy(arrays[name]), steps[name])


def handout(**values: str) -> tuple[dict[str, Any], np.ndarray]:
    header, floats = unpacked(made("lesson.handout", **values))
    return header, np.frombuffer(floats, np.float32)


def test_lesson_on_paper_has_its_maps_and_computed_answers(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headlight.lessons.files.public_url", lambda url: "http://192.168.1.7:8501")
    header, floats = handout(lesson="it", **{"from": "http://localhost:8501"})
    lesson = course().lessons["it"]
    assert [step["question"] for step in header["lesson"]["steps"]] == [step.question for step in lesson.steps]
    first, own = header["steps"][0], lesson.steps[0]
    found = verdict(own, Query(own.query.encode()))
    assert first["answer"]["picked"] == found.picked == own.answer
    assert first["answer"]["numbers"] == [list(one) for one in found.numbers]
    assert first["address"] == "http://192.168.1.7:8501/?at=3.1.10&learn=it.1"
    assert base64.b64decode(first["code"].partition(",")[2]) == addresses.qr_code(first["address"])
    run = model.run("The animal didn't cross the street because it was too tired")
    n = len(run.tokens)
    assert np.array_equal(floats[: n * n].reshape(n, n), run.weights[3, 1].numpy())
    assert len(floats) == sum(len(each["tokens"]) ** 2 for step in header["steps"] for each in step["maps"])
    with pytest.raises(HeadlightError, match="there is no lesson “nothing” in this course"):
        handout(lesson="nothing")
    monkeypatch.setattr("headlight.lessons.files.public_url", lambda url: "")
    header, _ = handout(lesson="it", **{"from": "javascript:alert(1)"})
    assert {(step["address"], step["code"]) for step in header["steps"]} == {("", "")}


# ---- the address at which a class opens a link


def test_class_is_given_the_address_in_its_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "read", lambda name: "127.0.0.1")
    for url in ("http://localhost:8501/masks", "http://127.0.0.1:8501", ""):
        assert addresses.public_url(url) == "", "a server for this machine alone"
    monkeypatch.setattr(options, "read", lambda name: "0.0.0.0")
    monkeypatch.setattr(addresses, "own_address", lambda: "192.168.1.7")
    assert addresses.public_url("http://localhost:8501/masks") == "http://192.168.1.7:8501/masks"
    assert addresses.public_url("https://headlight.school/masks") == "https://headlight.school/masks"
    monkeypatch.setattr(addresses, "own_address", lambda: "")
    assert addresses.public_url("http://localhost:8501/masks") == ""
