"""Maps as they are easier to read: pieces of words put together, and keys taken out of sight."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import SizeError
from ..models.words import Word


def merged(weights: Tensor, rows: Sequence[Word] | None, columns: Sequence[Word] | None) -> Tensor:
    """Maps (…, i, j) of tokens -> (…, words, words): the sum over the keys of a word, the mean over its queries.

    A row that summed to 1 still does: a word gives what its pieces give on average.

    Args:
        rows, columns: the words that the tokens make up, one after another; None = each token stays.

    Raises:
        SizeError: they have more tokens than the map, or fewer.
    """
    keys = weights if columns is None else _summed(weights, columns)
    if rows is None:
        return keys
    sizes = torch.tensor([word.size for word in rows], dtype=weights.dtype, device=weights.device)
    return (_summed(keys.mT, rows) / sizes).mT


def renormalised(weights: Tensor, hidden: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Maps (…, i, j) without some of their keys: these get 0, the rest of each row is divided by its sum.

    Returns:
        weights: each row sums to 1, or is 0 where it gave the hidden keys everything.
        sunk: (…, i), the share of each row that went to the hidden keys.

    Raises:
        SizeError: no key is left, or one of them is not there.
    """
    n = weights.shape[-1]
    if not all(0 <= key < n for key in hidden):
        raise SizeError(f"hidden={list(hidden)}: the keys are 0 to {n - 1}")
    if len(set(hidden)) == n:
        raise SizeError(f"all {n} keys are hidden, so nothing is left of a row; leave one of them")
    places = torch.tensor(sorted(set(hidden)), dtype=torch.long, device=weights.device)
    sunk = weights.index_select(-1, places).sum(dim=-1)
    left = weights.index_fill(-1, places, 0.0)
    sums = left.sum(dim=-1, keepdim=True)
    return torch.where(sums > 0, left / sums, left), sunk


def _summed(weights: Tensor, words: Sequence[Word]) -> Tensor:
    """(…, j) of tokens -> (…, words)."""
    tokens = sum(word.size for word in words)
    if tokens != weights.shape[-1]:
        raise SizeError(f"the words have {tokens} tokens, the map has {weights.shape[-1]} there; give one text’s")
    places = torch.tensor([at for at, word in enumerate(words) for _ in range(word.size)], device=weights.device)
    return weights.new_zeros(*weights.shape[:-1], len(words)).index_add_(-1, places, weights)
