"""The files that the server makes of a link, and a lesson on paper, are the core's numbers."""

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

from mha_core import Model, Run
from mha_core.errors import HeadlightError
from mha_core.positions import ALiBi, Sinusoidal
from mha_core.show import standalone
from pages.kit.draw.pages import PAGES
from pages.kit.lessons.course import course
from pages.kit.lessons.verdict import verdict
from pages.kit.picture import pictures, sharing
from pages.kit.picture.limits import LONGEST_TEXT
from pages.kit.picture.models import SMOLLM2
from pages.kit.picture.query import Query
from pages.kit.picture.settings import Settings
from pages.kit.server import addresses
from pages.kit.wire import files, routes

from .conftest import answers, unpacked

ODD = 'say "=cmd", it @ 😀'


def made(route: str, **values: Any) -> bytes:
    return routes.answer(route, urlencode(values, doseq=True).encode("ascii"))


def arrays_of(route: str, **values: Any) -> dict[str, np.ndarray[Any, Any]]:
    with np.load(io.BytesIO(made(route, **values)), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays}


def rows_of(route: str, **values: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(made(route, **values).decode("utf-8-sig"))))


def test_every_route_of_files_belongs_to_a_page() -> None:
    assert set(files.FILES) <= set(PAGES)
    assert {f"{page}.{kind}" for page, kinds in files.FILES.items() for kind in kinds} <= set(routes.ROUTES)


def test_explores_files_are_of_the_links_picture(model: Model) -> None:
    run = model.run(ODD, mask="causal")
    link = {"s": ODD, "mask": "causal", "at": "2.5"}
    head, *rows = rows_of("explore.csv", **link)
    assert head[0] == "layer 2 head 5: query / key"
    assert [text.removeprefix("'") for text in head[1:]] == run.tokens
    assert np.array_equal(np.array([row[1:] for row in rows], np.float32), run.weights[2, 5].numpy())
    head, *rows = rows_of("explore.csv", **link, look="mean")
    assert head[0] == "mean of 12 heads: query / key"
    assert np.array_equal(np.array([row[1:] for row in rows], np.float32), run.weights[2].mean(dim=0).numpy())
    head, *rows = rows_of("explore.csv", s="unbelievable", look="words_nospecials_renorm")
    assert head[0] == "layer 3 head 1, rows sum to 1 without what is not shown: query / key"
    assert head[1:] == ["[CLS]", "unbelievable", "[SEP]"]
    assert [list(map(float, row[1:])) for row in rows] == [[0, 1, 0]] * 3
    arrays = arrays_of("explore.npz", **link)
    assert np.array_equal(arrays["weights"], run.weights.numpy())
    assert arrays["tokens"].tolist() == run.tokens
    assert made("explore.html", **link).decode().count("</title>") == 1


CHANGED: list[dict[str, Any]] = [
    {},
    {"mask": "causal"},
    {"mask": "window", "w": 2},
    {"mask": "combination", "rule": "causal & unseen:0"},
    {"mask": "painted", "on": "causal", "p": "6.rGB.3rJB"},
    {"pos": "none"},
    {"pos": "halved"},
    {"t": 2},
    {"off": ["L3 H1", "L0 H2"]},
    {"unheard": "0"},
    {"mask": "causal", "pos": "rotary", "t": 0.5, "off": "L5 H11", "unheard": "1-2"},
]


@pytest.mark.parametrize("link", CHANGED, ids=lambda link: " ".join(link) or "nothing")
def test_the_html_file_says_what_the_page_says_is_changed(link: dict[str, Any]) -> None:
    asked = {"s": "how are you now", "at": "3.1.2", **link}
    page = made("explore.html", **asked).decode()
    block = re.search(r'id="headlight-run">([^<]*)<', page)
    assert block
    _, parts = unpacked(zlib.decompress(base64.b64decode(block[1])))
    said, _ = unpacked(parts)
    shown, _ = unpacked(answers("focus", urlencode(asked, doseq=True))[0])
    assert said["changed"] == shown["label"]
    assert ("nothing changed" in said["changed"]) == (not link)
    assert f"{html.escape(shown['label'])}</title>" in page
    assert [text for text in said["forbidden"] if text] == [text for text in shown["forbidden"] if text]
    off = [link["off"]] if isinstance(link.get("off"), str) else link.get("off", [])
    assert said["off"] == sorted(name[1:].replace(" H", ".") for name in off)


