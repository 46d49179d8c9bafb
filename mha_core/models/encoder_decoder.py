"""An encoder-decoder with cross-attention (Vaswani et al. 2017)."""

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
    """Sizes of an encoder and a decoder with the same number of layers; `max_len` is the encoder's.

    Attributes:
        target_len: the maximum number of tokens that the decoder reads, including the start token.
    """

    target_len: int = 16


class Decoded(NamedTuple):
    """Hidden states and attention maps of one decoder pass.

    Attributes:
        hidden: layers + 1 tensors (b, i, c), the first the embeddings.
        decoder: self-attention maps (b, h, i, i) of each layer; None without maps.
        cross: cross-attention maps (b, h, i, j) of each layer; None without maps.
    """

    hidden: list[Tensor]
    decoder: list[Tensor | None]
    cross: list[Tensor | None]


def no_arguments(layer: int) -> dict[str, Any]:
    """Return no switches: the layer runs as it was trained."""
    return {}


class EncoderDecoder(Stack):
    """Encoder-decoder that predicts the next target token from a source text and the target so far.

    As a `Stack` it is the encoder: see there for the passes that return its maps. Both texts share one embedding table,
    as in section 3.4 of the paper.
    """

    sizes: EncoderDecoderSizes

    def __init__(self, sizes: EncoderDecoderSizes) -> None:
        super().__init__(sizes)
        self.norm = nn.LayerNorm(sizes.d_model)
        self.target_position = self._target_sizes.encoding()
        self_sizes = replace(sizes, d_feed_forward=0)
        self.back_layers = nn.ModuleList(AttentionBlock(self_sizes) for _ in range(sizes.n_layers))
        self.cross_layers = nn.ModuleList(AttentionBlock(sizes) for _ in range(sizes.n_layers))
        self.out_norm = nn.LayerNorm(sizes.d_model)
        self.out = nn.Linear(sizes.d_model, sizes.vocabulary)

    @property
    def _target_sizes(self) -> EncoderDecoderSizes:
        return replace(self.sizes, max_len=self.sizes.target_len)

    def draw_positions(self, seed: int) -> None:
        """Redraw the positional encodings of the encoder and the decoder."""
        super().draw_positions(seed)
        self.target_position = self._target_sizes.encoding(seed)

    def to_logits(self, x: Tensor) -> Tensor:
        """Map the decoder's last hidden state (b, i, c) to logits (b, i, v)."""
        logits: Tensor = self.out(self.out_norm(x))
        return logits

    def logits(self, ids: Tensor, keep: Tensor, target: Tensor) -> Tensor:
        """Return the next-token logits (b, i, v) at every target position.

        Args:
            ids: int64 (b, j), the source.
            keep: bool (b, j), True = a real token.
            target: int64 (b, i).
        """
        return self.to_logits(self.decode(target, self.encode_source(ids, keep), keep, need_weights=False).hidden[-1])

    def encode_source(self, ids: Tensor, keep: Tensor | None = None) -> Tensor:
        """Encode ids (b, j) with keep bool (b, j) to the normed memory (b, j, c)."""
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
        self_switches: LayerSwitches = no_arguments,
        cross_switches: LayerSwitches = no_arguments,
        need_weights: bool = True,
    ) -> Decoded:
        """Run target tokens through all layers of the decoder.

        Args:
            target: int64 (b, i).
            memory: (b, j, c), of `memory`.
            keep: bool (b, j), False = padding, which is masked out.
            position: used instead of the decoder's trained encoding.
            self_switches: layer -> keyword arguments of its self-attention, as in `AttentionLayer.forward`; an `allow`
                in them replaces the causal mask, so it has to contain it.
            cross_switches: the same for the cross-attention.
            need_weights: False leaves out the maps.
        """
        len_q, len_k, device = target.shape[1], memory.shape[1], target.device
        position = self.target_position if position is None else position
        layer_position = LayerPart(position)
        causal = masks.allow(masks.causal, len_q, len_q, device=device)
        keys = None if keep is None else masks.allow(masks.full, len_q, len_k, keep, device=device)
        x = self.embed(target, position)
        decoded = Decoded([x], [], [])
        for layer, (self_block, cross_block) in enumerate(zip(self.back_layers, self.cross_layers, strict=True)):
            self_arguments = {
                "allow": causal,
                "position": layer_position,
                "need_weights": need_weights,
                **self_switches(layer),
            }
            x, self_maps = self_block(x, **self_arguments)
            cross_arguments = {"allow": keys, "need_weights": need_weights, **cross_switches(layer)}
            x, cross_maps = cross_block(x, memory=memory, **cross_arguments)
            decoded.hidden.append(x)
            decoded.decoder.append(self_maps)
            decoded.cross.append(cross_maps)
        return decoded

    def greedy(self, ids: Tensor, keep: Tensor | None, start: int, length: int) -> Tensor:
        """Decode greedily: int64 (b, length) for source ids (b, j) with keep bool (b, j) or None."""
        memory = self.encode_source(ids, keep)
        target = torch.full((len(ids), 1), start, device=ids.device)
        for _ in range(length):
            last = self.decode(target, memory, keep, need_weights=False).hidden[-1][:, -1:]
            target = torch.cat([target, self.to_logits(last).argmax(dim=-1)], dim=1)
        return target[:, 1:]
