"""Every rule against a dense mask written by hand, one cell at a time."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from mha_core import masks
from mha_core.errors import MaskError

Cell = Callable[[int, int], bool]
SIZES = range(1, 13)


def dense(cell: Cell, len_q: int, len_k: int) -> Tensor:
    """The mask of a yes-or-no question about each cell."""
    return torch.tensor([[[[cell(i, j) for j in range(len_k)] for i in range(len_q)]]])


def agree(rule: masks.Rule, cell: Cell) -> None:
    for len_q in SIZES:
        for len_k in SIZES:
            made = masks.allow(rule, len_q, len_k)
            assert made.dtype == torch.bool
            assert torch.equal(made, dense(cell, len_q, len_k)), (len_q, len_k)


NEAR, FIRST = masks.window(3), masks.sinks(1)
RULES: list[tuple[masks.Rule, Cell]] = [
    (masks.full, lambda i, j: True),
    (masks.causal, lambda i, j: j <= i),
    *((masks.window(w), lambda i, j, w=w: -w < i - j < w) for w in (1, 2, 3, 7, 20)),
    *((masks.prefix(n), lambda i, j, n=n: j <= i or j < n) for n in (0, 1, 4, 20)),
    *((masks.sinks(n), lambda i, j, n=n: j < n) for n in (0, 1, 4, 20)),
    *((masks.dilated(w, s), lambda i, j, w=w, s=s: any(abs(i - j) == step * s for step in range(w)))
      for w in (1, 2, 3) for s in (1, 2, 3, 5)),
    (masks.both(masks.causal, NEAR), lambda i, j: j <= i and abs(i - j) < 3),
    (masks.either(NEAR, FIRST), lambda i, j: abs(i - j) < 3 or j < 1),
    (masks.invert(masks.causal), lambda i, j: j > i),
    (masks.both(masks.causal, masks.either(FIRST, NEAR)), lambda i, j: j <= i and (j < 1 or abs(i - j) < 3)),
    (masks.invert(masks.either(NEAR, FIRST)), lambda i, j: not (abs(i - j) < 3 or j < 1)),
    (masks.both(), lambda i, j: True),
    (masks.either(), lambda i, j: False),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "cell"), RULES)
def test_a_rule_is_its_cells(rule: masks.Rule, cell: Cell) -> None:
    agree(rule, cell)


@pytest.mark.parametrize("w", [1, 2, 4, 12])
def test_window_and_causal_leaves_w_keys(w: int) -> None:
    """At most w keys a row, and exactly w from row w − 1 on."""
    for n in SIZES:
        keys = masks.allow(masks.both(masks.causal, masks.window(w)), n, n).sum(dim=-1).flatten().tolist()
        assert keys == [min(row + 1, w) for row in range(n)]


def test_documents() -> None:
    for n in SIZES:
        ids = [number * number // 7 for number in range(n)]
        expected = dense(lambda i, j, ids=ids: ids[i] == ids[j], n, n)  # type: ignore[misc]
        assert torch.equal(masks.allow(masks.documents(ids), n, n), expected)
        assert torch.equal(masks.allow(masks.documents(torch.tensor(ids)), n, n), expected)


@pytest.mark.parametrize("starts", [(), (0,), (3,), (2, 5), (5, 2), (1, 2, 3), (20,)])
def test_split(starts: tuple[int, ...]) -> None:
    def document(at: int) -> int:
        return sum(at >= start for start in starts)

    agree(masks.split(*starts), lambda i, j: document(i) == document(j))


def test_cells() -> None:
    for len_q in SIZES:
        for len_k in SIZES:
            pairs = {(i, j) for i in range(len_q) for j in range(len_k) if (3 * i + 5 * j) % 4 == 0}
            made = masks.allow(masks.cells(pairs), len_q, len_k)
            assert torch.equal(made, dense(lambda i, j, pairs=pairs: (i, j) in pairs, len_q, len_k))  # type: ignore[misc]
    assert not masks.allow(masks.cells([]), 3, 4).any()


def test_keep_forbids_padding_to_every_query() -> None:
    for n in SIZES:
        lengths = [n, max(1, n // 2), 1]
        keep = torch.tensor([[j < length for j in range(n)] for length in lengths])
        made = masks.allow(masks.causal, n, n, keep)
        expected = [dense(lambda i, j, end=end: j <= i and j < end, n, n) for end in lengths]  # type: ignore[misc]
        assert torch.equal(made, torch.cat(expected))


WRITTEN: dict[str, Cell] = {
    "none": lambda i, j: True,
    "causal": lambda i, j: j <= i,
    "window:3": lambda i, j: abs(i - j) < 3,
    "prefix:2": lambda i, j: j <= i or j < 2,
    "prefix:0": lambda i, j: j <= i,
    "sinks:1": lambda i, j: j < 1,
    "dilated:3:2": lambda i, j: abs(i - j) in (0, 2, 4),
    "causal & window:4": lambda i, j: j <= i and abs(i - j) < 4,
    "window:2|sinks:1": lambda i, j: abs(i - j) < 2 or j < 1,
    " causal&window:2 | sinks:2 ": lambda i, j: (j <= i and abs(i - j) < 2) or j < 2,
    "sinks:2 | causal & window:2": lambda i, j: (j <= i and abs(i - j) < 2) or j < 2,
    "!causal": lambda i, j: j > i,
    "causal & !window:2": lambda i, j: j <= i and abs(i - j) >= 2,
    " ! causal | sinks:1": lambda i, j: j > i or j < 1,
    "unseen:4": lambda i, j: j != 4 or i == j,
    "unseen:0:40:3 & causal": lambda i, j: j <= i and (j not in (0, 3, 40) or i == j),
    "documents:4": lambda i, j: (i < 4) == (j < 4),
    "documents:2:5 & causal": lambda i, j: j <= i and sum(i >= s for s in (2, 5)) == sum(j >= s for s in (2, 5)),
    "causal & none & dilated:2:3": lambda i, j: j <= i and abs(i - j) in (0, 3),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_written_form(text: str) -> None:
    agree(masks.parse(text), WRITTEN[text])


@pytest.mark.parametrize(
    "text",
    ["", " ", "&", "causal |", "| causal", "full", "Causal", "window", "window:", "window:3:4", "window:x", "window:-1",
     "window:1.5", "window:1e3", "window:0", "dilated:3", "dilated:0:2", "dilated:2:0", "prefix", "sinks:-1", "none:1",
     "causal:", "!", "!!causal", "causal !sinks:1", "documents", "documents:x", "!none:1", "causal and window:3",
     "window:1234567890", "(causal)", "window:²"],
)  # fmt: skip
def test_a_wrong_written_form_raises(text: str) -> None:
    with pytest.raises(MaskError, match=r"mask '"):
        masks.parse(text)


@given(st.text(alphabet="causlwindoprefxktem:0123456789&|! \0²", max_size=24))
def test_any_text_is_a_rule_or_a_mask_error(text: str) -> None:
    try:
        rule = masks.parse(text)
    except MaskError:
        return
    assert masks.allow(rule, 3, 4).shape == (1, 1, 3, 4)


def test_the_largest_numbers_do_not_overflow() -> None:
    assert masks.allow(masks.parse("window:999999999"), 3, 3).all()
    assert torch.equal(masks.allow(masks.parse("dilated:999999999:999999999"), 3, 3)[0, 0], torch.eye(3).bool())


WIDTHS: list[Callable[[Any], masks.Rule]] = [
    masks.window, lambda n: masks.dilated(n, 1), lambda n: masks.dilated(1, n),
]  # fmt: skip


@pytest.mark.parametrize("number", [0, -1, 1.5])
@pytest.mark.parametrize(("make", "least"), [*((make, 1) for make in WIDTHS), (masks.prefix, 0), (masks.sinks, 0)])
def test_numbers_are_whole_and_not_too_small(make: Callable[[Any], masks.Rule], least: int, number: float) -> None:
    if number == least:
        make(number)
    else:
        with pytest.raises(MaskError, match=rf"{number}.*at least {least}"):
            make(number)


def test_documents_of_another_length_raise() -> None:
    with pytest.raises(MaskError, match=r"\(3,\) for 4 queries and 4 keys"):
        masks.allow(masks.documents([0, 0, 1]), 4, 4)
    with pytest.raises(MaskError, match="3 queries and 4 keys"):
        masks.allow(masks.documents([0, 0, 1]), 3, 4)


@pytest.mark.parametrize("cell", [(3, 0), (0, 4), (-1, 0), (0, -1)])
def test_cells_outside_raise(cell: tuple[int, int]) -> None:
    with pytest.raises(MaskError, match=rf"\({cell[0]}, {cell[1]}\) lies outside 3 queries × 4 keys"):
        masks.allow(masks.cells([(0, 0), cell]), 3, 4)


def test_a_rule_may_be_any_function_that_broadcasts() -> None:
    assert torch.equal(masks.allow(lambda i, j: j < 2, 3, 4), dense(lambda i, j: j < 2, 3, 4))
    assert torch.equal(masks.allow(lambda i, j: i < 2, 3, 4), dense(lambda i, j: i < 2, 3, 4))


def test_a_rule_that_gives_no_mask_raises() -> None:
    with pytest.raises(MaskError, match=r"int64"):
        masks.allow(lambda i, j: i + j, 3, 4)
    with pytest.raises(MaskError, match=r"bool"):
        masks.allow(lambda i, j: True, 3, 4)  # type: ignore[arg-type, return-value]
    with pytest.raises(MaskError, match=r"\(5, 5\) for 3 queries × 4 keys"):
        masks.allow(lambda i, j: torch.ones(5, 5).bool(), 3, 4)
    with pytest.raises(MaskError, match=r"\(2, 3, 4\)"):
        masks.allow(lambda i, j: torch.ones(2, 3, 4).bool(), 3, 4)


@pytest.mark.parametrize("keep", [torch.ones(2, 4), torch.ones(2, 3).bool(), torch.ones(4).bool()])
def test_a_keep_that_does_not_fit_raises(keep: Tensor) -> None:
    with pytest.raises(MaskError, match=r"keep must be bool \(batch, 4\)"):
        masks.allow(masks.full, 3, 4, keep)


def test_the_mask_is_made_where_asked() -> None:
    assert masks.allow(masks.causal, 2, 2).device.type == "cpu"
    assert masks.allow(masks.either(masks.causal, masks.window(2)), 2, 2, device="meta").device.type == "meta"
    assert masks.allow(masks.full, 2, 2, torch.ones(1, 2, dtype=torch.bool, device="meta")).device.type == "meta"


ACCEPTED = [(4, 5), (3, 4, 5), (1, 1, 4, 5), (2, 1, 4, 5), (1, 3, 4, 5), (2, 3, 4, 5)]
REFUSED = [(5, 4), (4,), (2, 4, 5), (1, 4, 5), (4, 1), (1, 1), (3, 1, 4, 5), (1, 2, 4, 5), (2, 3, 4, 4),
           (1, 2, 3, 4, 5)]  # fmt: skip


@pytest.mark.parametrize("shape", ACCEPTED)
def test_check_brings_every_allowed_shape_to_four_axes(shape: tuple[int, ...]) -> None:
    mask = torch.rand(shape) < 0.5
    checked = masks.four_axes(mask, 2, 3, 4, 5)
    assert checked.dim() == 4
    assert torch.equal(checked.expand(2, 3, 4, 5), mask.expand(2, 3, 4, 5))


@pytest.mark.parametrize("shape", REFUSED)
def test_check_refuses_any_other_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(MaskError, match=r"\(4, 5\), \(3, 4, 5\) and \(2\|1, 3\|1, 4, 5\)"):
        masks.four_axes(torch.ones(shape).bool(), 2, 3, 4, 5)


@pytest.mark.parametrize("mask", [torch.zeros(4, 5), torch.zeros(4, 5, dtype=torch.uint8), [[True]], None, "causal"])
def test_check_refuses_what_is_not_bool(mask: object) -> None:
    with pytest.raises(MaskError, match=r"allow must be a bool tensor"):
        masks.four_axes(mask, 2, 3, 4, 5)  # type: ignore[arg-type]
