"""Claims that maps of weights decide."""

import math
from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

from mha_core.errors import HeadlightError
from mha_core.measure import measures
from pages.kit.draw.numbers import count, number, share, small, weight

from .chance import UNLIKELY, at_least
from .verdict import Map, Verdict, of_all, relative


def looks_most_at(weights: Tensor, tokens: Sequence[str], word: str, most: tuple[str, str], rounding: float) -> Verdict:
    """A word gives two others its largest weights: in how many heads, special tokens and itself not counted.

    Args:
        weights: (layers, h, i, j), the first and the last token special.
        rounding: by how much of itself a weight may be off.
        answers: in no more heads than by chance; in more, but fewer than half; in half of them or more.

    Raises:
        HeadlightError: one of the words is no token.
    """
    if missing := [one for one in (word, *most) if one not in tokens]:
        raise HeadlightError(f"{', '.join(missing)}: not among the tokens {' '.join(tokens)}")
    row, wanted = weights.flatten(0, 1)[:, tokens.index(word)], [tokens.index(one) for one in most]
    words = [at for at in range(1, len(tokens) - 1) if tokens[at] != word]
    among = {"others": words, "itself": [tokens.index(word), *words], "all": [*range(len(tokens))]}
    heads, found = len(row), {name: int(largest(row, wanted, of, rounding).sum()) for name, of in among.items()}
    pairs = {name: math.comb(len(of), 2) for name, of in among.items()}
    by_chance = {name: number(heads / of, 1).removesuffix(".0") for name, of in pairs.items()}
    likely = at_least(found["others"], [1 / pairs["others"]] * heads)
    more, half = likely < UNLIKELY, 2 * found["others"] >= heads
    mean = row.mean(dim=0)
    first = int(mean.argmax())
    return Verdict(
        of_all([more, more and half]),
        f"Among the other words, {most[0]} and {most[1]} have the two largest weights of {word} in {found['others']} "
        f"of {count(heads, 'head')}. They are one of {count(pairs['others'], 'pair')}: heads that take two words at "
        f"random would give {by_chance['others']} on average, and as many as here with probability {share(likely, 2)}"
        f"{'' if more else ', so it may well be chance'}. With {word} itself counted it is {found['itself']} (chance: "
        f"{by_chance['itself']}), among all tokens {found['all']} (chance: {by_chance['all']}). The largest mean "
        f"weight, {weight(float(mean[first]))}, goes to {tokens[first]}.",
        0 if not more else 2 if half else 1,
        tuple((f"{at} {token}", float(mean[at])) for at, token in enumerate(tokens)),
        f"mean weight of the row {word}, over all heads",
        full=1,
    )


def largest(row: Tensor, wanted: Sequence[int], among: Sequence[int], rounding: float) -> Tensor:
    """In which heads the wanted keys have the largest weights among some, by more than rounding: bool (heads,).

    `row`: (heads, j), the weights of one query.
    """
    others = [at for at in among if at not in wanted]
    return row[:, wanted].amin(dim=-1) > (1 + rounding) * row[:, others].amax(dim=-1)


def heads_differ(weights: Tensor) -> Verdict:
    """The heads of a layer look elsewhere: two of them have less than half of their weight in the same places.

    Args:
        weights: (layers, h, i, j), the first and the last token special.
        answers: less than a third of the weight in common; up to two thirds; more.
    """
    words = weights[..., 1:-1, 1:-1]
    among_words = words / words.sum(dim=-1, keepdim=True)
    by_layer = [_in_common(layer) for layer in weights]
    mean, alone = sum(by_layer) / len(by_layer), sum(map(_in_common, among_words)) / len(by_layer)
    return Verdict(
        of_all([mean < 0.5, alone < 0.5]),
        f"Two heads of one layer place {share(mean, 2)} of a word’s weight on the same keys, on average over all rows "
        f"and pairs of heads; counting only the weight from word to word, without the tokens at both ends, "
        f"{share(alone, 2)}.",
        0 if mean < 1 / 3 else 1 if mean <= 2 / 3 else 2,
        (*((f"layer {at}", shared) for at, shared in enumerate(by_layer)), ("mean", mean), ("words alone", alone)),
        "weight that two heads have in common",
        full=1,
    )


