"""Maps that are easier to read: tokens merged into words, and keys hidden."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import SizeError
from ..models.words import Word


def merge_words(weights: Tensor, rows: Sequence[Word] | None, columns: Sequence[Word] | None) -> Tensor:
    """Merge the tokens of maps (…, i, j) into words: the sum over a word's keys, the mean over its queries.

    A row that summed to 1 still does.

    Args:
        weights: (…, i, j).
        rows: the words that the queries make up, one after another; None = each token stays.
        columns: the words that the keys make up; None = each token stays.

    Raises:
        SizeError: the words have another number of tokens than the map.
    """
    keys = weights if columns is None else _summed(weights, columns)
    if rows is None:
        return keys
    sizes = torch.tensor([word.size for word in rows], dtype=weights.dtype, device=weights.device)
    return (_summed(keys.mT, rows) / sizes).mT


def renormalise(weights: Tensor, hidden: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Set the weights of hidden keys to 0 and divide the rest of each row by its sum.

    Args:
        weights: (…, i, j).
        hidden: the keys to hide.

    Returns:
        weights: each row sums to 1, or is 0 if all of its weight was on hidden keys.
        sunk: (…, i), the share of each row on hidden keys.

    Raises:
        SizeError: no key is left, or one of them is out of range.
    """
    n = weights.shape[-1]
    if not all(0 <= key < n for key in hidden):
        raise SizeError(f"hidden={list(hidden)}: the keys are 0 to {n - 1}")
    if len(set(hidden)) == n:
        raise SizeError(f"all {n} keys are hidden, so no row has any weight left; show at least one")
    places = torch.tensor(sorted(set(hidden)), dtype=torch.long, device=weights.device)
    sunk = weights.index_select(-1, places).sum(dim=-1)
    left = weights.index_fill(-1, places, 0.0)
    sums = left.sum(dim=-1, keepdim=True)
    return torch.where(sums > 0, left / sums, left), sunk


def _summed(weights: Tensor, words: Sequence[Word]) -> Tensor:
    """Sum the keys of each word, (…, j) -> (…, words)."""
    tokens = sum(word.size for word in words)
    if tokens != weights.shape[-1]:
        raise SizeError(f"the words have {tokens} tokens, the map has {weights.shape[-1]}; use the words of its text")
    places = torch.tensor([index for index, word in enumerate(words) for _ in range(word.size)], device=weights.device)
    return weights.new_zeros(*weights.shape[:-1], len(words)).index_add_(-1, places, weights)
