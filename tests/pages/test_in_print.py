"""Every printed number stands on the page beside the computed one, and what is said of them is so."""

from __future__ import annotations

import math

import torch

from headlight.ui.sheet import Block
from mha_core import attention
from pages.by_hand import in_print
from pages.by_hand.examples import EXAMPLES, IDS
from pages.by_hand.in_print import PRINTED, PrintedRows, of
from pages.by_hand.workbook import defaults
from tests.closeness import identical, same_function

from .conftest import app_at, blocks


def the(example: str, name: str) -> PrintedRows:
    return next(one for one in of(example) if one.name == name)


def shown(example: str) -> list[Block]:
    return blocks(app_at("by_hand", ex=example).run(), "in_print")


def test_every_printed_number_is_on_the_page_beside_the_computed_one() -> None:
    assert {one.example for one in PRINTED} <= set(EXAMPLES)
    assert len({(one.example, one.name) for one in PRINTED}) == len(PRINTED)
    assert in_print.panel("two sentences") == []
    assert [line[0] for line in the("one head", "ids").values] == list(IDS)
    for example in {one.example for one in PRINTED}:
        matrices = {block["name"]: block for block in shown(example) if "cells" in block}
        for one in of(example):
            wanted = [[f"{cell:.{one.decimals}f}" for cell in line] for line in one.values]
            assert matrices[f"{one.name}, in print"]["cells"] == wanted
            assert len(matrices[f"{one.name}, computed"]["cells"]) == len(wanted)


def test_what_is_computed_is_attention_of_the_inputs_as_given() -> None:
    made = {key: torch.tensor(matrix, dtype=torch.float64) for key, matrix in defaults().items()}
    # scores that are given are q kᵀ / √d for q = scores · √d and k = the identity
    one = in_print.computed("one head")
    mixed, weights = attention(made["s"] * math.sqrt(3), torch.eye(3, dtype=torch.float64), made["x"])
    same_function(one["weights"], weights)
    same_function(one["out"], mixed)
    two = in_print.computed("two heads")
    for head in range(2):
        own = made["x4"][:, 2 * head : 2 * head + 2]
        mixed, _ = attention(own * math.sqrt(2), own)
        same_function(two[f"mixed of head {head}"], mixed)
        identical(two[f"q, k, v of head {head}"], own)
    stacked = in_print.computed("stacked weights")
    same_function(stacked["x Wᵀ"], torch.nn.functional.linear(made["x4"], stacked["W"]))


def test_the_reasons_why_cells_differ() -> None:
    cut = in_print.reason(the("one head", "weights"))
    assert cut.startswith("2 of 9 cells differ: their further digits are cut off")
    assert "0.38833 stands as 0.38, 0.23612 stands as 0.23" in cut
    out = in_print.reason(the("one head", "out"))
    assert "sums to 0.99" in out
    first = (0.38 * 1.1 + 0.26 * 2.1 + 0.35 * 3.1, 0.38 * 1.2 + 0.26 * 2.2 + 0.35 * 3.2)
    assert out.endswith(f"would be {first[0]:.4f} {first[1]:.4f}.")
    assert "4000 in print, 3000 computed" in in_print.reason(the("two heads", "q, k, v of head 1"))
    for head, (added, out) in enumerate((("0.1", "3 30"), ("0.2", "300 3000"))):
        said = in_print.reason(the("two heads", f"mixed of head {head}"))
        assert f"{added} is added" in said
        assert f"on “you” in every row: all become its value, {out}." in said
