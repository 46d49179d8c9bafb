"""From what a caller writes (texts, a mask's name, heads to switch off) to the tensors that a stack takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypedDict

import torch
from torch import Tensor

from .. import masks, positions
from ..errors import HeadlightError, MaskError, PositionError, SizeError
from ..positions import Learned, Position, Rotary
from .block import BlockSizes
from .stack import Stack

Input = str | Sequence[int] | Path | Tensor  # a text or its ids; a picture or a sound by its bytes, its file or numbers
Mask = str | masks.Rule | Tensor


class Encoding(Protocol):
    """A text cut up: as it is read, numbers in the vocabulary, and from which to which character each token reaches."""

    @property
    def tokens(self) -> list[str]: ...
    @property
    def ids(self) -> list[int]: ...
    @property
    def offsets(self) -> Sequence[tuple[int, int]]: ...


class Tokenizer(Protocol):
    """What a model needs of a tokenizer, of the package `tokenizers` or another one."""

    def encode(self, text: str, /) -> Encoding:
        """The tokens of a text, special ones included."""

    def decode(self, ids: Sequence[int], /) -> str:
        """The text of these tokens."""

    def id_to_token(self, number: int, /) -> str | None:
        """The token of a number of the vocabulary; None where it has no such number."""

    def token_to_id(self, token: str, /) -> int | None:
        """The number of a token; None where it is in no vocabulary."""

    def get_vocab_size(self) -> int:
        """How many tokens there are."""


class Switches(TypedDict, total=False):
    """What one run changes in a model; what each means stands at `Model.run`."""

    mask: Mask
    position: str | Position
    heads_off: Iterable[tuple[int, int]]
    temperature: float
    values_off: Iterable[int]


def padded(texts: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Token ids of several texts as one batch, filled up to the longest.

    Returns:
        ids: int64 (b, i).
        keep: bool (b, i), True = a real token.
    """
    rows = [torch.tensor(ids, dtype=torch.int64) for ids in texts]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)
    lengths = torch.tensor([len(row) for row in rows])
    return ids, torch.arange(ids.shape[1]) < lengths[:, None]


def tokens_of_ids(ids: Sequence[int], tokenizer: Tokenizer, vocabulary: int) -> tuple[list[str], list[int]]:
    """Tokens and ids of a text that is given by its ids.

    Raises:
        HeadlightError: something in it is no number of the vocabulary.
    """
    wrong = [one for one in ids if not isinstance(one, int) or not 0 <= one < vocabulary]
    if wrong:
        raise HeadlightError(
            f"id {wrong[0]!r:.40} is not in the vocabulary; choose whole numbers, 0 to {vocabulary - 1}"
        )
    return read(ids, tokenizer), list(ids)


def read(ids: Sequence[int], tokenizer: Tokenizer) -> list[str]:
    """The tokens of these ids; of some tokenizers a token is read by the one before it."""
    together: Callable[[Sequence[int]], list[str]] | None = getattr(tokenizer, "read", None)
    return together(ids) if together else [tokenizer.id_to_token(one) or "" for one in ids]


def no_mask(mask: Mask) -> bool:
    """Whether nothing is asked for beside the model's own."""
    return mask is masks.full or (isinstance(mask, str) and mask == "none")


def combined_mask(
    mask: Mask, own_mask: str, n_heads: int, length: int, keep: Tensor | None, len_k: int | None = None
) -> Tensor | None:
    """The mask of all layers, the model's own in it; None when everything is allowed, which is faster.

    `len_k`: of other tokens that are looked at; None = the same ones.

    Raises:
        MaskError: it is no written form, rule or bool tensor, or does not fit these sizes.
    """
    own, len_k = masks.parse(own_mask), length if len_k is None else len_k
    if isinstance(mask, Tensor):
        allow = masks.four_axes(mask, 1, n_heads, length, len_k)
        allow = allow & masks.allow(own, length, len_k, device=allow.device)
        return allow if keep is None else allow & keep.to(allow.device)[:, None, None, :]
    if not isinstance(mask, str) and not callable(mask):
        raise MaskError(f"mask must be a written form, a rule or a bool tensor, got {type(mask).__name__}")
    if keep is None and own_mask == "none" and no_mask(mask):
        return None
    rule = masks.parse(mask) if isinstance(mask, str) else mask
    allow = masks.allow(masks.both(own, rule), length, len_k, keep)
    return None if bool(allow.all()) else allow


def head_mask(heads_off: Iterable[tuple[int, int]], sizes: BlockSizes) -> Tensor | None:
    """bool (layers, h), False for the pairs (layer, head) in `heads_off`; None when all are on.

    Raises:
        SizeError: something in it is no pair of a layer and a head of this model.
    """
    n_layers, h = sizes.n_layers, sizes.n_heads
    heads = torch.ones(n_layers, h, dtype=torch.bool)
    pairs = {(layer, head) for layer in range(n_layers) for head in range(h)}
    for pair in heads_off:
        if not isinstance(pair, (tuple, list)) or tuple(pair) not in pairs:
            ends = f"layers 0 to {n_layers - 1}, heads 0 to {h - 1}"
            raise SizeError(f"heads_off has {pair!r}; give pairs (layer, head), {ends}")
        heads[int(pair[0]), int(pair[1])] = False
    return None if bool(heads.all()) else heads


def value_mask(values_off: Iterable[int], length: int, len_k: int | None = None) -> Tensor | None:
    """bool (1, 1, i, j), False where another token would mix in the value of a key in `values_off`; None for none.

    `len_k`: as in `joint_mask`; of other tokens each is another one.

    Raises:
        SizeError: something in it is no place of a token. One that the text lacks changes nothing.
    """
    places = tuple(values_off)
    wrong = [place for place in places if not isinstance(place, int) or place < 0]
    if wrong:
        raise SizeError(f"values_off has {wrong[0]!r}; give places of tokens, counted from 0")
    if len_k is None:
        values = masks.allow(masks.unseen(*places), length, length)
    else:
        values = masks.allow(lambda i, j: (i >= 0) & ~torch.isin(j, torch.tensor(places, dtype=j.dtype)), length, len_k)
    return None if bool(values.all()) else values


def position_for(stack: Stack, position: str | Position, trained: Position | None = None) -> Position:
    """The encoding that `Model.run` was asked for; one that is built here is on the stack's device and in its dtype.

    `trained`: the encoding that takes the place of the stack's own, where it has two.

    Raises:
        PositionError: the name is not known, or cannot serve this stack.
    """
    trained, sizes = stack.position if trained is None else trained, stack.sizes
    if isinstance(position, Position):
        return position
    if position == "trained" or (position == "rotary" and isinstance(trained, Rotary)):
        return trained  # of rotations, those with the model's own base
    if isinstance(position, str) and positions.is_altered(position):
        if not isinstance(trained, Learned):
            raise PositionError(f"position={position!r} needs a learned table, which this model does not have")
        return positions.altered(trained, position)
    amplitude = None
    if position == "sinusoidal" and isinstance(trained, Learned):
        # as large as the trained rows: a wave of amplitude a has the root mean square a / √2
        amplitude = math.sqrt(2 * float(trained.table.detach().square().mean()))
    encoding = positions.build(  # with a seed: the same call gives the same numbers
        position,
        d_model=sizes.d_model,
        n_heads=sizes.n_heads,
        max_len=sizes.max_len,
        seed=0,
        amplitude=amplitude,
    )
    return encoding.to(device=stack.device, dtype=stack.words.weight.dtype)
