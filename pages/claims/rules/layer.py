"""Claims on projections, biases and implementations of one layer."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from pages.kit.draw.numbers import cosine, count, number, scientific, share, small

from .verdict import Verdict, of_all, relative

ONE_BY_ONE = "each alone set to 0"


def values_are_embeddings(x: Tensor, v: Tensor, tokens: Sequence[str], rounding: float) -> Verdict:
    """What a token hands on is its embedding.

    Args:
        x: (i, c), what enters the first layer. v: (i, c), its values, all heads in a row.
        rounding: the largest relative difference that counts as none, as in every rule below.
        answers: by the mean cosine: the same direction; more alike than not; hardly alike.
    """
    alike = torch.nn.functional.cosine_similarity(v, x, dim=-1)
    apart, mean = relative(v, x), float(alike.mean())
    return Verdict(
        of_all([apart <= rounding]),
        f"Embedding and value of a token have a cosine of {cosine(mean)} on average, {cosine(float(alike.max()))} at "
        f"most, and lie {number(apart, 2)} of the embedding’s length apart: the values are the embeddings times a "
        "matrix that is learned.",
        0 if mean >= 0.99 else 1 if mean >= 0.5 else 2,
        tuple((f"{at} {tokens[at]}", float(value)) for at, value in enumerate(alike)),
        "cosine between embedding and value",
        full=1,
    )


def learns_without_biases(right: Mapping[int, tuple[Tensor, Tensor]], parameters: tuple[int, int]) -> Verdict:
    """A model without biases learns to tell who did what as well as one with them, and has fewer parameters.

    Args:
        right: seed -> bool (rows,), (rows,): unseen rows answered rightly, trained with biases, and without.
        parameters: of the model with them, and without.
        answers: as many rows, up to a standard error, for every seed; for some; for none.
    """
    shares = {seed: (float(a.double().mean()), float(b.double().mean())) for seed, (a, b) in right.items()}
    rows = min(len(pair[0]) for pair in right.values())
    as_good = [b >= a - math.sqrt(a * (1 - a) / rows) for a, b in shares.values()]
    fewer = parameters[0] - parameters[1]
    told = "; ".join(f"seed {seed}: {share(a, 3)} with, {share(b, 3)} without" for seed, (a, b) in shares.items())
    return Verdict(
        of_all([good and fewer > 0 for good in as_good]),
        f"Right answers to {count(rows, 'row')} that no model has seen, by models trained for this: {told}. Without "
        f"biases the model has {parameters[1]:,} parameters instead of {parameters[0]:,}: {fewer:,} fewer.",
        0 if all(as_good) else 1 if any(as_good) else 2,
        tuple(
            (f"seed {seed}, {how}", value)
            for seed, pair in shares.items()
            for how, value in zip(("with biases", "without"), pair, strict=True)
        ),
        "share of unseen rows that are answered rightly",
        full=1,
    )


def trained_biases_cost_nothing(
    whole: Sequence[Tensor], without: Mapping[str, Sequence[Tensor]], parameters: int, rounding: float
) -> Verdict:
    """The biases of query, key and value can be taken from a trained model.

    Args:
        whole: the output (i, c) of each layer. without: "query", "key", "value" -> the same with that bias at 0.
        parameters: how many numbers these biases are.
        answers: all three; the query's alone; the key's alone; none.
    """
    apart = {name: max(relative(a, b) for a, b in zip(outs, whole, strict=True)) for name, outs in without.items()}
    free = frozenset(name for name, value in apart.items() if value <= rounding)
    answers = {frozenset(apart): 0, frozenset({"query"}): 1, frozenset({"key"}): 2, frozenset[str](): 3}
    told = ", ".join(f"{small(value)} without the {name}’s" for name, value in apart.items())
    return Verdict(
        of_all([name in free for name in apart]),
        f"The output of a layer changes, in the worst layer and relative to its size, by {told}. "
        f"Together they are {parameters:,} numbers.",
        answers.get(free),
        tuple(apart.items()),
        f"relative change of a layer’s output, {ONE_BY_ONE}, worst layer",
    )


def key_bias_changes_nothing(added: tuple[Tensor, Tensor], turned: tuple[Tensor, Tensor], rounding: float) -> Verdict:
    """A number added to every key changes no weight.

    Args:
        added, turned: weights (h, i, j) with the key's bias and without, where positions are added to the embeddings,
            and where they turn queries and keys.
        answers: always; never; only if positions turn the keys.
    """
    plain, rotary = (float((a - b).abs().max()) for a, b in (added, turned))
    same = (plain <= rounding, rotary <= rounding)
    return Verdict(
        of_all(same),
        f"Without the key’s bias a weight changes by at most {small(plain)}: a query meets the same extra number "
        f"at every key, and the softmax takes it out. With rotary positions by up to {small(rotary)}, because the bias "
        "is turned along with the key.",
        {(False, False): 0, (True, True): 1, (True, False): 2}.get(same),
        (("positions added", plain), ("rotary positions", rotary)),
        "largest change of a weight without the key’s bias",
    )


def same_function_same_accuracy(
    outs: tuple[Tensor, Tensor], maps: tuple[Tensor, Tensor], rounding: float, right: tuple[Tensor, Tensor]
) -> Verdict:
    """Two implementations give the same with one set of weights, and models trained with them answer as well.

    Args:
        outs, maps: output (b, i, c) and weights (b, h, i, j) of naive and of torch.
        right: bool (seeds, rows): test rows answered rightly by models trained with each of them.
        answers: no farther apart than rounding; than a thousandth; farther.
    """
    apart = {"output": relative(*outs), "maps": relative(*maps)}
    worst = max(apart.values())
    ours, theirs = (float(of.double().mean()) for of in right)
    error = math.sqrt(theirs * (1 - theirs) / right[1].shape[-1])
    same = ": one function" if worst <= rounding else ""
    return Verdict(
        of_all([worst <= rounding, abs(ours - theirs) <= error]),
        f"With the same weights the largest relative difference is {scientific(worst)}, and up to "
        f"{scientific(rounding)} is rounding in float32{same}. Trained on the post’s news, each from random "
        f"weights of its own, naive answers {share(ours, 3)} of the test rows rightly and torch {share(theirs, 3)}, as "
        f"means over {count(len(right[0]), 'seed')}; so many rows leave a standard error of {share(error, 3)}.",
        _apart(worst, rounding),
        (("naive", ours), ("torch", theirs)),
        "share of test rows that are answered rightly, mean over the seeds",
        full=1,
    )


def rounding_alone(draws: Sequence[tuple[float, float]], real: tuple[float, float], printed: float) -> Verdict:
    """An implementation lies as far from torch as rounding explains, and so does the number that a text prints.

    Args:
        draws: of each draw of random weights the relative difference, and the largest that rounding may leave.
        real: the same of a trained layer.
        printed: by the text, of its one draw.
        answers: no farther apart than rounding; than a thousandth; farther.
    """
    within = [value <= most for value, most in (*draws, real)]
    differences, bound = sorted(value for value, _ in draws), min(most for _, most in draws)
    digits = ", and the digits of so small a difference are those of a processor" if all(within) else ""
    return Verdict(
        of_all([*within, printed <= bound]),
        f"Over {count(len(draws), 'draw')} of torch’s own initial weights the relative difference is "
        f"{scientific(differences[0], 2)} to {scientific(differences[-1], 2)}; the notebook prints "
        f"{scientific(printed, 2)} for its one. Up to {scientific(bound, 2)} is rounding in float32{digits}. On a "
        f"trained, wider layer it is {scientific(real[0], 2)}.",
        0 if all(within) else _apart(max(*differences, real[0]), 0),
        (
            ("least of the draws", differences[0]),
            ("most", differences[-1]),
            ("printed", printed),
            ("a layer of MiniLM", real[0]),
            ("rounding, at most", bound),
        ),
        "relative difference to nn.MultiheadAttention",
    )


def loops_over_the_other_axes(pairs: Mapping[str, tuple[Tensor, Tensor]], rounding: float) -> Verdict:
    """A product of tensors with more axes is the products of their matrices, one after the other.

    Args:
        pairs: shape in words -> what a loop over all axes but the last two gives, and torch on the whole tensors.
        answers: no farther apart than rounding; than a thousandth; farther.
    """
    apart = {name: relative(a, b) if a.shape == b.shape else float("inf") for name, (a, b) in pairs.items()}
    worst = max(apart.values())
    return Verdict(
        of_all([value <= rounding for value in apart.values()]),
        f"Our function on one matrix after the other differs from torch’s own on the whole tensors by "
        f"{scientific(worst)} at most, over {count(len(apart), 'shape')}; up to {scientific(rounding)} is rounding.",
        _apart(worst, rounding),
        tuple(apart.items()),
        "relative difference to F.scaled_dot_product_attention",
    )


def _apart(worst: float, rounding: float) -> int:
    """The answer to how far apart two implementations lie."""
    return 0 if worst <= rounding else 1 if worst <= 1e-3 else 2
