"""Answers of Maps that the browser computes, compared with those of the server's handler, field by field."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headlight.link import mask_codec
from headlight.registry import MINILM
from headlight.ui.web import PREFIX
from mha_core import masks
from mha_core.show.model_file import pack_model
from pages.handlers import HANDLERS
from tests.core.test_show import unpacked

from .expected import TIRED, core
from .modules import Modules

CLOSE = 1e-4  # of a weight: the engine's own bound
SAME = (
    "model", "texts", "sentence", "look", "label", "presets", "presetNames", "positions", "ownMask", "groups", "group",
    "layers", "heads", "layer", "head", "kv", "origin", "forbidden", "row", "key", "reading",
)  # fmt: skip
SMALL = ("who-none-1", "who-rotary-1", "words-2layers-1", "brackets-learned-1", "names-none-1")
SENTENCES = {
    MINILM: [TIRED, "can you can that can", "Unaffable dragons, naïve!", ""],
    "who": ["the fox visited the queen", "the queen saw a dog", "the the the fox"],
    "words": ["a b c a b", "w3 w1 w4 w1 w5"],
    "brackets": ["( ( ) )", "( ) ) ("],
    "names": ["tom ann tom", "Tom met Ann"],
}
ADD = """async ([name, template, path]) => {
  window.local ??= { models: {}, templates: {} };
  const { openModel } = await import(`${path}/compute/model_file.js`);
  local.models[name] = await openModel(new Uint8Array(await (await fetch("/model-of-test")).arrayBuffer()));
  local.templates[name] = template;
}"""
ANSWER = """async ([route, query, path]) => {
  const { localAnswer } = await import(`${path}/site/local_answers.js`);
  const models = { open: async (name) => local.models[name], template: async (name) => local.templates[name] };
  try {
    const bytes = await localAnswer(route, new URLSearchParams(query), models);
    let text = "";
    for (let at = 0; at < bytes.length; at += 9000) text += String.fromCharCode(...bytes.subarray(at, at + 9000));
    return btoa(text);
  } catch (error) {
    return { sentence: error.message, key: error.key };
  }
}"""

Query = Mapping[str, str | list[str]]
Answers = Callable[[str, Query], Any]


def parts(answer: bytes) -> list[tuple[dict[str, Any], bytes]]:
    header, body = unpacked(answer)
    ends = np.cumsum([0, *header["parts"]]).tolist()
    return [unpacked(body[start:end]) for start, end in zip(ends[:-1], ends[1:], strict=True)]


@pytest.fixture(scope="module")
def answers(modules: Modules) -> Answers:
    """What the browser answers to a route and a query; a model is opened when it is first asked for."""
    opened = set[str]()

    def answer(route: str, query: Query) -> Any:
        name = query["model"]
        assert isinstance(name, str)
        if name not in opened:
            opened.add(name)
            modules.page.route("**/model-of-test", lambda route: route.fulfill(body=pack_model(core(name))))
            template = parts(HANDLERS["maps"](urlencode({"model": name}).encode()))[0][0]
            modules.page.evaluate(ADD, [name, template, PREFIX])
            modules.page.unroute("**/model-of-test")
        found = modules.page.evaluate(ANSWER, [route, urlencode(query, doseq=True), PREFIX])
        return parts(base64.b64decode(found)) if isinstance(found, str) else found

    return answer


def painted(rule: str, n: int, heads: int, seed: int, *, per_head: bool) -> dict[str, str]:
    flips = torch.rand(heads if per_head else 1, n, n, generator=torch.Generator().manual_seed(seed)) < 0.3
    return {"mask": "painted", "on": rule, "p": mask_codec.write_flips(flips.expand(heads, n, n))}


@st.composite
def queries(draw: st.DrawFn, names: tuple[str, ...]) -> dict[str, str | list[str]]:
    name = draw(st.sampled_from(names))
    model = core(name)
    text = draw(st.sampled_from(SENTENCES[name.split("-")[0]]))
    layers, heads, n = model.sizes.n_layers, model.sizes.n_heads, len(model.tokenize(text)[0])
    rule = draw(
        st.sampled_from(
            ["none", "causal", "window:2", "causal & window:3 | sinks:1", "!dilated:2:2", "unseen:1", "documents:2"]
        )
    )
    mask = draw(
        st.sampled_from([
            {}, {"mask": "window", "w": "2"}, {"mask": "prefix", "first": "2"}, {"mask": "dilated", "w": "2", "gap": "2"},
            {"mask": "combination", "rule": rule}, painted(rule, n, heads, 3, per_head=False), painted("none", n, heads, 5, per_head=True),
        ])
    )  # fmt: skip
    pairs = st.tuples(st.integers(0, layers - 1), st.integers(0, heads - 1))
    off = [f"L{layer} H{head}" for layer, head in draw(st.sets(pairs, max_size=3))]
    off += draw(st.sampled_from([[], ["L0 MLP"], [f"L{layers - 1}"]]))
    layer, head = draw(pairs)
    place = {
        "at": f"{layer}.{head}.{draw(st.integers(0, n - 1))}",
        "look": draw(st.sampled_from(["", "mean", "meanall_all", "nofirst_renorm"])),
    }
    positions = ["as trained", "none", "sinusoidal", "rotary", "alibi", "t5", "shaw"]
    changes = {"pos": draw(st.sampled_from(positions)), "t": draw(st.sampled_from(["1", "0.5", "2"]))}
    return {
        "model": name,
        "s": text,
        **mask,
        "off": off,
        "unheard": draw(st.sampled_from(["", "0-2"])),
        **changes,
        **place,
    }


def compare(answers: Answers, query: Query) -> None:
    (said, floats), (maps, cells) = answers("maps", query)
    (wanted, exact), (all_maps, all_cells) = parts(HANDLERS["maps"](urlencode(query, doseq=True).encode()))
    assert {field: said[field] for field in SAME if field != "reading"} == {
        field: wanted[field] for field in SAME if field != "reading"
    }
    assert "Computed in this browser" in said["notices"][0]
    assert set(said) == set(wanted)
    weights, expected = (np.frombuffer(body, np.float32) for body in (floats, exact))
    assert weights.shape == expected.shape
    assert np.abs(weights - expected).max(initial=0) <= CLOSE
    assert {**maps, "digest": ""} == {**all_maps, "digest": ""}
    assert said["digest"] == maps["digest"]
    change = np.abs(np.frombuffer(cells, np.uint8).astype(int) - np.frombuffer(all_cells, np.uint8))
    assert change.max(initial=0) <= 1
    assert (said["mean"] is None) == (wanted["mean"] is None)
    assert (said["effect"] is None) == (wanted["effect"] is None) == (said["baseline"] is None)
    if said["reading"]:
        shares = (reading.pop("hiddenShares") for reading in (said["reading"], wanted["reading"]))
        np.testing.assert_allclose(*shares, atol=len(weights) * CLOSE)
        assert said["reading"] == wanted["reading"]
    if said["effect"]:
        assert said["baseline"]["forbidden"] == wanted["baseline"]["forbidden"]
        np.testing.assert_allclose(
            said["baseline"]["distances"], wanted["baseline"]["distances"], atol=len(weights) * CLOSE
        )
        for field in ("layers", "focusMaximum"):
            np.testing.assert_allclose(said["effect"][field], wanted["effect"][field], atol=2 * CLOSE)
        before, after = said["effect"]["weights"]
        assert abs(abs(after - before) - max(wanted["effect"]["layers"])) <= 2 * CLOSE
    values = {figure["label"]: figure["value"] for figure in wanted["figures"]}
    for figure in said["figures"]:
        assert (
            figure["value"] == values[figure["label"]]
            or abs(float(figure["value"]) - float(values[figure["label"]])) < CLOSE
        )


@given(queries(SMALL))
def test_small_models_answer_as_the_server(answers: Answers, query: Query) -> None:
    compare(answers, query)


@given(queries((MINILM,)))
def test_minilm_answers_as_the_server(answers: Answers, query: Query) -> None:
    compare(answers, query)


def test_a_head_alone_long_texts_and_the_usual_place(answers: Answers) -> None:
    query = {"model": MINILM, "s": TIRED, "mask": "causal"}
    (focus, _), (maps, _) = answers("maps", query)
    assert [focus["layer"], focus["head"], maps["tokens"][focus["row"]]] == [3, 1, "it"]
    assert [header["head"] for header, _ in answers("focus", {**query, "at": "2.7"})] == [7]
    compare(answers, {"model": MINILM, "s": f"{TIRED}. " * 10, "at": "5.3.4"})  # one layer, and thumbnails


@pytest.mark.parametrize(
    ("bad", "key", "words"),
    [
        ({"s": "the fox " * 60}, "s", "tokens"),
        ({"mask": "combination", "rule": "window:x"}, "rule", "not a valid mask rule"),
        ({"mask": "painted", "on": "nothing"}, "on", "not a valid mask rule"),
        ({"mask": "painted", "p": "9.77rAB"}, "p", "cannot be used"),
        ({"mask": "sideways"}, "mask", "cannot be used"),
        ({"pos": "halved"}, "pos", "cannot be used"),
        ({"t": "0"}, "t", "cannot be used"),
        ({"at": "7.1"}, "at", "cannot be used"),
        ({"off": ["L0 H1", "L9 H0"]}, "off", "L9 H0"),
        ({"unheard": "a"}, "unheard", "cannot be used"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_gets_a_sentence(answers: Answers, bad: Query, key: str, words: str) -> None:
    refused = answers("maps", {"model": "who-none-1", "s": "the fox", **bad})
    assert refused["key"] == key
    assert words in refused["sentence"]


def test_other_routes_need_the_server(answers: Answers) -> None:
    assert answers("flow", {"model": "who-none-1"})["sentence"] == "This needs Headlight’s server."


@given(
    st.lists(
        st.sampled_from(["causal", "!window:3", "none", "sinks:0", "documents:2:5", "unseen:1:3", "dilated:2:2"]),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from("&|"),
    st.integers(1, 9),
)
def test_a_rule_allows_the_same_cells(modules: Modules, rules: list[str], join: str, n: int) -> None:
    rule = f" {join} ".join(rules)
    allowed = modules.one("link/mask_rules.js", [rule, n], "[...m.allowedCells(...row)]")
    assert allowed == masks.allow(masks.parse(rule), n, n).flatten().int().tolist()
