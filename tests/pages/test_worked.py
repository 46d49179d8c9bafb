"""The worked examples: what the link keeps, what an edit does, and every number and sentence on the sheet."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch

from mha_core import IMPLEMENTATIONS
from mha_core.measure.by_hand import softmax_steps, weights_of
from pages.by_hand import examples
from pages.by_hand.workbook import SWITCHES, Workbook, changed, defaults
from pages.kit.draw.sheet import Block

DEFAULTS = defaults()
EXAMPLES = [examples.one_head, examples.two_sentences, examples.two_heads, examples.stacked]


def every(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        yield from every(block.get("blocks", []))


def matrix(blocks: Sequence[Block], name: str, nth: int = 0) -> Block:
    return [block for block in every(blocks) if block.get("name") == name and "cells" in block][nth]


def numbers(block: Block) -> list[list[float]]:
    return [[float(cell.replace("−", "-").replace("∞", "inf")) for cell in line] for line in block["cells"]]


def texts(blocks: Sequence[Block]) -> str:
    return " ".join(block["text"] for block in every(blocks) if block["kind"] == "text")


def given(**changes: Any) -> Workbook:
    matrices = {name: changes.pop(name) for name in list(changes) if name in DEFAULTS}
    queries, keys = changes.get("queries", ("how", "are", "you")), changes.get("keys", ("how", "are", "you"))
    return Workbook({**defaults(queries, keys), **matrices}, **changes)


# The worked example in print that these inputs are from: its weights in two digits, some cut instead of rounded.
PRINTED = ((0.38, 0.26, 0.35), (0.23, 0.48, 0.29), (0.38, 0.34, 0.28))


def test_the_printed_numbers() -> None:
    blocks = examples.one_head(given())
    assert matrix(blocks, "out")["cells"] == [["2.0630", "2.1630"], ["2.1523", "2.2523"], ["2.0020", "2.1020"]]
    weights = matrix(blocks, "weights")
    for line, printed in zip(numbers(weights), PRINTED, strict=True):
        assert line == pytest.approx(printed, abs=0.01)
    assert weights["sums"] == ["1.0000"] * 3
    assert matrix(blocks, "exp")["cells"][0] == ["1.6487", "1.1052", "1.4918"]
    assert matrix(blocks, "exp")["sums"][0] == "4.2457"


def test_exactly_two_cells_of_the_printed_table_are_cut() -> None:
    scores, x = (torch.tensor(DEFAULTS[name], dtype=torch.float64) for name in "sx")
    weights = softmax_steps(scores, x).weights.tolist()
    pairs = {(i, j): (weights[i][j], printed) for i, line in enumerate(PRINTED) for j, printed in enumerate(line)}
    assert [at for at, (weight, printed) in pairs.items() if printed != round(weight, 2)] == [(0, 0), (1, 0)]
    assert all(printed == math.floor(100 * weights[i][0]) / 100 for i, (printed, *_) in enumerate(PRINTED[:2]))


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_no_text_is_spoken_of_that_nobody_sees(name: str) -> None:
    said = json.dumps(examples.EXAMPLES[name].blocks(given()), ensure_ascii=False)
    assert "post" not in said


def test_scores_from_products() -> None:
    blocks = examples.one_head(given(products=True, divide=True, wk=((0, 1), (1, 0))))
    assert matrix(blocks, "scores")["cells"][0] == ["2.6400", "4.9400", "7.2400"]
    assert matrix(blocks, "scaled")["cells"][0][0] == f"{2.64 / math.sqrt(2):.4f}"


def test_a_mask_is_shown_and_empty_rows_are_told() -> None:
    mask = ((0, 0, 0), (1, 0, 1), (1, 1, 1))
    blocks = examples.one_head(given(a=mask))
    assert matrix(blocks, "masked")["cells"][1] == ["0.1000", "−∞", "0.3000"]
    assert matrix(blocks, "weights")["cells"][0] == ["0.0000"] * 3
    assert matrix(blocks, "weights")["sums"] == ["0.0000", "1.0000", "1.0000"]
    assert matrix(blocks, "out")["cells"][0] == ["0.0000"] * 2
    assert "Row 0 “how” may look at nobody" in texts(blocks)
    assert "Row 1 “are” may not look at itself" in texts(blocks)
    assert "Row 2" not in texts(blocks)


def test_overflow_is_avoided_and_told() -> None:
    blocks = examples.one_head(given(s=((1e6, -1e6, 0), (0, 0, 0), (1, 2, 3))))
    assert matrix(blocks, "exp")["formula"] == "exp(score − max)"
    assert matrix(blocks, "weights")["cells"][0] == ["1.0000", "0.0000", "0.0000"]
    assert "overflows in float32" in texts(blocks)
    assert "In 1 of 3 rows one weight is above 0.999" in texts(blocks)


# ---- the others


def test_two_sentences_of_different_length() -> None:
    blocks = examples.two_sentences(given(queries=("how", "are", "you"), keys=("you", "can")))
    assert numbers(matrix(blocks, "x")) == [[1.1, 1.2], [2.1, 2.2], [3.1, 3.2], [4.1, 4.2]]
    assert [len(line) for line in matrix(blocks, "weights")["cells"]] == [2, 2, 2]
    q, k = torch.tensor([[1.1, 1.2], [2.1, 2.2], [3.1, 3.2]]).double(), torch.tensor([[3.1, 3.2], [4.1, 4.2]]).double()
    expected = (q @ k.T).softmax(-1) @ k
    for shown, line in zip(numbers(matrix(blocks, "out")), expected.tolist(), strict=True):
        assert shown == pytest.approx(line, abs=1e-4)
    assert "itself" not in texts(blocks)


@pytest.mark.parametrize(("queries", "keys"), [((), ("you",)), (("you",), ()), ((), ())])
def test_without_words_the_page_asks_for_some(queries: tuple[str, ...], keys: tuple[str, ...]) -> None:
    (notice,) = examples.two_sentences(given(queries=queries, keys=keys))
    assert "at least one word" in notice["sentences"][0]


def test_words_that_repeat_and_words_that_are_long() -> None:
    mask = ((0, 0), (1, 1), (1, 1))
    long = "x" * 2000
    blocks = examples.two_sentences(given(queries=(long, "a", "a"), keys=("a", "a"), a2=mask))
    assert len(matrix(blocks, "x")["cells"]) == 2
    assert long[:30] not in texts(blocks)


@pytest.mark.parametrize(("divide", "small"), [(False, True), (True, False)])
def test_two_heads_equal_the_layer(divide: bool, small: bool) -> None:
    now = given(
        divide=divide, a4=((1, 0, 0), (1, 1, 0), (1, 1, 1)), wo=((1, 2, 3, 4), (0, 1, 0, 0), (0, 0, 1, 1), (1, 0, 0, 1))
    )
    now = changed(now, {"fill": "x4", "preset": "small"}) if small else now
    blocks = examples.two_heads(now)
    w = {name: [now[f"w{name}{head}"] for head in range(2)] for name in "qkv"}
    layer = IMPLEMENTATIONS["efficient"](4, 2, bias=False).double().load(weights_of(w["q"], w["k"], w["v"], now["wo"]))
    out, weights = layer(now["x4"], allow=now.allow("a4"), temperature=1.0 if divide else 1 / math.sqrt(2))
    assert weights is not None
    for line, expected in zip(numbers(matrix(blocks, "out")), out.tolist(), strict=True):
        assert line == pytest.approx(expected, rel=1e-6, abs=1e-4)
    for head in range(2):
        for line, expected in zip(numbers(matrix(blocks, "weights", head)), weights[head].tolist(), strict=True):
            assert line == pytest.approx(expected, abs=1e-4)
    said = texts(blocks)
    assert float(said.rsplit(" ", 1)[1].rstrip(".").replace("−", "-")) < 1e-9
    assert ("above 0.999" in said) is (not small)


def test_scores_are_told_to_be_chosen_while_they_are() -> None:
    assert "Chosen by hand" in matrix(examples.one_head(given()), "scores")["note"]
    assert matrix(examples.one_head(given(s=((1, 2, 3),) * 3)), "scores")["note"] == ""


def test_stacked_weights_are_one_product() -> None:
    blocks = examples.stacked(given())
    assert matrix(blocks, "product")["cells"] == [
        ["10", "100", "20", "200"],
        ["20", "200", "40", "400"],
        ["30", "300", "60", "600"],
    ]
    assert [matrix(blocks, f"head {head}")["cells"][0] for head in range(2)] == [["10", "100"], ["20", "200"]]
    assert "the two joined: 0." in texts(blocks)


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("value", [0.0, 1e6, -1e6, 1e-6])
def test_every_example_holds_at_its_ends(example: Any, value: float) -> None:
    matrices = {
        name: own if name in SWITCHES else tuple((value,) * len(line) for line in own) for name, own in DEFAULTS.items()
    }
    for now in (
        *(Workbook(matrices, divide=divide, products=not divide) for divide in (False, True)),
        Workbook({**DEFAULTS, "a": ((0,) * 3,) * 3, "a2": ((0,) * 3,) * 3, "a4": ((0,) * 3,) * 3}),
    ):
        blocks = example(now)
        json.dumps(blocks, allow_nan=False)
        shown = [cell for block in every(blocks) for line in block.get("cells", []) for cell in line]
        assert "—" not in shown
        assert "∞" not in shown
