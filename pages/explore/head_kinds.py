"""The kind of each head, named by where its weight goes on this sentence."""

from collections.abc import Sequence

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.link.limits import DOMINANT_WEIGHT, STRONG_WEIGHT
from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.queue.single_flight import single_flight
from mha_core.heads.kinds import cells, score

HALF = 0.5  # the mean share of a row's weight that makes a head one of a kind
NEAR = 2  # words on either side

Kind = tuple[str, float]  # key in assets/heads.toml, and the number that decides it


@single_flight(LRUCache(256), lambda picture, layer: (picture.settings, layer))
def layer_kinds(picture: Picture, layer: int) -> list[Kind]:
    """Return the kind of every head of a layer; an empty list for models that do not read text."""
    weights = pictures.among_tokens(picture.run)
    if picture.model.reads != "text":  # the kinds are defined by the words of a sentence
        return []
    return [] if weights is None else kinds(weights[layer : layer + 1], picture.run.tokens, picture.run.ends)[0]


def kinds(weights: Tensor, tokens: Sequence[str], ends: tuple[int, int] = (0, 0)) -> list[list[Kind]]:
    """Return the kind of every head by its key in assets/heads.toml, with the number that decides it.

    A head has the first kind that applies: at least half of the weight of the rows whose token occurred before goes, on
    average, to the token after the earlier one ("induction head", Olsson et al. 2022); at least half of a row's weight
    goes, on average, to the previous word, the next word or the word itself; one weight between two words that are not
    neighbours is at least one half; half goes to the first or the last token (tested before the pair if these are
    words); 0.6 goes to both together, or to the words at most two steps away. Otherwise the head is spread out, and the
    number is its largest weight. The weights are (layers, h, i, j); `ends` is as in `Run`.
    """
    n = len(tokens)
    pair = ("pair", _largest_weight(weights, distant_pairs(n, ends)), STRONG_WEIGHT)
    edges = [("first", weights[..., 0].mean(-1), HALF), ("last", weights[..., n - 1].mean(-1), HALF)]
    repeated = None if ends[0] else _induction_scores(tokens, weights)
    nearby = torch.stack([_diagonal_sum(weights, step) for step in range(-NEAR, NEAR + 1)]).sum(0)
    shares = [
        *([("induction", repeated, HALF)] if repeated is not None else []),
        ("previous", _diagonal_mean(weights, -1), HALF),
        ("next", _diagonal_mean(weights, 1), HALF),
        ("itself", _diagonal_mean(weights, 0), HALF),
        # with special tokens at the ends a pair of words is rarer than weight on an end, otherwise the reverse
        *([pair, *edges] if ends[0] else [*edges, pair]),
        ("ends", (weights[..., 0] + weights[..., n - 1]).mean(-1), DOMINANT_WEIGHT),
        ("near", nearby / n, DOMINANT_WEIGHT),
        ("spread", weights.amax((-1, -2)), 0.0),
    ]
    if n == 1:
        shares = shares[-1:]
    values = torch.stack([share for _, share, _ in shares])
    bounds = torch.tensor([bound for _, _, bound in shares]).view(-1, 1, 1)
    matches = (values >= bounds).int().argmax(0)  # the first one that applies
    numbers = values.gather(0, matches[None])[0].tolist()
    return [
        [(shares[kind][0], round(number, 4)) for kind, number in zip(row, row_numbers, strict=True)]
        for row, row_numbers in zip(matches.tolist(), numbers, strict=True)
    ]


def word_mask(n: int, ends: tuple[int, int]) -> Tensor:
    """Return a bool mask (n,) that is False for the model's special tokens at the ends."""
    words = torch.zeros(n, dtype=torch.bool)
    words[ends[0] : n - ends[1]] = True
    return words


def _diagonal_sum(weights: Tensor, step: int) -> Tensor:
    """Return the sum of a diagonal of each map: (layers, h)."""
    return weights.diagonal(step, -2, -1).sum(-1)


def _diagonal_mean(weights: Tensor, step: int) -> Tensor:
    """Return the mean of a diagonal of each map: (layers, h)."""
    return _diagonal_sum(weights, step) / max(1, weights.shape[-1] - abs(step))


def _induction_scores(tokens: Sequence[str], weights: Tensor) -> Tensor | None:
    """Return the induction scores (layers, h); None if the model is not causal or no token repeats."""
    if weights[0].triu(1).any():  # not causal; one layer is enough, as all have the same mask
        return None
    scores = score(weights, cells("induction", [tokens.index(token) for token in tokens]))
    return None if scores.isnan().any() else scores


def _largest_weight(weights: Tensor, cells: Tensor) -> Tensor:
    """Return the largest weight in the cells (i, j), or 0 if there are none: (layers, h)."""
    mask = cells.to(weights.dtype)
    # layer by layer, to allocate no copy of all maps
    return torch.stack([(layer * mask).amax((-1, -2)) for layer in weights])


def distant_pairs(n: int, ends: tuple[int, int]) -> Tensor:
    """Return a bool mask (i, j) of the pairs of words that are not neighbours."""
    word, place = word_mask(n, ends), torch.arange(n)
    return word[:, None] & word & ((place[:, None] - place).abs() > 1)
