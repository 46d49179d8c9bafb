"""Rules joined in written form against joining their masks, and the gallery for any sentence."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from mha_core import masks
from pages.kit.picture import mask_codec, rules
from pages.kit.picture.limits import LONGEST_PAINTED, LONGEST_RULE

HEADS = 12
PARTS = ["none", "causal", "window:1", "window:3", "prefix:2", "prefix:0", "sinks:1", "dilated:2:2", "documents:2:5"]
parts = st.tuples(st.sampled_from(["", "!", "! "]), st.sampled_from(PARTS)).map("".join)
terms = st.lists(parts, min_size=1, max_size=3).map(" & ".join)
written = st.lists(terms, min_size=1, max_size=3).map("|".join)


def dense(rule: str, n: int = 8) -> Tensor:
    return masks.allow(masks.parse(rule), n, n)[0, 0]


@given(written)
def test_the_usual_spelling_means_the_same(rule: str) -> None:
    if rules.usable(rule):
        plain = rules.plain(rule)
        assert torch.equal(dense(plain), dense(rule))
        assert rules.plain(plain) == plain
        assert rules.usable(plain)


@given(written, st.sampled_from(rules.JOINS), written)
def test_joined_rules_are_joined_masks(rule: str, join: str, other: str) -> None:
    made = rules.joined(rule, join, other)
    if made is None:
        return
    right = ~dense(other) if join.endswith("not") else dense(other)
    assert torch.equal(dense(made), dense(rule) | right if join.startswith("or") else dense(rule) & right)
    assert len(made) <= LONGEST_RULE


def test_what_joins_to_a_long_rule_is_none() -> None:
    long = " | ".join(f"window:{w} & sinks:{w}" for w in range(1, 9))
    assert rules.joined(long, "and", " | ".join(f"prefix:{n} & dilated:{n}:3" for n in range(1, 8))) is None
    many = "|".join(f"sinks:{n} & prefix:{n} & window:{n}" for n in range(1, 8))
    assert rules.joined("causal", "or not", many[:LONGEST_RULE].rpartition("|")[0]) is None


def test_plain() -> None:
    spellings = {
        " causal&window:3 ": "causal & window:3",
        "none & causal": "causal",
        "none | causal": "none",
        "!none | causal": "causal",
        "!none": "!none",
        "causal & !causal": "!none",
        "! window:2 | ! window:2": "!window:2",
        "window:03": "window:3",
    }
    assert {rule: rules.plain(rule) for rule in spellings} == spellings


def test_what_is_no_rule() -> None:
    texts = ["", "full", "causal and window:3", "window:1234", "(causal)", "!", "!!causal", "x" * 300]
    assert [text for text in texts if rules.usable(text)] == []


@pytest.mark.parametrize(
    ("n", "rule"),
    [
        (2, "none"),
        (3, "window:1"),
        (6, "causal & window:4"),
        (15, "dilated:2:3"),
        (64, "sinks:3 | causal"),
        (65, "none"),
        (200, "window:1"),
    ],
)
def test_the_gallery_draws_each_rule_for_the_sentence(n: int, rule: str) -> None:
    tokens = ["[CLS]", *["it"] * (n - 2), "[SEP]"]
    cards = rules.gallery(tokens, HEADS, 4, rule, "causal", "")
    assert [card["name"] for card in cards][:2] == ["full", "causal"]
    for card in cards:
        allow = mask_codec.of_head(mask_codec.allowed(card["rule"], card["painted"], n, HEADS), 4)
        cells = mask_codec.read_cells(card["cells"], n * n)
        assert cells is not None
        assert torch.equal(~cells.view(n, n), allow)
        assert card["counted"] == rules.counted(allow)
        assert card["counted"].startswith(f"{int((~allow).sum()):,} of {n * n:,} blocked")
        assert len(card["painted"]) <= LONGEST_PAINTED
        assert rules.usable(card["rule"])
    if rule in ("window:1", "dilated:2:3"):
        assert rule in [card["rule"] for card in cards], "a card takes the numbers in use over"
    too_long = n > 64 or len(mask_codec.write_flips(rules.per_head_windows(n, HEADS))) > LONGEST_PAINTED
    assert [bool(card["why_not"]) for card in cards[-2:]] == [too_long, True]


def test_the_painted_card_is_what_was_painted() -> None:
    *_, card = rules.gallery(["[CLS]", "it", "is", "[SEP]"], HEADS, 0, "none", "causal", "4.rBB")
    assert (card["rule"], card["painted"], card["why_not"]) == ("causal", "4.rBB", "")


def test_documents_are_cut_behind_stops() -> None:
    for text, starts in {
        "[CLS] how are you ? fine . [SEP]": [5],
        "[CLS] no ! ! yes . why ? it [SEP]": [4, 6, 8],
        "[CLS] how are you . [SEP]": [3],
        "[CLS] [SEP]": [1],
        "[CLS] it [SEP]": [1],
    }.items():
        assert rules.starts_of_documents(text.split()) == starts
        assert rules.usable(f"documents:{':'.join(map(str, starts))}")


def test_many_documents_still_make_a_rule() -> None:
    starts = rules.starts_of_documents(["[CLS]", *["it", "."] * 150, "it", "[SEP]"])
    assert rules.usable(f"documents:{':'.join(map(str, starts))}")


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("none", {"mask": "none"}),
        ("window:4", {"mask": "window", "w": 4}),
        ("dilated:3:2", {"mask": "dilated", "w": 3, "gap": 2}),
        ("documents:3", {"mask": "combination", "rule": "documents:3"}),
        ("sinks:2 & causal", {"mask": "combination", "rule": "sinks:2 & causal"}),
        ("causal & sinks:2", {"mask": "combination", "rule": "causal & sinks:2"}),
        ("window:3 & sinks:2", {"mask": "combination", "rule": "window:3 & sinks:2"}),
        ("window:513", {"mask": "combination", "rule": "window:513"}),
    ],
)
def test_a_rule_has_a_control_of_its_own_or_is_a_combination(rule: str, says: dict[str, str | int]) -> None:
    assert rules.controls_of(rule) == says