def test_the_html_file_opens_on_the_row_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    sharing.forget()
    rows = list[int]()

    def noted(run: Run, **said: Any) -> str:
        rows.append(said["row"])
        return standalone(run, **said)

    monkeypatch.setattr("pages.explore.files.standalone", noted)
    for asked in ({"s": "my grandmother baked her cake"}, {"s": "my grandmother baked her cake", "at": "2.3.1"}):
        made("explore.html", **asked)
        shown, _ = unpacked(answers("focus", urlencode(asked))[0])
        assert rows[-1] == shown["row"]
    assert rows[0] != rows[1]


def test_the_same_html_file_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sharing.forget()
    made_of = list[tuple[int, int]]()

    def counted(run: Run, **said: Any) -> str:
        made_of.append((said["layer"], said["head"]))
        return standalone(run, **said)

    monkeypatch.setattr("pages.explore.files.standalone", counted)
    same = {made("explore.html", s="how are you", at="3.1", **more) for more in ({}, {}, {"look": "table"})}
    assert len(same) == 1
    assert made("explore.html", s="how are you", at="3.2") not in same
    assert made_of == [(3, 1), (3, 2)]


def test_more_than_the_html_file_holds_is_refused_before_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(settings: Settings) -> None:
        raise AssertionError("computed")

    monkeypatch.setattr("pages.explore.files.pictures.picture", never)
    tokens = len(pictures.tokens(Settings("a " * 280, model=SMOLLM2)))
    with pytest.raises(HeadlightError) as refused:
        made("explore.html", s="a " * 280, model=SMOLLM2)
    assert str(refused.value) == (
        f"270 heads of {tokens} tokens have {270 * tokens**2:,} weights, an HTML file holds at most 20,000,000; "
        "shorten the text to 272 tokens"
    )


def test_compare_and_masks_give_both_maps(model: Model) -> None:
    pair = arrays_of("compare.npz", s="can you", s2="can it be", pos2="as trained", at="1.3")
    for side, text in (("left", "can you"), ("right", "can it be")):
        run = model.run(text)
        assert np.array_equal(pair[side], run.weights[1, 3].numpy())
        assert pair[f"{side}_columns"].tolist() == run.tokens
    masks = rows_of("masks.csv", s="can you", mask="causal", at="1.3")
    blank = masks.index([])
    for own, rule in ((masks[:blank], "causal"), (masks[blank + 1 :], "none")):
        wanted = model.run("can you", mask=rule).weights[1, 3].numpy()
        assert np.array_equal(np.array([row[1:] for row in own[1:]], np.float32), wanted), rule


def test_by_hand_gives_every_matrix_of_its_example() -> None:
    edited = "s_0.5_0.1_0.4_0.1_0.8_0.3_0.4_0.3_9"
    arrays = arrays_of("by_hand.npz", m=edited)
    scores = np.array([[0.5, 0.1, 0.4], [0.1, 0.8, 0.3], [0.4, 0.3, 9]], np.float32)
    assert np.array_equal(arrays["Inputs, scores"], scores)
    assert arrays["Inputs, scores_rows"].tolist() == ["how", "are", "you"]
    (weights,) = (value for name, value in arrays.items() if name.endswith(", weights"))
    assert np.allclose(weights, torch.from_numpy(scores).softmax(-1).numpy(), atol=1e-6)
    assert ["Inputs, scores", "how", "are", "you"] in rows_of("by_hand.csv", m=edited)
    assert {"Head 0, weights", "Head 1, weights"} <= set(arrays_of("by_hand.npz", ex="two heads"))
    two = arrays_of("by_hand.npz", ex="two sentences", qw="you are", kw="how are you")
    assert two["Scores, scores_rows"].tolist() == ["you", "are"]


def test_of_a_real_layer_by_hand_gives_the_map(model: Model) -> None:
    run = model.run("can you")
    head, *rows = rows_of("by_hand.csv", ex="entropy", s="can you", at="1.3")
    assert head == ["layer 1 head 3: query / key", *run.tokens]
    assert np.array_equal(np.array([row[1:] for row in rows], np.float32), run.weights[1, 3].numpy())


def test_side_by_side_gives_every_map(model: Model) -> None:
    link = {"s": "can you", "three": ["as trained", "none"], "at": "1.3"}
    for mean in (True, False):
        arrays = arrays_of("side_by_side.npz", **link, mean=str(mean).lower())
        for name, position in (("as trained", "trained"), ("none", "none")):
            weights = model.run("can you", position=position).weights[1]
            assert np.allclose(arrays[name], (weights.mean(0) if mean else weights[3]).numpy(), atol=1e-6)


