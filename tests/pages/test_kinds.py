"""The kind of a head, against a dense loop and on maps that are made for it; and what a change did, layer by layer."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from pages.explore.effect import effect
from pages.explore.kinds import HALF, NEAR, kinds, of_layer, words_of
from pages.kit.picture import pictures
from pages.kit.picture.limits import MOST_OF_IT, STRONG
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings

TOKENS = ["[CLS]", "a", "b", "c", "d", "[SEP]"]
N = len(TOKENS)


def rows(weights: dict[int, float], n: int = N) -> Tensor:
    """A map whose row i gives these shares to i + step, and the rest to all alike."""
    made = torch.zeros(n, n)
    for i in range(n):
        for step, weight in weights.items():
            if 0 <= i + step < n:
                made[i, i + step] = weight
        made[i] += (1 - made[i].sum()) / n
    return made


def column(at: int, weight: float) -> Tensor:
    made = torch.full((N, N), (1 - weight) / N)
    made[:, at] += weight
    return made


def one(own: Tensor, tokens: list[str] = TOKENS, ends: tuple[int, int] = (1, 1)) -> str:
    return kinds(own[None, None], tokens, ends)[0][0][0]


def test_each_kind_on_a_map_that_is_made_for_it() -> None:
    assert one(rows({-1: 0.9})) == "word before"
    assert one(rows({1: 0.9})) == "word after"
    assert one(rows({0: 0.9})) == "itself"
    assert one(column(0, 0.6)) == "[CLS]"
    assert one(column(N - 1, 0.6)) == "[SEP]"
    assert one((column(0, 0.5) + column(N - 1, 0.5)) / 2 * 1.0) == "[CLS] and [SEP]"
    assert one(rows({-2: 0.3, -1: 0.3, 1: 0.3, 2: 0.1}, 30), ["w"] * 30, (0, 0)) == "near words"
    assert one(torch.full((30, 30), 1 / 30), ["w"] * 30, (0, 0)) == "spread out"
    pair = torch.full((N, N), 1 / N)
    pair[1] = 0.1
    pair[1, 4] = 0.6
    assert one(pair) == "links words"
    assert one(column(0, 0.6), ["a", *TOKENS[1:-1], "e"], (0, 0)) == "first word"
    assert one(column(0, 0.6), ["a", *TOKENS[1:]], (0, 1)) == "first word"


def test_one_token_and_none_but_special_ones() -> None:
    assert kinds(torch.ones(2, 3, 1, 1), ["a"]) == [[("spread out", 1.0)] * 3] * 2
    assert one(torch.full((2, 2), 0.5), ["[CLS]", "[SEP]"])


def slow(own: Tensor, tokens: list[str]) -> str:
    """The same rule, one weight after the other, of a sentence between [CLS] and [SEP]."""
    n, w = len(tokens), own.tolist()
    special = [at in (0, n - 1) for at in range(n)]

    def share(step: int) -> float:
        return float(sum(w[i][i + step] for i in range(n) if 0 <= i + step < n)) / (n - abs(step))

    for step, name in ((-1, "word before"), (1, "word after"), (0, "itself")):
        if share(step) >= HALF:
            return name
    pairs = [w[i][j] for i in range(n) for j in range(n) if abs(i - j) > 1 and not special[i] and not special[j]]
    if max(pairs, default=0) >= STRONG:
        return "links words"
    first, last = sum(row[0] for row in w) / n, sum(row[-1] for row in w) / n
    if first >= HALF:
        return "[CLS]"
    if last >= HALF:
        return "[SEP]"
    if first + last >= MOST_OF_IT:
        return "[CLS] and [SEP]"
    near = sum(w[i][j] for i in range(n) for j in range(n) if abs(i - j) <= NEAR) / n
    return "near words" if near >= MOST_OF_IT else "spread out"


def test_all_heads_of_real_sentences_against_a_loop() -> None:
    for text in PRESETS[:3]:
        run = pictures.picture(Settings(text)).run
        found = kinds(run.weights, run.tokens, run.ends)
        assert [[name for name, _ in row] for row in found] == [
            [slow(own, run.tokens) for own in layer] for layer in run.weights
        ]
        assert found[0][2][0] == "word before"


def test_a_word_that_the_model_does_not_know_is_a_word() -> None:
    """It is no end of the sentence, and heads copy behind it as they do behind another word."""
    settings = Settings("ring wolf sun fish ball cloud ring wolf", model="words-2layers-1")
    known, unknown = (pictures.picture(replace(settings, text=f"{first} {settings.text}")) for first in ("key", "xyz"))
    assert (known.run.tokens[0], unknown.run.tokens[0]) == ("key", "[UNK]")
    names, of_known = ([name for name, _ in of_layer(one, 1)] for one in (unknown, known))
    assert names == of_known == ["copies"] * 4
    assert one(column(0, 0.6), ["[UNK]", *"bcdef"], (0, 0)) == "first word"


def test_ends_are_told_by_what_the_model_adds_and_not_by_how_a_word_is_spelled() -> None:
    typed = pictures.picture(Settings("[CLS] a [x] b [SEP]")).run
    assert typed.tokens == ["[CLS]", "[CLS]", "a", "[", "x", "]", "b", "[SEP]", "[SEP]"]
    assert typed.ends == (1, 1)
    assert words_of(len(typed.tokens), typed.ends).tolist() == [False, *[True] * 7, False]
    for name in ("words-2layers-1", "names-rotary-1"):
        assert pictures.picture(Settings("[CLS] [x]", model=name)).run.ends == (0, 0)
    pair = torch.full((N, N), 1 / N)
    pair[1] = 0.1
    pair[1, 4] = 0.6
    assert one(pair, ["[CLS]", "[x]", "a", "b", "[CLS]", "[SEP]"]) == "links words"


# ---- what a change did: the largest change of a weight between two words

CHANGES = [
    Settings(PRESETS[0], "causal"),
    Settings(PRESETS[0], position="none"),
    Settings(PRESETS[0], temperature=2.0),
    Settings(PRESETS[0], heads_off=((3, 1),)),
]


def test_nothing_is_told_while_nothing_is_changed() -> None:
    assert effect(pictures.picture(Settings(PRESETS[0]))) is None


@pytest.mark.parametrize("settings", CHANGES, ids=str)
def test_it_is_the_largest_one(settings: Settings) -> None:
    after, before = (pictures.picture(own).run for own in (settings, settings.untouched))
    told = effect(pictures.picture(settings))
    assert told is not None
    words = range(1, len(after.tokens) - 1)
    largest = [
        max(abs(float(own[h, i, j] - other[h, i, j])) for h in range(12) for i in words for j in words)
        for own, other in zip(after.weights, before.weights, strict=True)
    ]
    assert told["layers"] == pytest.approx(largest, abs=1e-7)
    assert told["at"] is not None
    layer, head, row, key = told["at"]
    assert abs(float(after.weights[layer, head, row, key] - before.weights[layer, head, row, key])) == max(
        told["layers"]
    )
    assert told["moved"] == tuple(float(run.weights[layer, head, row, key]) for run in (before, after))


def test_a_head_changes_only_later_layers() -> None:
    told = effect(pictures.picture(CHANGES[3]))
    assert told is not None
    assert told["layers"][:4] == [0, 0, 0, 0]
    assert min(told["layers"][4:]) > 0


def test_what_changes_nothing_says_so() -> None:
    told = effect(pictures.picture(Settings("", "window:9")))
    assert told is not None
    assert told["at"] is None


def test_an_unknown_word_may_have_changed_most() -> None:
    settings = Settings("xyz apple ball xyz bird", model="words-2layers-1", temperature=0.5)
    after, before = (pictures.picture(one).run.weights for one in (settings, settings.untouched))
    told = effect(pictures.picture(settings))
    assert told is not None
    assert told["layers"] == (after - before).abs().amax((1, 2, 3)).tolist()
    assert told["at"] is not None
    assert told["at"][:2] == (1, 2)
    assert {pictures.picture(settings).run.tokens[at] for at in told["at"][2:]} == {"[UNK]"}