def mean_loses_nothing(weights: Tensor, v: Tensor, tokens: Sequence[str], rounding: float) -> Verdict:
    """A layer that used the mean map in every head would hand on the same.

    Args:
        weights: (h, i, j). v: (h, j, d).
        rounding: the largest relative difference that counts as none, as in every rule below.
        answers: below 1 % of the output's length; up to 20 %; more.
    """
    mean = weights.mean(dim=0)
    lost = relative(mean @ v, weights @ v)
    head, row, key = (int(at) for at in torch.unravel_index(weights.argmax(), weights.shape))
    return Verdict(
        of_all([lost <= rounding]),
        f"With the mean map in every head the layer hands on something that lies {share(lost, 2)} of its own length "
        f"away. The largest weight, {weight(float(weights[head, row, key]))} in head {head} from {tokens[row]} to "
        f"{tokens[key]}, is {weight(float(mean[row, key]))} in the mean.",
        0 if lost < 0.01 else 1 if lost <= 0.2 else 2,
        (
            ("difference of the output", lost),
            (f"head {head}", float(weights[head, row, key])),
            ("mean", float(mean[row, key])),
        ),
        "difference of the output, relative; the largest weight, and the same cell of the mean",
        Map("mean over the heads", mean, tokens),
    )


def same_word_same_row(
    positions: Tensor, without: Tensor, ids: Sequence[int], tokens: Sequence[str], rounding: float
) -> Verdict:
    """A word that stands twice has one row without positions, and two with them.

    Args:
        positions, without: (layers, h, i, j), with and without positions.
        answers: equal in both; only without; only with; in neither.

    Raises:
        HeadlightError: no token stands twice.
    """
    repeated = [measures.repeated_words(weights, ids) for weights in (positions, without)]
    if repeated[0] is None or repeated[1] is None:
        raise HeadlightError("no token stands twice; choose a sentence that says a word again")
    apart, same = (one.difference for one in repeated if one is not None)
    equal = (apart <= rounding, same <= rounding)
    word = tokens[repeated[1].places[0]]
    return Verdict(
        of_all([not equal[0], equal[1]]),
        f"Over all heads the two rows {word} differ by {small(same)} at most without positions, up to "
        f"{small(rounding)} being rounding, and by up to {small(apart)} with them.",
        {(True, True): 0, (False, True): 1, (True, False): 2, (False, False): 3}[equal],
        (("with positions", apart), ("without", same)),
        f"largest difference between the two rows {word}",
    )


def waves_move_the_look(none: Tensor, waves: Tensor, rounding: float) -> Verdict:
    """With waves added to the embeddings a word looks at another key than without.

    Args:
        none, waves: (layers, h, i, j), the same weights without positions and with sinusoids.
        answers: in no row; in fewer than half; in half of them or more.
    """
    # without positions the two keys of a word that stands twice get one weight: neither of them is the largest
    first, other = (of >= (1 - rounding) * of.amax(dim=-1, keepdim=True) for of in (none, waves))
    moved = (~(first & other).any(dim=-1)).double()
    by_layer = moved.flatten(1).mean(dim=1).tolist()
    part, elsewhere = float(moved.mean()), float(measures.row_distances(none.flatten(0, 2), waves.flatten(0, 2)).mean())
    return Verdict(
        of_all([part > 0.5, part > 0]),
        f"In {share(part, 2)} of all rows of all heads the key with the largest weight is another one. "
        f"On average {share(elsewhere, 2)} of a row’s weight goes elsewhere.",
        0 if part == 0 else 1 if part < 0.5 else 2,
        tuple((f"layer {at}", value) for at, value in enumerate(by_layer)),
        "share of rows whose largest weight goes to another key",
        full=1,
    )


def attention_is_symmetric(
    x: Tensor, scores: Tensor, weights: Tensor, tokens: Sequence[str], rounding: float
) -> Verdict:
    """Who looks at me, I look at: the weights are symmetric, as A Aᵀ is.

    Args:
        x: (i, c), what enters the layer. scores, weights: (h, i, i).
        answers: all three; A Aᵀ and the scores; A Aᵀ alone; none.
    """
    stages = {"A Aᵀ of the embeddings": x @ x.mT, "scores q kᵀ / √d": scores, "weights after the softmax": weights}
    apart = {name: relative(matrix.mT, matrix) for name, matrix in stages.items()}
    of_a, of_scores, of_weights = (value <= rounding for value in apart.values())
    row, key = (int(at) for at in torch.unravel_index((weights[0] - weights[0].mT).argmax(), weights[0].shape))
    there, back = float(weights[0, row, key]), float(weights[0, key, row])
    return Verdict(
        of_all([of_weights]),
        f"The weights differ from their own transpose by {number(apart['weights after the softmax'], 2)} of their "
        f"size: in head 0 {tokens[row]} gives {tokens[key]} {weight(there)} and gets {weight(back)} back.",
        {(True, True, True): 0, (True, True, False): 1, (True, False, False): 2, (False, False, False): 3}.get(
            (of_a, of_scores, of_weights)
        ),
        tuple(apart.items()),
        "difference to the transpose, relative",
        Map("head 0", weights[0], tokens),
    )


def _in_common(layer: Tensor) -> float:
    """The weight that two heads of (h, i, j) place on the same keys, mean over rows and pairs."""
    pairs = [1 - float(measures.row_distances(a, b).mean()) for a, b in combinations(layer.float(), 2)]
    return sum(pairs) / len(pairs)
