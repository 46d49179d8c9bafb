"""The paper's formulas as data: MathML's elements alone, the sizes of what is computed, texts as text."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from mha_core.positions.added import sinusoids
from pages.kit.draw import paper
from pages.kit.draw.web import FOLDER
from pages.scaled_dot import parts
from pages.scaled_dot.case import CASES, Case

from .conftest import every

# How many children an element of MathML takes; None = any number.
CHILDREN = {"mfrac": 2, "msup": 2, "msub": 2, "munder": 2, "msubsup": 3, "msqrt": 1, "mrow": None}
AXES = set("bhijdcv")


def nodes(node: Any) -> list[Any]:
    tag, axis, *children = node
    inner = [one for child in children if isinstance(child, list) for one in nodes(child)]
    return [(tag, axis, children), *inner]


def text(node: Any) -> str:
    return "".join(text(child) if isinstance(child, list) else child for child in node[2:])


FORMULAS = [
    paper.attention(3, 5, 6, 4, (2,)),
    paper.multi_head(3, 2, 4),
    paper.multi_head(3, 1, 6),
    paper.multi_head(10, 12, 384),
    paper.sinusoids(2, 1, 6, (0.5, -0.25)),
]


@pytest.mark.parametrize("block", FORMULAS)
def test_every_element_is_one_that_the_browser_builds(block: Any) -> None:
    written = (FOLDER / "sheets" / "equation.js").read_text("utf-8")
    (listed,) = re.findall(r'new Set\("([a-z ]+)"', written)
    for line in block["lines"]:
        for tag, axis, children in nodes(line):
            assert tag in listed.split()
            assert axis in AXES | {""}
            wanted = CHILDREN.get(tag, 1)
            assert wanted is None or len(children) == wanted, (tag, children)
            if tag in ("mi", "mn", "mo", "mtext"):
                assert isinstance(children[0], str)


def test_attention_has_the_sizes_of_the_call_in_the_colours_of_their_axes() -> None:
    (line,) = paper.attention(3, 5, 6, 4)["lines"]
    sizes = [axis + children[0] for tag, axis, children in nodes(line) if tag == "mn"]
    assert sizes == ["i3", "c4", "i3", "d6", "d6", "j5", "d6", "j5", "c4"]
    assert text(line).startswith("Attention(Q,K,V)3×4=softmax(")
    (other,) = paper.attention(30, 5, 6, 4)["lines"]
    assert text(other) != text(line)


def test_heads_are_counted_and_their_width_follows() -> None:
    assert "head1,…,head12" in text(paper.multi_head(10, 12, 384)["lines"][0])
    assert "384×32" in text(paper.multi_head(10, 12, 384)["lines"][1])
    other = [text(line) for line in paper.multi_head(10, 12, 384, 5)["lines"]]
    assert "10×60" in other[0]
    assert "WO60×384" in other[0]
    assert "WhV384×5" in other[1]
    assert "head1,head2)" in text(paper.multi_head(3, 2, 4)["lines"][0])


def test_the_encoding_that_is_worked_out_is_the_one_of_the_core() -> None:
    (panel,) = [parts.formulas(Case((3, 8)))]
    lines = [text(line) for block in every([panel]) if block["kind"] == "equation" for line in block["lines"]]
    waves = sinusoids(3, 8)[2, :2].tolist()
    found = [float(line.rsplit("=", 1)[1].replace("−", "-")) for line in lines if re.search(r"=[−\d.]+$", line)]
    assert found == pytest.approx([math.sin(2), math.cos(2)], abs=1e-6)
    assert found == pytest.approx(waves, abs=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_every_case_has_its_formulas(name: str) -> None:
    panel = parts.formulas(CASES[name])
    assert [block["name"] for block in every([panel]) if block["kind"] == "equation"][:2] == [
        "Scaled dot-product attention",
        "Multi-head attention",
    ]


def test_an_odd_width_has_no_pairs() -> None:
    panel = parts.formulas(Case((3, 7)))
    assert any("is odd" in block.get("text", "") for block in every([panel]))


def test_a_formula_holds_no_markup() -> None:
    assert paper.name("<b>") == ["mi", "", "<b>"]
    assert "innerHTML" not in Path(FOLDER / "sheets" / "equation.js").read_text("utf-8")
