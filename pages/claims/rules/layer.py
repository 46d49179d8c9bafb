"""Claims on projections, biases and implementations of one layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from pages.kit.draw.numbers import cosine, count, number, scientific, small

from .verdict import ROUNDING, Verdict, of_all, relative

ONE_BY_ONE = "each alone set to 0"


def values_are_embeddings(x: Tensor, v: Tensor, tokens: Sequence[str]) -> Verdict:
    """What a token hands on is its embedding.

    Args:
        x: (i, c), what enters the first layer. v: (i, c), its values, all heads in a row.
        answers: by the mean cosine: the same direction; more alike than not; hardly alike.
    """
    alike = torch.nn.functional.cosine_similarity(v, x, dim=-1)
    apart, mean = relative(v, x), float(alike.mean())
    return Verdict(
        of_all([apart <= ROUNDING]),
        f"Embedding and value of a token have a cosine of {cosine(mean)} on average, {cosine(float(alike.max()))} at "
        f"most, and lie {number(apart, 2)} of the embedding’s length apart: the values are the embeddings times a "
        "matrix that is learned.",
        0 if mean >= 0.99 else 1 if mean >= 0.5 else 2,
        tuple((f"{at} {tokens[at]}", float(value)) for at, value in enumerate(alike)),
        "cosine between embedding and value",
        full=1,
    )


def biases_cost_nothing(whole: Sequence[Tensor], without: Mapping[str, Sequence[Tensor]], parameters: int) -> Verdict:
    """The biases of query, key and value can be left out.

    Args:
        whole: the output (i, c) of each layer. without: "query", "key", "value" -> the same with that bias at 0.
        parameters: how many numbers these biases are.
        answers: all three; the query's alone; the key's alone; none.
    """
    apart = {name: max(relative(a, b) for a, b in zip(outs, whole, strict=True)) for name, outs in without.items()}
    free = frozenset(name for name, value in apart.items() if value <= ROUNDING)
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


def key_bias_changes_nothing(added: tuple[Tensor, Tensor], turned: tuple[Tensor, Tensor]) -> Verdict:
    """A number added to every key changes no weight.

    Args:
        added, turned: weights (h, i, j) with the key's bias and without, where positions are added to the embeddings,
            and where they turn queries and keys.
        answers: always; never; only if positions turn the keys.
    """
    plain, rotary = (float((a - b).abs().max()) for a, b in (added, turned))
    same = (plain <= ROUNDING, rotary <= ROUNDING)
    return Verdict(
        of_all(same),
        f"Without the key’s bias a weight changes by at most {small(plain)}: a query meets the same extra number "
        f"at every key, and the softmax takes it out. With rotary positions by up to {small(rotary)}, because the bias "
        "is turned along with the key.",
        {(False, False): 0, (True, True): 1, (True, False): 2}.get(same),
        (("positions added", plain), ("rotary positions", rotary)),
        "largest change of a weight without the key’s bias",
    )


def one_function(outs: tuple[Tensor, Tensor], maps: tuple[Tensor, Tensor], bound: float) -> Verdict:
    """Two implementations with one set of weights give the same.

    Args:
        outs, maps: output (b, i, c) and weights (b, h, i, j) of both.
        bound: the largest relative difference that is rounding.
        answers: not at all; below a millionth; more.
    """
    apart = {"output": relative(*outs), "maps": relative(*maps)}
    worst = max(apart.values())
    return Verdict(
        of_all([worst <= bound]),
        f"The largest relative difference is {scientific(worst)}; up to {scientific(bound)} is rounding in float32.",
        0 if worst == 0 else 1 if worst < 1e-6 else 2,
        tuple(apart.items()),
        "relative difference of naive and efficient",
    )


def within_what_was_said(draws: Sequence[float], real: float, said: float) -> Verdict:
    """An implementation lies no farther from torch than a text reports.

    Args:
        draws: relative differences, one a draw of random weights. real: that of a trained layer.
        said: what the text reports.
        answers: for every draw; for some; for none.
    """
    within = [value <= said for value in draws]
    least, *_, most = sorted(draws)
    return Verdict(
        of_all([all(within), real <= said] if all(within) else [*within, real <= said]),
        f"Over {count(len(draws), 'draw')} of weights the relative difference is {scientific(least)} to "
        f"{scientific(most)}, {sum(within)} of them within the {scientific(said)} that is reported. On a "
        f"trained, wider layer it is {scientific(real)}.",
        0 if all(within) else 1 if any(within) else 2,
        (("least of the draws", least), ("most", most), ("a layer of MiniLM", real), ("reported", said)),
        "relative difference to nn.MultiheadAttention",
    )


def any_axes(pairs: Mapping[str, tuple[Tensor, Tensor]]) -> Verdict:
    """One function serves tensors of any number of axes, and agrees with torch's.

    Args:
        pairs: shape in words -> what ours and torch's give.
        answers: to the last bit; up to rounding; not.
    """
    apart = {name: float((a - b).abs().max()) if a.shape == b.shape else float("inf") for name, (a, b) in pairs.items()}
    worst = max(apart.values())
    return Verdict(
        of_all([value <= ROUNDING for value in apart.values()]),
        f"The largest difference to torch’s own function over all {count(len(apart), 'shape')} is {scientific(worst)}.",
        0 if worst == 0 else 1 if worst <= ROUNDING else 2,
        tuple(apart.items()),
        "largest difference to F.scaled_dot_product_attention",
    )
