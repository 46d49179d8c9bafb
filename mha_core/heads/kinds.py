"""Scores of heads for known attention patterns, such as the previous token or induction.

A kind is a set of cells of the map, and a head's score is the mean weight in them over the rows that have such a cell:
1 = all of its weight is there. The kinds are those of Elhage et al. 2021, "A Mathematical Framework for Transformer
Circuits", Olsson et al. 2022, "In-context Learning and Induction Heads", and Wang et al. 2022, "Interpretability in
the Wild".
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..errors import HeadlightError, SizeError


def _induction(ids: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Select the tokens that followed earlier occurrences of the query's token, except itself."""
    previous = torch.cat((ids.new_full((1,), -1), ids[:-1]))  # previous[j], the token in front of j
    return (previous[None, :] == ids[:, None]) & (j < i)


KINDS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    # the token just before
    "previous": lambda ids, i, j: j == i - 1,
    # the token just after; a causal map has nothing there
    "next": lambda ids, i, j: j == i + 1,
    # the token itself, except in the first row, where a causal map has nothing else
    "itself": lambda ids, i, j: (j == i) & (i > 0),
    # the first token, from all others: the attention sink of heads with nothing to add
    "first": lambda ids, i, j: (j == 0) & (i > 0),
    # an earlier same token
    "same": lambda ids, i, j: (ids[:, None] == ids[None, :]) & (j < i),
    "induction": _induction,
}
"""Kind -> function of ids (i,) and the index tensors i (i, 1) and j (1, j) that returns its cells; see `cells`."""


def cells(kind: str, ids: Sequence[int]) -> Tensor:
    """Return the cells of a kind as bool (i, j), on the CPU; "same" and "induction" need a repeated token.

    Raises:
        HeadlightError: no kind has that name.
    """
    if kind not in KINDS:
        raise HeadlightError(f"kind={kind!r} is not known; choose one of {', '.join(KINDS)}")
    place = torch.arange(len(ids))
    return KINDS[kind](torch.tensor(list(ids), dtype=torch.int64), place[:, None], place[None, :])


def count_rows(ids: Sequence[int]) -> dict[str, int]:
    """Count the rows of a text with a cell of each of `KINDS`, over which a score is the mean."""
    return {kind: int(cells(kind, ids).any(dim=1).sum()) for kind in KINDS}


def score(weights: Tensor, mask: Tensor) -> Tensor:
    """Return the mean weight of each head in the masked cells: (layers, h), float32, on the CPU.

    The mean is taken over the rows that have such a cell; it is nan if there is none.

    Args:
        weights: (layers, h, i, j).
        mask: bool (i, j), True = a cell that counts.

    Raises:
        SizeError: mask and maps have different sizes.
    """
    return _scores(weights, mask[None])[0]


def head_scores(weights: Tensor, ids: Sequence[int]) -> dict[str, Tensor]:
    """Return the scores of all heads for each of `KINDS`: {kind: (layers, h)}, as in `score`.

    Args:
        weights: (layers, h, i, j), as `Run.weights`.
        ids: the i tokens.

    Raises:
        SizeError: the maps are of another number of tokens.
    """
    masks = torch.stack([cells(kind, ids) for kind in KINDS])
    return dict(zip(KINDS, _scores(weights, masks), strict=True))


def _scores(weights: Tensor, masks: Tensor) -> Tensor:
    """Score maps (layers, h, i, j) by masks (kinds, i, j): (kinds, layers, h).

    It is nan where no row has a cell of the mask.

    Raises:
        SizeError: masks and maps have different sizes.
    """
    if weights.dim() != 4 or weights.shape[2:] != masks.shape[1:]:
        raise SizeError(
            f"weights {tuple(weights.shape)} and cells {tuple(masks.shape[1:])}: need (layers, h, i, j), (i, j)"
        )
    rows = masks.any(dim=2).sum(dim=1)
    picked = masks.to(weights.device, torch.float32).flatten(1).T
    # one matrix product per layer for all kinds: no intermediate is as large as all maps
    sums = torch.stack([layer.detach().flatten(1).float() @ picked for layer in weights])
    return (sums.cpu() / rows).permute(2, 0, 1)


def repeated_ids(vocabulary: int, period: int, seed: int = 0, times: int = 2) -> list[int]:
    """Repeat a random sequence of distinct tokens, whose second half only induction can predict.

    Raises:
        SizeError: a period of fewer than one token or more than the vocabulary has, or fewer than one time.
    """
    if not (1 <= period <= vocabulary and times >= 1):
        raise SizeError(f"period={period}, times={times}: choose 1 to {vocabulary} tokens, at least once")
    generator = torch.Generator().manual_seed(seed)  # torch's default generator is shared by all threads
    return torch.randperm(vocabulary, generator=generator)[:period].tolist() * times
