"""Every rule against a dense mask written by hand, one cell at a time."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from mha_core import masks
from mha_core.errors import MaskError

Cell = Callable[[int, int], bool]
SIZES = [(1, 1), (1, 12), (12, 1), (2, 3), (5, 5), (5, 9), (9, 4), (12, 12)]


def dense(cell: Cell, len_q: int, len_k: int) -> Tensor:
    """The mask of a yes-or-no question about each cell."""
    return torch.tensor([[[[cell(i, j) for j in range(len_k)] for i in range(len_q)]]])


def check(rule: masks.Rule, cell: Cell, *about: object) -> None:
    for len_q, len_k in SIZES:
        made = masks.allow(rule, len_q, len_k)
        assert made.dtype == torch.bool
        assert torch.equal(made, dense(cell, len_q, len_k)), (*about, len_q, len_k)


NEAR, FIRST = masks.window(3), masks.sinks(1)
COMPOSED: dict[str, tuple[masks.Rule, Cell]] = {
    "nested": (
        masks.both(masks.causal, masks.either(FIRST, NEAR)), lambda i, j: j <= i and (j < 1 or abs(i - j) < 3),
    ),
    "inverted": (masks.invert(masks.either(NEAR, FIRST)), lambda i, j: not (abs(i - j) < 3 or j < 1)),
    "both of none": (masks.both(), lambda i, j: True),
    "either of none": (masks.either(), lambda i, j: False),
    "any function of i and j": (lambda i, j: (i + j) % 3 > 0, lambda i, j: (i + j) % 3 > 0),
    "of keys alone": (lambda i, j: j < 2, lambda i, j: j < 2),
}  # fmt: skip


def test_a_rule_is_its_cells() -> None:
    check(masks.full, lambda i, j: True)
    check(masks.causal, lambda i, j: j <= i)
    for n in (0, 1, 2, 3, 4, 7, 20):
        check(masks.prefix(n), lambda i, j, n=n: j <= i or j < n, "prefix", n)  # type: ignore[misc]
        check(masks.sinks(n), lambda i, j, n=n: j < n, "sinks", n)  # type: ignore[misc]
        if n:
            check(masks.window(n), lambda i, j, n=n: -n < i - j < n, "window", n)  # type: ignore[misc]
    for w, s in product((1, 2, 3), (1, 2, 3, 5)):
        check(masks.dilated(w, s), lambda i, j, w=w, s=s: abs(i - j) in range(0, w * s, s), w, s)  # type: ignore[misc]
    for name, (rule, cell) in COMPOSED.items():
        check(rule, cell, name)
    for starts in ((), (0,), (3,), (2, 5), (5, 2), (1, 2, 3), (20,)):
        check(
            masks.split(*starts),
            lambda i, j, starts=starts: sum(i >= s for s in starts) == sum(j >= s for s in starts),  # type: ignore[misc]
            starts,
        )


def test_documents_cells_and_padding() -> None:
    for n in (1, 5, 12):
        ids = [number * number // 7 for number in range(n)]
        expected = dense(lambda i, j, ids=ids: ids[i] == ids[j], n, n)  # type: ignore[misc]
        assert torch.equal(masks.allow(masks.documents(ids), n, n), expected)
        lengths = [n, max(1, n // 2), 1]
        keep = torch.tensor([[j < length for j in range(n)] for length in lengths])
        rows = [dense(lambda i, j, end=end: j <= i and j < end, n, n) for end in lengths]  # type: ignore[misc]
        assert torch.equal(masks.allow(masks.causal, n, n, keep), torch.cat(rows)), (
            "padding is forbidden to every query"
        )
    for len_q, len_k in SIZES:
        pairs = {(i, j) for i in range(len_q) for j in range(len_k) if (3 * i + 5 * j) % 4 == 0}
        made = masks.allow(masks.cells(pairs), len_q, len_k)
        assert torch.equal(made, dense(lambda i, j, pairs=pairs: (i, j) in pairs, len_q, len_k))  # type: ignore[misc]


WRITTEN: dict[str, Cell] = {
    "none": lambda i, j: True,
    "causal": lambda i, j: j <= i,
    "window:3": lambda i, j: abs(i - j) < 3,
    "prefix:2": lambda i, j: j <= i or j < 2,
    "sinks:1": lambda i, j: j < 1,
    "dilated:3:2": lambda i, j: abs(i - j) in (0, 2, 4),
    "causal & window:4": lambda i, j: j <= i and abs(i - j) < 4,
    "window:2|sinks:1": lambda i, j: abs(i - j) < 2 or j < 1,
    "sinks:2 | causal & window:2": lambda i, j: (j <= i and abs(i - j) < 2) or j < 2,
    "!causal": lambda i, j: j > i,
    " ! causal | sinks:1": lambda i, j: j > i or j < 1,
    "unseen:4": lambda i, j: j != 4 or i == j,
    "unseen:0:40:3 & causal": lambda i, j: j <= i and (j not in (0, 3, 40) or i == j),
    "documents:2:5 & causal": lambda i, j: j <= i and sum(i >= s for s in (2, 5)) == sum(j >= s for s in (2, 5)),
    "window:999999999": lambda i, j: True,  # the largest numbers do not overflow
    "dilated:999999999:999999999": lambda i, j: i == j,
}


def test_written_form() -> None:
    for text, cell in WRITTEN.items():
        check(masks.parse(text), cell, text)


WRONG = """/ /&/causal |/| causal/full/Causal/window/window:/window:3:4/window:x/window:-1/window:1.5/window:1e3/\
window:0/dilated:3/dilated:0:2/dilated:2:0/prefix/sinks:-1/none:1/causal:/!/!!causal/causal !sinks:1/documents/\
documents:x/!none:1/causal and window:3/window:1234567890/(causal)/window:²"""


@pytest.mark.parametrize("text", WRONG.split("/"))
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


def test_numbers_that_do_not_fit_raise() -> None:
    makers: list[tuple[Callable[[Any], masks.Rule], int]] = [
        (masks.window, 1), (lambda n: masks.dilated(n, 1), 1), (lambda n: masks.dilated(1, n), 1),
        (masks.prefix, 0), (masks.sinks, 0),
    ]  # fmt: skip
    for make, least in makers:
        for number in (0, -1, 1.5):
            if number != least:
                with pytest.raises(MaskError, match=rf"{number}.*at least {least}"):
                    make(number)
    with pytest.raises(MaskError, match=r"\(3,\) for 4 queries and 4 keys"):
        masks.allow(masks.documents([0, 0, 1]), 4, 4)
    for i, j in ((3, 0), (0, -1)):
        with pytest.raises(MaskError, match=rf"\({i}, {j}\) lies outside 3 queries × 4 keys"):
            masks.allow(masks.cells([(0, 0), (i, j)]), 3, 4)


def test_a_rule_or_padding_that_gives_no_mask_raises() -> None:
    rules: list[tuple[Any, str]] = [
        (lambda i, j: i + j, r"int64"),
        (lambda i, j: torch.ones(5, 5).bool(), r"\(5, 5\) for 3 queries × 4 keys"),
    ]
    for rule, message in rules:
        with pytest.raises(MaskError, match=message):
            masks.allow(rule, 3, 4)
    for keep in (torch.ones(2, 4), torch.ones(2, 3).bool(), torch.ones(4).bool()):
        with pytest.raises(MaskError, match=r"keep must be bool \(batch, 4\)"):
            masks.allow(masks.full, 3, 4, keep)


def test_four_axes_of_every_allowed_shape_and_of_no_other() -> None:
    allowed: list[tuple[int, ...]] = [(4, 5), (3, 4, 5), (1, 1, 4, 5), (2, 1, 4, 5), (1, 3, 4, 5), (2, 3, 4, 5)]
    for shape in allowed:
        mask = torch.rand(shape) < 0.5
        checked = masks.to_four_axes(mask, 2, 3, 4, 5)
        assert checked.dim() == 4
        assert torch.equal(checked.expand(2, 3, 4, 5), mask.expand(2, 3, 4, 5))
    for shape in ((5, 4), (4,), (2, 4, 5), (1, 1), (3, 1, 4, 5), (1, 2, 3, 4, 5)):
        with pytest.raises(MaskError, match=r"\(4, 5\), \(3, 4, 5\) and \(2\|1, 3\|1, 4, 5\)"):
            masks.to_four_axes(torch.ones(shape).bool(), 2, 3, 4, 5)
    wrong: list[Any] = [torch.zeros(4, 5), [[True]], None]
    for mask in wrong:
        with pytest.raises(MaskError, match=r"allow must be a bool tensor"):
            masks.to_four_axes(mask, 2, 3, 4, 5)
