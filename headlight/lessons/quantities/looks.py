"""What heads look for and what they share: counts over sentences in which a word belongs to another one."""

import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal

import torch
from torch import Tensor

from headlight import ROOT
from headlight.lessons.functions import at_least
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
    """`shared_weight("all")`, (l): the weight that two heads of a layer place on the same keys.

    The mean over rows and pairs of heads; or of the weight from word to word, "words", without the tokens at both ends.
    """
    weights = pictures.picture(settings).run.weights.cpu()
    if keys == "words":
        words = weights[..., 1:-1, 1:-1]
        weights = words / words.sum(dim=-1, keepdim=True)
    return Value.of(torch.tensor([_in_common(layer) for layer in weights.float()], dtype=torch.float64), "l")


def finds_goal(kind: Kind) -> Value:
    """`finds_goal("subject")`, (l h): in how many sentences a head of MiniLM gives a word's largest weight to its goal.

    Among the other words, by more than rounding. The kinds are those of assets/sentences.toml.
    """
    return Value.of(_hits(kind), "l h")


def finds_at_a_distance(kind: Kind) -> Value:
    """`finds_at_a_distance("subject")`: in how many sentences the goal stands at the one distance that most have."""
    places = [_places(*sentence)[1:] for sentence in sentences()[kind]]
    return Value.number(float(Counter(goal - word for word, goal in places).most_common(1)[0][1]))


def finds_by_luck(kind: Kind) -> Value:
    """`finds_by_luck("subject")`: the probability that the best of as many heads that look at random finds as many."""
    hits = _hits(kind)
    chances = [1 / (len(_places(*sentence)[0]) - 3) for sentence in sentences()[kind]]  # two ends and the word itself
    return Value.number(of_the_best(int(hits.max()), chances, hits.numel()))


def of_the_best(found: int, chances: Sequence[float], among: int) -> float:
    """The probability that the best of several who all try alike has as many or more."""
    return float(1 - (1 - at_least(found, chances)) ** among)


@lru_cache(maxsize=1)
def sentences() -> dict[str, list[tuple[str, str, str]]]:
    """Kind -> sentences of ours, each with a word and the one that belongs to it."""
    return {kind: [tuple(one) for one in told] for kind, told in tomllib.loads(SENTENCES.read_text("utf-8")).items()}


@lru_cache(maxsize=8)
def _hits(kind: str) -> Tensor:
    total = torch.zeros(())
    for sentence in sentences()[kind]:
        yield_and_check_cancelled()
        picture = pictures.picture(Settings(sentence[0]))
        tokens, word, goal = _places(*sentence)
        row = picture.run.weights[..., word, :].cpu()
        others = [at for at in range(1, len(tokens) - 1) if at not in (word, goal)]
        total = total + (row[..., goal] > (1 + model_rounding(picture).single) * row[..., others].amax(dim=-1))
    return total


def _places(text: str, word: str, goal: str) -> tuple[list[str], int, int]:
    tokens = pictures.tokens(Settings(text))
    return tokens, tokens.index(word), tokens.index(goal)


def _in_common(layer: Tensor) -> float:
    """The weight that two heads of (h, i, j) place on the same keys, mean over rows and pairs."""
    pairs = [1 - float(measures.row_distances(a, b).mean()) for a, b in combinations(layer, 2)]
    return sum(pairs) / len(pairs)
