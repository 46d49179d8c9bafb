"""What the wire says of the boxes of a model: shapes, the panel of the box in focus at each depth, and links on."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest

from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.registry import recordings
from headlight.server import store
from headlight.ui.numbers import number
from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.pretrained.recordings import Group, Recording
from pages.model_map import message

from .conftest import answer, picture_of

TEXT = "The dog bit the man"
MODELS = (
    "minilm",
    "smollm2",
    "brackets-learned-1",
    "words-2layers-1",
    "dates-sinusoidal-1",
    "dates-sinusoidal-1~cross",
)


def shown(**link: str) -> dict[str, Any]:
    return picture_of("architecture", **link)[0]


def panel(**link: str) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = shown(s=TEXT, **link)["panel"]
    return blocks


@pytest.mark.parametrize("name", MODELS)
def test_every_box_has_every_depth_and_a_page(name: str) -> None:
    link = {"model": name} if "dates" in name else {"model": name, "s": TEXT}
    first = shown(**link)
    for box in first["boxes"]:
        for depth in message.DEPTHS:
            found = shown(**link, box=box["name"], depth=depth)
            assert (found["box"], found["depth"], found["notices"]) == (box["name"], depth, first["notices"])
            assert found["panel"]
            assert depth == "code" or "None" not in json.dumps(found["panel"])
        title, path = found["links"][0]
        assert title.startswith("Open in ")
        assert parse_qs(path.partition("?")[2]).get("s") == ([TEXT] if "s" in link else None)


def test_the_shapes_are_those_of_the_run(model: Model) -> None:
    for text in ("", "dog", "dog " * 510):
        header, run = shown(s=text), pictures.picture(Settings(text)).run
        shapes = {box["name"]: [tuple(axis) for axis in box["shape"]] for box in header["boxes"]}
        n = len(run.tokens)
        assert shapes["tokens"] == [("i", n)]
        assert shapes["mlp add"] == [("i", n), ("c", model.sizes.d_model)]
        assert shapes["pooling"] == [("c", run.sentence.shape[0])]
    decoder = {box["name"]: box["shape"] for box in shown(model="smollm2", s="dog")["boxes"]}
    assert decoder["attention"] == [["i", 1], ["c", 576]]
    assert decoder["head"] == [["i", 1], ["v", 49152]]


def test_the_numbers_are_those_of_the_run_with_its_switches(model: Model) -> None:
    settings = Settings(TEXT, heads_off=((2, 1),))
    run = pictures.picture(settings).run
    link = {"off": "L2 H1", "at": "2.4.3", "depth": "numbers"}
    table, sentence = panel(box="mlp norm", **link), panel(box="mlp add", **link)
    after = next(row[1:] for row in table[0]["rows"] if row[0] == "output")
    assert after[:6] == [number(float(x), 3) for x in run.hidden[3, 3, :6]]
    assert after[-1] == number(float(run.hidden[3, 3].norm()), 3)
    assert [row[0] for row in sentence[0]["rows"]] == ["stream", "+ added", "= sum"]
    bars = panel(box="attention", **link)[0]
    best = int(run.weights[2, 4, 3].argmax())
    assert bars["labels"][bars["sizes"].index(1.0)].startswith(str(best))
    likeliest = panel(model="smollm2", box="probabilities", depth="numbers")[0]
    assert (likeliest["kind"], len(likeliest["labels"])) == ("bars", 6)


def test_the_texts_are_of_this_model() -> None:
    assert "12 heads do this side by side" in panel(box="attention")[0]["text"]
    assert "what the MLP computed is added to the vector that was there before" in panel(box="mlp add")[0]["text"]
    assert "67 % of this layer’s parameters" in panel(box="mlp")[0]["text"]
    assert (
        panel(box="mlp")[1]["text"]
        == "1,181,568 parameters in this layer; in all 6 layers 7,089,408 parameters, 31 % of the model’s."
    )
    assert "the stream itself goes through the norm" in panel(box="mlp norm")[0]["text"]
    assert "the stream itself passes by" in panel(box="mlp norm", model="smollm2")[0]["text"]
    code = panel(box="mlp", depth="code")
    assert ["self.feed_forward(x)" in code[1]["lines"][index] for index in code[1]["marks"]] == [True]
    assert "mha_core/models/block.py" in code[0]["text"]
    formula = json.dumps(panel(box="mlp", depth="formula"))
    assert all(f'"{size}"' in formula for size in ("1,536", "384"))
    assert panel(box="attention norm", model="smollm2", depth="formula")[0]["name"] == "RMSNorm"


def test_links_keep_sentence_switches_layer_and_group() -> None:
    ((title, path),) = shown(s=TEXT, mask="causal", t="0.5", at="4.2.1", box="mlp norm")["links"]
    query = parse_qs(path.partition("?")[2])
    assert (title, query) == (
        "Open in Maps, residual stream",
        {"s": [TEXT], "mask": ["causal"], "t": ["0.5"], "at": ["4.2.1"], "view": ["residual"]},
    )
    pages = [path.partition("?")[0] for _, path in shown(s=TEXT, box="attention")["links"]]
    assert pages == ["", "shapes", "by-hand"]
    dates = shown(model="dates-sinusoidal-1", box="decoder cross-attention")["links"][0][1]
    assert parse_qs(dates.partition("?")[2])["model"] == ["dates-sinusoidal-1~cross"]


def test_a_box_that_is_not_there_gives_way_and_a_recording_says_why() -> None:
    found = shown(model="words-2layers-1", box="mlp")
    assert found["box"] == "attention"
    assert "box=mlp" in found["notices"][0]
    maps = pictures.picture(Settings("a")).run.weights[None]
    group = Group("layers", ("",) * len(maps[0]), ["a", "b", "c"], None, maps)
    name = recordings.PREFIX + store.put("data", Recording((group,), (0,), "Mine").to_bytes())
    with pytest.raises(HeadlightError, match="recording"):
        answer("architecture", urlencode({"model": name}).encode())
