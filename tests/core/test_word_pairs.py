"""The pairs of words that a head links against chance: a planted one is found, with its chance as loops compute it."""

import pytest
import torch
from torch import Tensor

from mha_core.heads.word_pairs import word_pairs
from tests.closeness import same_function

TEXT = [
    "the",
    "red",
    "dog",
    "chased",
    "birds",
    ",",
    "and",
    "old",
    "tom",
    "saw",
    "a",
    "cat",
    "near",
    "the",
    "red",
    "house",
]
WORDS = [(word, range(place, place + 1)) for place, word in enumerate(TEXT)]
N = len(TEXT)


def maps(*, causal: bool) -> Tensor:
    """Two layers of two heads: a sink, the previous token, noise, and noise with the pair saw → dog, in float64."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 2, N, N, generator=generator, dtype=torch.float64)
    scores[0, 0, :, 0] += 9
    scores[0, 1] += 9 * torch.eye(N).diagonal_scatter(torch.ones(N - 1), -1).tril(-1)
    scores[1, 1, 9, 2] += 9
    allow = torch.ones(N, N, dtype=torch.bool).tril() if causal else torch.ones(N, N, dtype=torch.bool)
    return scores.masked_fill(~allow, -torch.inf).softmax(-1)


@pytest.mark.parametrize("causal", [False, True])
def test_a_planted_pair_is_found_with_its_chance(causal: bool) -> None:
    weights = maps(causal=causal)
    first, *others = word_pairs(weights, WORDS, limit=100)
    assert (first.layer, first.head, first.row, first.key, first.words) == (1, 1, 9, 2, ("saw", "dog"))
    assert first.is_largest
    content = {place for place, word in enumerate(TEXT) if word not in {"the", ",", "and", "a", "near"}}
    for pair in [first, *others]:
        found, i, j = weights[pair.layer, pair.head], pair.row, pair.key
        by_key = [found[row, j] for row in range(j if causal else 0, N) if row != i]
        by_distance = [found[row, row + j - i] for row in range(N) if 0 <= row + j - i < N and row != i]
        chance = max(torch.stack(cells).mean() for cells in (by_key, by_distance) if cells)
        same_function(torch.tensor([pair.weight, pair.chance], dtype=torch.float64), torch.stack([found[i, j], chance]))
        assert {i, j} <= content
        assert TEXT[i] != TEXT[j]
        assert j > 0 or not causal
    assert len({(pair.layer, pair.head) for pair in others}) == len(others)


def test_a_pronoun_and_an_earlier_word_come_first() -> None:
    weights = maps(causal=False)
    weights[1, 0, 4] = torch.eye(N, dtype=weights.dtype)[2] * 0.6 + 0.4 / N
    words = [(word.replace("birds", "it"), span) for word, span in WORDS]
    assert word_pairs(weights, WORDS)[0].words == ("saw", "dog")
    assert word_pairs(weights, words)[0].words == ("it", "dog")


def test_a_sink_comes_last_and_a_pronoun_leads_only_with_the_largest_weight_of_its_row() -> None:
    words = [(word.replace("birds", "it"), span) for word, span in WORDS]
    weights = torch.full((1, 3, N, N), 0.02)
    weights[0, 0, :, 2] = torch.tensor([0.6, 0.01, 0.01]).repeat(6)[:N]  # dog, from every third word and from "it"
    weights[0, 0, 4, 2] = 0.7
    weights[0, 1, 4, [2, 5]] = torch.tensor([0.4, 0.5])  # of "it" more goes to the comma
    weights[0, 2, 9, 11] = 0.5
    pairs = word_pairs(weights, words)
    assert [(pair.head, pair.words) for pair in pairs] == [(2, ("saw", "cat")), (1, ("it", "dog")), (0, ("saw", "dog"))]


def test_two_whole_words_come_before_a_piece_of_a_word_and_a_pronoun_before_both() -> None:
    starts = {"cats": 0, "fear": 1, "zebras": 2, "lions": 4, "they": 5}
    words = [(word, range(start, start + 1 + (word == "zebras"))) for word, start in starts.items()]
    weights = torch.full((1, 3, 6, 6), 0.02)
    weights[0, 0, 0, 2], weights[0, 1, 0, 4], weights[0, 2, 5, 3] = 0.9, 0.6, 0.5
    pairs = [pair.words for pair in word_pairs(weights, words)]
    assert pairs == [("they", "zebras"), ("cats", "lions"), ("cats", "zebras")]


def test_texts_without_two_content_words_have_no_pair() -> None:
    for text in ("dog", "dog Dog dog", ", . !", "", "of the and", "她"):
        words = [(word, range(place, place + 1)) for place, word in enumerate(text.split() or [""])]
        assert word_pairs(torch.full((1, 1, len(words), len(words)), 1 / len(words)), words) == []
    pieces = [("", range(1)), ("Katze", range(1, 3)), ("jagt", range(3, 4))]
    weights = torch.full((1, 1, 4, 4), 0.1)
    weights[0, 0, 1, 2] = weights[0, 0, 2, 3] = 0.7  # within Katze, and from its second piece to jagt
    assert [(pair.row, pair.key) for pair in word_pairs(weights, pieces)] == [(2, 3)]