def test_positions_gives_maps_and_what_each_encoding_is(model: Model) -> None:
    arrays = arrays_of("positions.npz", s="can you", enc="sinusoidal", enc2="alibi", d="64", h="8", amp="0.5")
    assert arrays["as trained"].shape == arrays["none"].shape == (4, 4)
    waves = Sinusoidal(64, 0.5).add(torch.zeros(1, 4, 64))[0]
    assert np.allclose(arrays["sinusoidal, channels"], waves.numpy(), atol=1e-6)
    lowered = ALiBi(8).bias(torch.zeros(1, 8, 4, 8), 4)
    assert np.allclose(arrays["alibi, head 7"], lowered[0, 7].numpy(), atol=1e-6)


def test_scaled_dot_gives_its_call() -> None:
    arrays = arrays_of("scaled_dot.npz", qs="2, 3, 6", kv="both from elsewhere", nk="5", wv="4")
    weights = next(value for name, value in arrays.items() if name.endswith("weights"))
    ours, torchs = (value for name, value in arrays.items() if "mixed" in name and value.dtype == np.float32)
    assert weights.shape == (3, 5)
    assert np.allclose(weights.sum(-1), 1)
    assert ours.shape == torchs.shape == (3, 4)
    assert np.allclose(ours, torchs, atol=1e-6)
    with pytest.raises(HeadlightError, match="0 sizes, need 2 to 5"):
        made("scaled_dot.csv", qs="x")


def test_shapes_gives_the_step_in_sight_and_all_steps(model: Model) -> None:
    run = model.run("can you", trace_layer=1)
    link = {"s": "can you", "impl": "fused", "step": "weights", "at": "1.3"}
    head, *rows = rows_of("shapes.csv", **link)
    assert head[1:] == ["j0", "j1", "j2", "j3"]
    assert [row[0] for row in rows][:5] == ["b0 h0 i0", "b0 h0 i1", "b0 h0 i2", "b0 h0 i3", "b0 h1 i0"]
    values = np.array([row[1:] for row in rows], np.float32).reshape(1, 12, 4, 4)
    assert np.allclose(values[0], run.weights[1].numpy(), atol=1e-6)
    arrays = arrays_of("shapes.npz", **link)
    for step in ("q", "scores", "weights", "out"):
        assert arrays[step].shape == next(one.shape for one in run.steps if one.name == step)


@pytest.mark.parametrize("route", ["explore.csv", "shapes.npz"])
def test_what_cannot_be_shown_is_a_sentence_and_no_file(route: str) -> None:
    with pytest.raises(HeadlightError):
        made(route, s="x" * (LONGEST_TEXT + 1))


def handout(**asked: str) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    told, floats = unpacked(made("lesson.handout", **asked))
    return told, np.frombuffer(floats, np.float32)


def test_a_lesson_on_paper_has_its_maps_and_computed_answers(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.kit.lessons.files.for_class", lambda url: "http://192.168.1.7:8501")
    told, floats = handout(lesson="it", **{"from": "http://localhost:8501"})
    lesson = course().lessons["it"]
    assert [step["ask"] for step in told["steps"]] == [step.ask for step in lesson.steps]
    first, own = told["steps"][0], lesson.steps[0]
    found = verdict(own, Query(own.query.encode()))
    assert first["answer"]["letter"] == found.picked == own.right
    assert first["answer"]["numbers"] == [[label, text] for label, _, text in found.numbers]
    assert first["address"] == "http://192.168.1.7:8501/?at=3.1.10&learn=it.1"
    assert base64.b64decode(first["code"].partition(",")[2]) == addresses.qr_code(first["address"])
    run = model.run("The animal didn't cross the street because it was too tired")
    n = len(run.tokens)
    assert np.array_equal(floats[: n * n].reshape(n, n), run.weights[3, 1].numpy())
    assert len(floats) == sum(len(each["tokens"]) ** 2 for step in told["steps"] for each in step["maps"])


def test_no_such_lesson() -> None:
    with pytest.raises(HeadlightError, match="there is no lesson “nothing” in this course"):
        handout(lesson="nothing")


def test_a_server_for_this_machine_alone_gives_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.kit.lessons.files.for_class", lambda url: "")
    told, _ = handout(lesson="it", **{"from": "javascript:alert(1)"})
    assert {(step["address"], step["code"]) for step in told["steps"]} == {("", "")}
