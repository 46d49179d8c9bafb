"""Find the bug: the layers, what `check` says of them on a sentence, and what the page shows of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from headlight.lessons.bugs import BUGS, STYLES
from headlight.lessons.course import course, read_folders
from headlight.lessons.quantities.bugs import D_MODEL, N_HEADS, build, diagnose, sentence_vectors, value_flow
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from mha_core.check import check
from pages.shapes import handlers
from tests.closeness import same_function

TEXTS = ("the cat sat on it", "how are you", "The animal didn't cross the street because it was too tired")
# other numbers differ from torch's too (15); what a mask after the softmax blocks still moves its query (3)
CONSEQUENCES = {"bug queries": {15}, "bug width": {15}, "bug inverted": {15}, "bug after": {3}}
every_bug = pytest.mark.parametrize("name", BUGS)


def panels(name: str, text: str = TEXTS[0]) -> dict[str, list[dict[str, Any]]]:
    """Every block that Shapes shows of a bug, by its kind."""
    raw = f"s={text.replace(' ', '+')}&at=0.0&lesson={name.replace(' ', '+')}".encode()
    blocks, kinds = json.loads(handlers.reshape(raw))["blocks"], dict[str, list[dict[str, Any]]]()
    for block in blocks:  # it grows
        blocks += block.get("blocks", [])
        kinds.setdefault(block["kind"], []).append(block)
    return kinds


def test_fifteen_layers_of_a_page_each_with_a_thread() -> None:
    assert len(BUGS) == len({bug.thread for bug in BUGS.values()}) == 15
    assert all(15 <= len(bug.code.splitlines()) <= 36 for bug in BUGS.values())
    steps = [step for lesson in course().lessons.values() if lesson.course == "Find the bug" for step in lesson.steps]
    assert sorted(Query(step.query.encode())["lesson"] for step in steps) == sorted(BUGS)
    assert {[step.answer for step in steps].count(letter) for letter in "ABCD"} == {3, 4}


@every_bug
@pytest.mark.parametrize("text", TEXTS)
def test_broken_layer_fails_in_its_property_alone(name: str, text: str) -> None:
    bug, (tokens, vectors) = BUGS[name], sentence_vectors(Settings(text), 0)
    report = check(build(bug.code, bug.style), D_MODEL, N_HEADS, **STYLES[bug.style].options, vectors=vectors)
    assert {finding.number for finding in report.failures} == {bug.number} | CONSEQUENCES.get(name, set())
    assert report[bug.number].cause == bug.cause
    found = diagnose(Settings(text), 0, name)
    assert found.finding == report[bug.number]
    assert (found.tokens, found.length) == ([*tokens, *["random"] * 7][:7], len(tokens))
    assert float(found.differences.max()) > 0.01


@pytest.mark.parametrize("style", STYLES)
def test_right_layers_hold(style: str) -> None:
    layer, options = build(STYLES[style].code, style), STYLES[style].options
    for text in TEXTS:
        vectors = sentence_vectors(Settings(text), 0)[1]
        assert not check(layer, D_MODEL, N_HEADS, **options, vectors=vectors).failures


def test_right_maps_are_attention_weights() -> None:
    x, layer = sentence_vectors(Settings(TEXTS[0]), 0)[1], build(STYLES["Plain"].code, "Plain").double()
    q, k = (layer.get_submodule(name)(x).view(-1, N_HEADS, D_MODEL // N_HEADS) for name in "qk")
    weights = torch.einsum("ihd,jhd->hij", q, k).div(math.sqrt(D_MODEL // N_HEADS)).softmax(-1)
    same_function(value_flow(BUGS["bug view"], STYLES["Plain"].code, x), weights)
    empty = diagnose(Settings(TEXTS[0]), 0, "bug empty")  # one row of torch's weights is NaN, and the others are right
    others = [row for row in range(len(x)) if row != 3]
    assert empty.broken[:, 3].isnan().all()
    same_function(empty.broken[:, others], empty.right[:, others])
    for bug in BUGS.values():
        same_function(value_flow(bug, STYLES[bug.style].code, x).sum(-1), torch.ones(N_HEADS, len(x)).double())


@every_bug
def test_page_shows_the_code_that_ran_its_wrong_lines_and_the_right_ones(name: str) -> None:
    bug, kinds = BUGS[name], panels(name)
    code, right = kinds["code"]
    assert "\n".join(code["lines"]) == bug.code.rstrip("\n")
    assert code["marks"] == [line for _, lines in bug.differences for line in lines]
    assert all(line in STYLES[bug.style].code for line in right["lines"])
    assert kinds["verdict"][0]["heading"].startswith(f"Property {bug.number} does not hold: ")
    assert [path for block in kinds["links"] for _, path in block["links"]][1] == f"https://github.com/{bug.thread}"
    head = int(diagnose(Settings(TEXTS[0]), 0, name).differences.argmax())
    assert [block["name"] for block in kinds["matrix"]] == [f"head {head}, broken", f"head {head}, right", "difference"]


@pytest.mark.parametrize(
    ("text", "words"), [("", "2 tokens, filled to 7"), ("a", "3 tokens, filled"), ("tree " * 400, "the first 7 of")]
)
def test_sentence_of_any_length_is_bounded(text: str, words: str) -> None:
    kinds = panels("bug view", text)
    assert words in kinds["text"][0]["text"]
    assert kinds["verdict"][0]["heading"].startswith("Property 6 does not hold")
    assert "reads tokens 0 (“[CLS]”), 1 (“" in kinds["verdict"][0]["reason"]


def test_pairs_fit_other_weights() -> None:
    x, code = sentence_vectors(Settings(TEXTS[0]), 0)[1][None], STYLES["Grouped"].code
    right, other = (build(layer, "Grouped").double().requires_grad_(False) for layer in (code, BUGS["bug pairs"].code))
    order = torch.arange(D_MODEL // N_HEADS).view(2, -1).T.flatten()  # halves -> neighbours
    for weight in (other.get_parameter("wq.weight"), other.get_parameter("wk.weight")):
        weight.copy_(weight.view(-1, len(order), D_MODEL)[:, order].flatten(0, 1))
    same_function(other(x)[0], right(x)[0])


def test_misspelt_bug_is_named(tmp_path: Path) -> None:
    lesson = (Path(__file__).parents[2] / "assets" / "lessons" / "20-bug-heads.toml").read_text("utf-8")
    (tmp_path / "90-mine.toml").write_text(lesson.replace("bug+join", "bug+joint"), "utf-8")
    (tmp_path / "91-mine-too.toml").write_text(lesson.replace("course =", "kourse ="), "utf-8")
    misspelt, key = read_folders((tmp_path,)).errors
    assert "90-mine.toml, line 34: there is no “bug joint”; there are bug view, bug join" in misspelt
    assert "“kourse”" in key
