"""Validation of a caller's inputs (texts, masks, parts to ablate) and conversion to tensors."""

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

Input = str | Sequence[int] | Path | Tensor  # a text or its ids; an image or audio clip as bytes, file path or tensor
Mask = str | masks.Rule | Tensor


class Encoding(Protocol):
    """Encoded text: tokens, ids, and the character span of each token."""

    @property
    def tokens(self) -> list[str]:
        """Tokens as strings."""

    @property
    def ids(self) -> list[int]:
        """Token ids."""

    @property
    def offsets(self) -> Sequence[tuple[int, int]]:
        """Start and end character of each token."""


class Tokenizer(Protocol):
    """Tokenizer interface that a model requires, met by the package `tokenizers`."""

    def encode(self, text: str, /) -> Encoding:
        """Encode a text, including special tokens."""

    def decode(self, ids: Sequence[int], /) -> str:
        """Return the text of these ids."""

    def id_to_token(self, token_id: int, /) -> str | None:
        """Return the token of an id; None for an unknown id."""

    def token_to_id(self, token: str, /) -> int | None:
        """Return the id of a token; None for an unknown token."""

    def get_vocab_size(self) -> int:
        """Return the number of tokens in the vocabulary."""


class Switches(TypedDict, total=False):
    """Options that make a run differ from the trained model; see `Model.run`."""

    mask: Mask
    position: str | Position
    heads_off: Iterable[tuple[int, int]]
    temperature: float
    values_off: Iterable[int]
    mlps_off: Iterable[int]
    layers_off: Iterable[int]


