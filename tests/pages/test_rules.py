"""Masks as text: rules in written form and their gallery for any sentence; painted cells, there and back."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from headlight.link import mask_codec, rules
from headlight.link.limits import MAX_PAINTED, MAX_PAINTED_LENGTH, MAX_RULE_LENGTH
from mha_core import masks
from mha_core.show.cells import write_cells

HEADS = 12
PARTS = ["none", "causal", "window:1", "window:3", "prefix:2", "prefix:0", "sinks:1", "dilated:2:2", "documents:2:5"]
parts = st.tuples(st.sampled_from(["", "!", "! "]), st.sampled_from(PARTS)).map("".join)
terms = st.lists(parts, min_size=1, max_size=3).map(" & ".join)
written = st.lists(terms, min_size=1, max_size=3).map("|".join)


def dense(rule: str, n: int = 8) -> Tensor:
    return masks.allow(masks.parse(rule), n, n)[0, 0]


def cells_of(text: str, size: int) -> Tensor:
    found = mask_codec.read_cells(text, size)
    assert found is not None
    return found


@given(written, st.sampled_from(rules.JOINS), written)
def test_usual_spelling_means_the_same_and_joined_rules_are_joined_masks(rule: str, join: str, other: str) -> None:
    if rules.is_usable(rule):
        plain = rules.normalize(rule)
        assert torch.equal(dense(plain), dense(rule))
        assert rules.normalize(plain) == plain
        assert rules.is_usable(plain)
    made = rules.join_rules(rule, join, other)
    if made is not None:
        right = ~dense(other) if join.endswith("not") else dense(other)
        assert torch.equal(dense(made), dense(rule) | right if join.startswith("or") else dense(rule) & right)
        assert len(made) <= MAX_RULE_LENGTH


def test_spellings_controls_and_what_is_no_rule() -> None:
    spellings = {
        " causal&window:3 ": "causal & window:3", "none & causal": "causal", "none | causal": "none",
        "!none | causal": "causal", "!none": "!none", "causal & !causal": "!none",
        "! window:2 | ! window:2": "!window:2", "window:03": "window:3",
    }  # fmt: skip
    assert {rule: rules.normalize(rule) for rule in spellings} == spellings
    texts = ["", "full", "causal and window:3", "window:1234", "(causal)", "!", "!!causal", "x" * 300]
    assert [text for text in texts if rules.is_usable(text)] == []
    many = "|".join(f"sinks:{n} & prefix:{n} & window:{n}" for n in range(1, 8))
    assert rules.join_rules("causal", "or not", many[:MAX_RULE_LENGTH].rpartition("|")[0]) is None
    assert rules.to_controls("none") == {"mask": "none"}
    assert rules.to_controls("dilated:3:2") == {"mask": "dilated", "w": 3, "gap": 2}
    for rule in ("documents:3", "sinks:2 & causal", "window:513"):
        assert rules.to_controls(rule) == {"mask": "combination", "rule": rule}


def test_gallery_draws_each_rule_for_the_sentence() -> None:
    for n, rule in (
        (2, "none"), (3, "window:1"), (6, "causal & window:4"), (15, "dilated:2:3"), (64, "sinks:3 | causal"),
        (65, "none"), (200, "window:1"),
    ):  # fmt: skip
        cards = rules.gallery(["[CLS]", *["it"] * (n - 2), "[SEP]"], HEADS, 4, rule, "causal", "")
        assert [card["name"] for card in cards][:2] == ["no mask", "causal"]
        for card in cards:
            allow = mask_codec.head_mask(mask_codec.allow_mask(card["rule"], card["painted"], n, HEADS), 4)
            assert torch.equal(~cells_of(card["cells"], n * n).view(n, n), allow)
            assert len(card["painted"]) <= MAX_PAINTED_LENGTH
            assert rules.is_usable(card["rule"])
        if rule in ("window:1", "dilated:2:3"):
            assert rule in [card["rule"] for card in cards], "a card takes the numbers in use over"
    text = mask_codec.write_flips(rules.per_head_windows(9, HEADS))
    for head, allow in enumerate(mask_codec.allow_mask("none", text, 9, HEADS)):
        assert torch.equal(allow, masks.allow(masks.window(head + 1), 9, 9)[0, 0]), "a window for each head"


def test_documents_are_cut_behind_stops() -> None:
    for text, starts in {
        "[CLS] how are you ? fine . [SEP]": [5],
        "[CLS] no ! ! yes . why ? it [SEP]": [4, 6, 8],
        "[CLS] it [SEP]": [1],
    }.items():
        assert rules.document_starts(text.split()) == starts
        assert rules.is_usable(f"documents:{':'.join(map(str, starts))}")


# ---- painted cells: one spelling, and nothing else is taken for one


@st.composite
def cells(draw: st.DrawFn, size: int) -> Tensor:
    """Cells of any look: few, many, runs."""
    kind = draw(st.sampled_from(["few", "noise", "runs"]))
    if kind == "few":
        chosen = torch.zeros(size, dtype=torch.bool)
        chosen[draw(st.lists(st.integers(0, size - 1), max_size=8))] = True
        return chosen
    if kind == "runs":
        edges = torch.zeros(size, dtype=torch.int)
        edges[draw(st.lists(st.integers(0, size - 1), max_size=12))] = 1
        return edges.cumsum(0) % 2 == 1
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**20)))
    return torch.rand(size, generator=generator) < draw(st.sampled_from([0.02, 0.5, 0.98]))


@given(st.data(), st.integers(1, 3000))
def test_cells_there_and_back(data: st.DataObject, size: int) -> None:
    own = data.draw(cells(size))
    text = write_cells(own)
    assert torch.equal(cells_of(text, size), own)
    assert (text == "") == (not own.any())
    assert len(text) <= 1 + -(-size // 6)


@given(st.data(), st.integers(1, MAX_PAINTED))
def test_flips_there_and_back(data: st.DataObject, n: int) -> None:
    flips = data.draw(cells(n * n)).view(n, n).repeat(HEADS, 1, 1)
    for head in data.draw(st.sets(st.integers(0, HEADS - 1), max_size=2)):
        flips[head] ^= data.draw(cells(n * n)).view(n, n)
    text = mask_codec.write_flips(flips)
    if len(text) > MAX_PAINTED_LENGTH:
        assert mask_codec.read_flips(text, HEADS) is None
        return
    assert mask_codec.normalize(text, HEADS) == text, "there is one spelling"
    if not text:
        assert not flips.any()
        return
    back = mask_codec.read_flips(text, HEADS)
    assert back is not None
    assert torch.equal(back, flips)
    assert (mask_codec.token_count(text), mask_codec.is_per_head(text)) == (n, not bool((flips == flips[0]).all()))


NO_PAINTINGS = [
    "6", ".rB", "6.x", "6.b", "6.rB.", "6.rB.rB", "6.3rB.3rB", "6.5rB.3rB", "6.12rB", "0.rB", "65.rB", "6.rB!", "6.rBA",
    "6.rkB", "6.rgA", "6.bAAAAAAA", "5.bAAAAAB", "6.r²", "-6.rB", "6.rB\n", f"6.r{'B' * MAX_PAINTED_LENGTH}",
]  # fmt: skip


def test_invalid_paintings_and_the_notation_of_bits() -> None:
    assert [text for text in NO_PAINTINGS if mask_codec.normalize(text, HEADS) is not None] == []
    causal = masks.allow(masks.causal, 5, 5)[0, 0]
    assert torch.equal(mask_codec.allow_mask("causal", "6.rB", 5, HEADS), causal), "one of another length is left out"
    # "b" and six cells a character, the first one worth 32: base64 counts h 33, q 42
    assert cells_of("bhq", 12).tolist() == [digit == "1" for digit in "100001101010"]


def test_painted_cells_turn_the_rule_round() -> None:
    for n in (1, 2, 5, 12):
        by_head = torch.rand(3, n, n, generator=torch.Generator().manual_seed(n)) < 0.3
        for flips in (by_head, by_head[:1].repeat(3, 1, 1)):
            text = mask_codec.write_flips(flips)
            allow = mask_codec.allow_mask("causal", text, n, 3)
            assert allow.shape == ((3, n, n) if mask_codec.is_per_head(text) else (n, n))
            forbidden = mask_codec.forbidden_cells("causal", text, n, 3)
            for head in range(3):
                wanted = [[(j <= i) != bool(flips[head, i, j]) for j in range(n)] for i in range(n)]
                assert mask_codec.head_mask(allow, head).tolist() == wanted
                back = cells_of(forbidden[head if len(forbidden) > 1 else 0], n * n)
                assert (~back).view(n, n).tolist() == wanted
