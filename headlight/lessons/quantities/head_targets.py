"""Quantities of several heads: shared weight, and hits on a target word, counted over sentences."""

import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal

import torch
from torch import Tensor

from headlight import ROOT
from headlight.lessons.functions import tail_probability
from headlight.lessons.values import Value
from headlight.picture import pictures
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue.executor import yield_and_check_cancelled
from mha_core.measure import measures

from .picture import model_rounding

Kind = Literal["relationships", "sentiment", "subject"]
SENTENCES = ROOT / "assets" / "sentences.toml"


def shared_weight(query: Query, settings: Settings, keys: Literal["all", "words"]) -> Value:
    """Return `shared_weight("all")`, (l): the weight that two heads of a layer place on the same keys.

    It is the mean over rows and pairs of heads. "words" renormalizes the weights without the first and last token.
    """
    weights = pictures.picture(settings).run.weights.cpu()
    if keys == "words":
        words = weights[..., 1:-1, 1:-1]
        weights = words / words.sum(dim=-1, keepdim=True)
    return Value.from_tensor(
        torch.tensor([_shared_weight(layer) for layer in weights.float()], dtype=torch.float64), "l"
    )


def finds_goal(kind: Kind) -> Value:
    """Return `finds_goal("subject")`, (l h): the number of sentences in which a word attends most to its target.

    The target must exceed all other words by more than rounding. The kinds are those of assets/sentences.toml.
    """
    return Value.from_tensor(_hits(kind), "l h")


def finds_at_a_distance(kind: Kind) -> Value:
    """Return `finds_at_a_distance("subject")`: the number of sentences with the most frequent target distance."""
    places = [_places(*sentence)[1:] for sentence in sentences()[kind]]
    return Value.number(float(Counter(goal - word for word, goal in places).most_common(1)[0][1]))


def finds_by_luck(kind: Kind) -> Value:
    """Return `finds_by_luck("subject")`: the probability that the best of as many random heads has as many hits."""
    hits = _hits(kind)
    chances = [1 / (len(_places(*sentence)[0]) - 3) for sentence in sentences()[kind]]  # less both ends and the word
    return Value.number(max_tail_probability(int(hits.max()), chances, hits.numel()))


def max_tail_probability(successes: int, chances: Sequence[float], n_heads: int) -> float:
    """Return the probability that the best of several equal heads has at least so many successes."""
    return float(1 - (1 - tail_probability(successes, chances)) ** n_heads)


@lru_cache(maxsize=1)
def sentences() -> dict[str, list[tuple[str, str, str]]]:
    """Return kind -> sentences, each with a word and its target."""
    return {kind: [tuple(row) for row in rows] for kind, rows in tomllib.loads(SENTENCES.read_text("utf-8")).items()}


@lru_cache(maxsize=8)
def _hits(kind: str) -> Tensor:
    total = torch.zeros(())
    for sentence in sentences()[kind]:
        yield_and_check_cancelled()
        picture = pictures.picture(Settings(sentence[0]))
        tokens, word, goal = _places(*sentence)
        row = picture.run.weights[..., word, :].cpu()
        others = [index for index in range(1, len(tokens) - 1) if index not in (word, goal)]
        total = total + (row[..., goal] > (1 + model_rounding(picture).scalar) * row[..., others].amax(dim=-1))
    return total


def _places(text: str, word: str, goal: str) -> tuple[list[str], int, int]:
    tokens = pictures.tokens(Settings(text))
    return tokens, tokens.index(word), tokens.index(goal)


def _shared_weight(layer: Tensor) -> float:
    """Return the mean weight that two heads of (h, i, j) place on the same keys."""
    pairs = [1 - float(measures.row_distances(a, b).mean()) for a, b in combinations(layer, 2)]
    return sum(pairs) / len(pairs)
