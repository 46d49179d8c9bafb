"""Painted masks as text: there and back, one spelling, and nothing else is taken for one."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from mha_core import masks
from mha_core.show.cells import DIGITS, write_cells
from pages.kit.picture import mask_codec
from pages.kit.picture.limits import LONGEST_PAINTED, MOST_PAINTED
from pages.kit.picture.rules import per_head_windows

HEADS = 12
sizes = st.integers(1, MOST_PAINTED)


@st.composite
def cells(draw: st.DrawFn, size: int) -> Tensor:
    """Cells of any look: few, many, runs, a pattern."""
    kind = draw(st.sampled_from(["few", "noise", "runs", "pattern"]))
    if kind == "few":
        chosen = torch.zeros(size, dtype=torch.bool)
        chosen[draw(st.lists(st.integers(0, size - 1), max_size=8))] = True
        return chosen
    if kind == "runs":
        edges = torch.zeros(size, dtype=torch.int)
        edges[draw(st.lists(st.integers(0, size - 1), max_size=12))] = 1
        return edges.cumsum(0) % 2 == 1
    if kind == "pattern":
        return torch.arange(size) % draw(st.integers(1, 7)) == 0
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**20)))
    return torch.rand(size, generator=generator) < draw(st.sampled_from([0.02, 0.5, 0.98]))


@given(st.data(), st.integers(1, 3000))
def test_cells_there_and_back(data: st.DataObject, size: int) -> None:
    own = data.draw(cells(size))
    text = write_cells(own)
    back = mask_codec.read_cells(text, size)
    assert back is not None
    assert torch.equal(back, own)
    assert (text == "") == (not own.any())
    assert len(text) <= 1 + -(-size // 6)


@given(st.data(), sizes)
def test_flips_there_and_back(data: st.DataObject, n: int) -> None:
    everyone = data.draw(cells(n * n)).view(n, n)
    flips = everyone.repeat(HEADS, 1, 1)
    for head in data.draw(st.sets(st.integers(0, HEADS - 1), max_size=2)):
        flips[head] ^= data.draw(cells(n * n)).view(n, n)
    text = mask_codec.write_flips(flips)
    if len(text) > LONGEST_PAINTED:
        assert mask_codec.read_flips(text, HEADS) is None
        return
    assert mask_codec.usable(text, HEADS) == text, "there is one spelling"
    if not text:
        assert not flips.any()
        return
    back = mask_codec.read_flips(text, HEADS)
    assert back is not None
    assert torch.equal(back, flips)
    assert mask_codec.tokens_of(text) == n
    assert mask_codec.per_head(text) == (not bool((flips == flips[0]).all()))


@given(st.text(max_size=30) | st.text("0123456789.rbABCxyz-_g", max_size=30))
def test_any_text_is_a_painting_or_none(text: str) -> None:
    usable = mask_codec.usable(text, HEADS)
    if usable is not None:
        assert mask_codec.usable(usable, HEADS) == usable
        assert (
            usable == ""
            or mask_codec.allowed("causal", usable, mask_codec.tokens_of(usable), HEADS).dtype == torch.bool
        )


NO_PAINTINGS = [
    "6", "6.", ".rB", "6.x", "6.r", "6.b", "6.rB.", "6.rB.rB", "6.3rB.rB", "6.3rB.3rB", "6.5rB.3rB", "6.12rB", "0.rB",
    "65.rB", "6.rB B", "6.rB!", "6.rBA", "6.rkB", "6.rg", "6.rgA", "6.rgggggB", "6.bAAAAAAA", "5.bAAAAAB", "6.r²",
    "x.rB", "-6.rB", "6.rB\n", f"6.r{'B' * LONGEST_PAINTED}",
]  # fmt: skip


def test_what_is_no_painting() -> None:
    assert [text for text in NO_PAINTINGS if mask_codec.usable(text, HEADS) is not None] == []
    assert [text for text in NO_PAINTINGS if mask_codec.read_flips(text, HEADS) is not None] == []


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_painted_cells_turn_the_rule_round(n: int) -> None:
    generator = torch.Generator().manual_seed(n)
    by_head = torch.rand(3, n, n, generator=generator) < 0.3
    for flips in (by_head, by_head[:1].repeat(3, 1, 1)):
        text = mask_codec.write_flips(flips)
        allow = mask_codec.allowed("causal", text, n, 3)
        assert allow.shape == ((3, n, n) if mask_codec.per_head(text) else (n, n))
        forbidden = mask_codec.forbidden("causal", text, n, 3)
        for head in range(3):
            dense = [[(j <= i) != bool(flips[head, i, j]) for j in range(n)] for i in range(n)]
            assert mask_codec.of_head(allow, head).tolist() == dense
            back = mask_codec.read_cells(forbidden[head if len(forbidden) > 1 else 0], n * n)
            assert back is not None
            assert (~back).view(n, n).tolist() == dense


def test_a_painting_of_another_length_is_left_out() -> None:
    assert torch.equal(mask_codec.allowed("causal", "6.rB", 5, HEADS), masks.allow(masks.causal, 5, 5)[0, 0])


def test_windows_for_each_head() -> None:
    flips = per_head_windows(9, HEADS)
    text = mask_codec.write_flips(flips)
    assert len(text) <= LONGEST_PAINTED
    for head, allow in enumerate(mask_codec.allowed("none", text, 9, HEADS)):
        assert torch.equal(allow, masks.allow(masks.window(head + 1), 9, 9)[0, 0])


def test_bits_are_written_from_the_first_cell_on() -> None:
    """ "b" and six cells a character, the first one worth 32: base64 counts A 0, B 1, g 32, h 33, i 34."""
    cells = torch.tensor([True, False, False, False, False, True, True, False, True, False, True, False])
    assert "b" + DIGITS[0b100001] + DIGITS[0b101010] == "bhq"
    read = mask_codec.read_cells("bhq", 12)
    assert read is not None
    assert torch.equal(read, cells)
