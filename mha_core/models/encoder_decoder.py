"""An encoder that reads one text and a decoder that writes another, looking across at it (Vaswani et al. 2017)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .. import masks
from ..positions import LayerPart, Position
from .block import AttentionBlock, BlockSizes
from .stack import Stack

LayerSwitches = Callable[[int], dict[str, Any]]  # layer -> keyword arguments of its attention


@dataclass(frozen=True)
class EncoderDecoderSizes(BlockSizes):
    """Sizes of both halves, which have as many layers; `max_len` is the reader's.

    Attributes:
        target_len: the most tokens that the decoder reads, its start included.
    """

    target_len: int = 16


class Decoded(NamedTuple):
    """What a decoder made of a text that it wrote so far.

    Attributes:
        hidden: layers + 1 tensors (b, i, c), the first the embeddings.
        decoder: of each layer (b, h, i, i), who looks back at whom; None without maps.
        cross: of each layer (b, h, i, j), who looks across at whom; None without maps.
    """

    hidden: list[Tensor]
    decoder: list[Tensor | None]
    cross: list[Tensor | None]


def nothing_switched(layer: int) -> dict[str, Any]:
    """The switches of a decoder's layer as it was trained."""
    return {}


class EncoderDecoder(Stack):
    """Token ids of one text, and of another so far, to a number for each token that may come next in that one.

    As a `Stack` it is the encoder: see there for the passes that show its maps. Both texts share one table of
    embeddings, as in the paper's 3.4.
    """

    sizes: EncoderDecoderSizes

    def __init__(self, sizes: EncoderDecoderSizes) -> None:
        super().__init__(sizes)
        self.norm = nn.LayerNorm(sizes.d_model)
        self.target_position = self._target_sizes.encoding()
        back = replace(sizes, d_feed_forward=0)
        self.back_layers = nn.ModuleList(AttentionBlock(back) for _ in range(sizes.n_layers))
        self.cross_layers = nn.ModuleList(AttentionBlock(sizes) for _ in range(sizes.n_layers))
        self.out_norm = nn.LayerNorm(sizes.d_model)
        self.out = nn.Linear(sizes.d_model, sizes.vocabulary)

    @property
    def _target_sizes(self) -> EncoderDecoderSizes:
        return replace(self.sizes, max_len=self.sizes.target_len)

    def draw_positions(self, seed: int) -> None:
        super().draw_positions(seed)
        self.target_position = self._target_sizes.encoding(seed)

    def answer(self, x: Tensor) -> Tensor:
        """The decoder's last hidden state (b, i, c) -> (b, i, v)."""
        logits: Tensor = self.out(self.out_norm(x))
        return logits

    def logits(self, ids: Tensor, keep: Tensor, target: Tensor) -> Tensor:
        """ids int64 (b, j), keep bool (b, j), target int64 (b, i) -> (b, i, v): at each place what comes next."""
        return self.answer(self.decode(target, self.memory(ids, keep), keep, need_weights=False).hidden[-1])

    def memory(self, ids: Tensor, keep: Tensor | None = None) -> Tensor:
        """ids (b, j), keep bool (b, j) -> what the decoder looks at, (b, j, c)."""
        length = ids.shape[1]
        allow = None if keep is None else masks.allow(masks.full, length, length, keep, device=ids.device)
        normed: Tensor = self.norm(self.without_maps(ids, allow))
        return normed

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        keep: Tensor | None = None,
        *,
        position: Position | None = None,
        back: LayerSwitches = nothing_switched,
        cross: LayerSwitches = nothing_switched,
        need_weights: bool = True,
    ) -> Decoded:
        """target int64 (b, i) and memory (b, j, c) through all layers of the decoder.

        Args:
            keep: bool (b, j), False = padding that nobody looks at.
            position: of the decoder, instead of the trained encoding.
            back, cross: of each layer what differs, as keyword arguments of `AttentionLayer.forward`; an `allow` of
                theirs holds what is allowed in all, the causal mask in it.
        """
        len_q, len_k, device = target.shape[1], memory.shape[1], target.device
        position = self.target_position if position is None else position
        inside = LayerPart(position)
        backwards = masks.allow(masks.causal, len_q, len_q, device=device)
        across = None if keep is None else masks.allow(masks.full, len_q, len_k, keep, device=device)
        x = self.embed(target, position)
        decoded = Decoded([x], [], [])
        for layer, (look_back, look_across) in enumerate(zip(self.back_layers, self.cross_layers, strict=True)):
            own = {"allow": backwards, "position": inside, "need_weights": need_weights, **back(layer)}
            x, seen_back = look_back(x, **own)
            other = {"allow": across, "need_weights": need_weights, **cross(layer)}
            x, seen_across = look_across(x, memory=memory, **other)
            decoded.hidden.append(x)
            decoded.decoder.append(seen_back)
            decoded.cross.append(seen_across)
        return decoded

    def greedy(self, ids: Tensor, keep: Tensor | None, start: int, length: int) -> Tensor:
        """The likeliest token after another, int64 (b, length), of texts ids (b, j) with keep bool (b, j) or None."""
        memory = self.memory(ids, keep)
        written = torch.full((len(ids), 1), start, device=ids.device)
        for _ in range(length):
            last = self.decode(written, memory, keep, need_weights=False).hidden[-1][:, -1:]
            written = torch.cat([written, self.answer(last).argmax(dim=-1)], dim=1)
        return written[:, 1:]