def padded(texts: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Pad the token ids of several texts to one batch.

    Returns:
        ids: int64 (b, i).
        keep: bool (b, i), True = a real token.
    """
    rows = [torch.tensor(ids, dtype=torch.int64) for ids in texts]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)
    lengths = torch.tensor([len(row) for row in rows])
    return ids, torch.arange(ids.shape[1]) < lengths[:, None]


def validated_ids(ids: Sequence[int], tokenizer: Tokenizer, vocabulary: int) -> tuple[list[str], list[int]]:
    """Validate the ids of a text and return its tokens and ids.

    Raises:
        HeadlightError: an element is not a valid token id.
    """
    wrong = [token_id for token_id in ids if not isinstance(token_id, int) or not 0 <= token_id < vocabulary]
    if wrong:
        raise HeadlightError(f"{wrong[0]!r:.40} is not a valid token id; choose whole numbers, 0 to {vocabulary - 1}")
    return ids_to_tokens(ids, tokenizer), list(ids)


def ids_to_tokens(ids: Sequence[int], tokenizer: Tokenizer) -> list[str]:
    """Convert ids to tokens, all at once if the tokenizer's tokens depend on their neighbours."""
    labels_in_text: Callable[[Sequence[int]], list[str]] | None = getattr(tokenizer, "labels_in_text", None)
    return labels_in_text(ids) if labels_in_text else [tokenizer.id_to_token(token_id) or "" for token_id in ids]


def is_no_mask(mask: Mask) -> bool:
    """Return whether this mask adds nothing to the model's own."""
    return mask is masks.full or (isinstance(mask, str) and mask == "none")


def combined_mask(
    mask: Mask, own_mask: str, n_heads: int, length: int, keep: Tensor | None, len_k: int | None = None
) -> Tensor | None:
    """Combine a mask with the model's own; None if nothing is masked, which is faster.

    Args:
        mask: mask expression, rule or bool tensor (i, j) | (h, i, j).
        own_mask: expression of the model's own mask.
        n_heads: h.
        length: i, the number of queries.
        keep: bool (b, j), True = a real token; None = no padding.
        len_k: the number of keys in cross-attention; None = self-attention.

    Raises:
        MaskError: it is not a mask expression, rule or bool tensor, or does not fit these sizes.
    """
    built_in, len_k = masks.parse(own_mask), length if len_k is None else len_k
    if isinstance(mask, Tensor):
        allow = masks.to_four_axes(mask, 1, n_heads, length, len_k)
        allow = allow & masks.allow(built_in, length, len_k, device=allow.device)
        return allow if keep is None else allow & keep.to(allow.device)[:, None, None, :]
    if not isinstance(mask, str) and not callable(mask):
        raise MaskError(f"mask must be a mask expression, a rule or a bool tensor, got {type(mask).__name__}")
    if keep is None and own_mask == "none" and is_no_mask(mask):
        return None
    rule = masks.parse(mask) if isinstance(mask, str) else mask
    allow = masks.allow(masks.both(built_in, rule), length, len_k, keep)
    return None if bool(allow.all()) else allow


def head_mask(heads_off: Iterable[tuple[int, int]], sizes: BlockSizes) -> Tensor | None:
    """Return bool (layers, h), False for the pairs (layer, head) in `heads_off`; None if there are none.

    Raises:
        SizeError: an element is not a (layer, head) pair of this model.
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


def layer_set(name: str, layers: Iterable[int], n_layers: int) -> frozenset[int]:
    """Return the layers of the switch `name`, each checked.

    Raises:
        SizeError: an element is not a layer of this model.
    """
    numbers = tuple(layers)
    wrong = [number for number in numbers if not isinstance(number, int) or number not in range(n_layers)]
    if wrong:
        raise SizeError(f"{name} has {wrong[0]!r}; give layers, 0 to {n_layers - 1}")
    return frozenset(map(int, numbers))


def value_mask(values_off: Iterable[int], length: int, len_k: int | None = None) -> Tensor | None:
    """Return bool (1, 1, i, j), False for the keys in `values_off`; None if there are none.

    In self-attention a token still mixes in its own value.

    Args:
        values_off: positions of tokens; those past the end of the text are ignored.
        length: i.
        len_k: j of cross-attention; None = self-attention.

    Raises:
        SizeError: an element is not a token position.
    """
    places = tuple(values_off)
    wrong = [place for place in places if not isinstance(place, int) or place < 0]
    if wrong:
        raise SizeError(f"values_off has {wrong[0]!r}; give token positions, counted from 0")
    if len_k is None:
        values = masks.allow(masks.unseen(*places), length, length)
    else:
        values = masks.allow(lambda i, j: (i >= 0) & ~torch.isin(j, torch.tensor(places, dtype=j.dtype)), length, len_k)
    return None if bool(values.all()) else values


def position_for(stack: Stack, position: str | Position, trained: Position | None = None) -> Position:
    """Return the encoding for a `position` argument of `Model.run`, built on the stack's device and in its dtype.

    Args:
        stack: the stack that will use it.
        position: as in `Model.run`.
        trained: replaces the stack's own encoding, in stacks with two of them.

    Raises:
        PositionError: the name is not known, or cannot serve this stack.
    """
    trained, sizes = stack.position if trained is None else trained, stack.sizes
    if isinstance(position, Position):
        return position
    if position == "trained" or (position == "rotary" and isinstance(trained, Rotary)):
        return trained  # rotary by name keeps the model's own base
    if isinstance(position, str) and positions.is_altered(position):
        if not isinstance(trained, Learned):
            raise PositionError(f"position={position!r} needs a learned table, which this model does not have")
        return positions.altered(trained, position)
    amplitude = None
    if position == "sinusoidal" and isinstance(trained, Learned):
        # as large as the trained rows: a wave of amplitude a has the root mean square a / √2
        amplitude = math.sqrt(2 * float(trained.table.detach().square().mean()))
    encoding = positions.build(  # the fixed seed makes equal calls give equal numbers
        position,
        d_model=sizes.d_model,
        n_heads=sizes.n_heads,
        max_len=sizes.max_len,
        seed=0,
        amplitude=amplitude,
    )
    return encoding.to(device=stack.device, dtype=stack.words.weight.dtype)
