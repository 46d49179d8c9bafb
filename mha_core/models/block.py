"""Block of a stack: attention, then a feed-forward network."""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from .. import positions
from ..attention import implementation
from ..attention.base import AttentionLayer
from ..attention.switches import Ablation
from ..errors import Unsupported
from ..positions import Position


class StackAblation(NamedTuple):
    """Parts of a stack or block that a pass leaves out; the maps are still computed.

    Attributes:
        heads: bool (layers, h), of one block (h,) or (b, h); False = off, None = all are on.
        values: as in `Ablation`, for every layer.
        mlps: numbers of the layers whose MLP adds nothing.
        layers: numbers of the layers that hand on their input unchanged.
    """

    heads: Tensor | None = None
    values: Tensor | None = None
    mlps: frozenset[int] = frozenset()
    layers: frozenset[int] = frozenset()

    @property
    def attention(self) -> Ablation:
        """The part of the attention."""
        return Ablation(self.heads, self.values)


NOTHING_OFF = StackAblation()


@dataclass(frozen=True)
class BlockSizes:
    """Sizes that decide the shape of a stack of `AttentionBlock`s.

    Attributes:
        vocabulary: the number of tokens in the vocabulary.
        d_model: the width of the hidden states.
        n_heads: heads of a layer.
        n_layers: the number of blocks.
        max_len: the maximum number of tokens of a text, special tokens included.
        implementation: a name of `attention.IMPLEMENTATIONS`.
        position: a name of `positions.NAMES`.
        amplitude: of "sinusoidal" the factor on its waves, of "learned" the spread of its random start.
        bias: biases in the attention, on q, k, v and the output.
        out_bias: the bias of its output; None = like `bias`.
        dropout: probability of dropping an attention weight while training.
        d_feed_forward: width of the feed-forward network; 0 = there is none.
        residual: the input of each part is added to its output.
        norm: the input of each part is normalised (pre-norm).
        norm_after: with `norm`, the sum is normalised instead (post-norm).
        eps: added to the variance in layer norms.
    """

    vocabulary: int
    d_model: int
    n_heads: int
    n_layers: int
    max_len: int
    implementation: str = "fused"
    position: str = "none"
    amplitude: float = 1.0
    bias: bool = True
    out_bias: bool | None = None
    dropout: float = 0.0
    d_feed_forward: int = 0
    residual: bool = False
    norm: bool = False
    norm_after: bool = False
    eps: float = 1e-5

    def encoding(self, seed: int | None = None) -> Position:
        """Build the positional encoding; `seed` draws the random start of a learned table.

        Raises:
            PositionError: there is no such encoding, or it cannot serve these sizes.
        """
        return positions.build(
            self.position,
            d_model=self.d_model,
            n_heads=self.n_heads,
            max_len=self.max_len,
            seed=seed,
            amplitude=self.amplitude,
        )

    def blocks(self) -> nn.ModuleList:
        """Build the layers.

        Raises:
            Unsupported: the implementation is not known, or cannot serve the position.
        """
        required = positions.mechanisms(self.position) & {"rotate", "bias"}
        missing = sorted(required - implementation(self.implementation).can)
        if missing:
            raise Unsupported(
                f"{self.implementation} cannot do {self.position} positions, which {' and '.join(missing)}; "
                f"choose another implementation, or sinusoidal, learned or no positions"
            )
        return nn.ModuleList(AttentionBlock(self) for _ in range(self.n_layers))

    def attention_layer(self) -> AttentionLayer:
        """Build the attention of one block."""
        kind = implementation(self.implementation)
        return kind(self.d_model, self.n_heads, bias=self.bias, out_bias=self.out_bias, dropout=self.dropout)

    def norm_layer(self) -> nn.Module:
        """Build one layer norm over the channels of a token (Ba et al. 2016)."""
        return nn.LayerNorm(self.d_model, eps=self.eps)

    def network(self) -> list[nn.Module]:
        """Build the parts of one block's feed-forward network, in order."""
        wider = nn.Linear(self.d_model, self.d_feed_forward)
        return [wider, nn.GELU(), nn.Linear(self.d_feed_forward, self.d_model)]


class AttentionBlock(nn.Module):
    """Attention followed by a feed-forward network (Vaswani et al. 2017, 3.1).

    The sizes decide about residual connections and norms. BERT normalises the sum of a part's input and output
    (post-norm), GPT-2 the input alone (pre-norm), which trains without a warm-up of the learning rate (Xiong et al.
    2020).
    """

    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__()

        def norm(enabled: bool) -> nn.Module:
            return sizes.norm_layer() if enabled else nn.Identity()

        self.residual = sizes.residual
        self.norm_after = sizes.norm_after
        self.attention: AttentionLayer = sizes.attention_layer()
        self.attention_norm = norm(sizes.norm)
        self.feed_forward: nn.Sequential | None = None
        if sizes.d_feed_forward:
            self.feed_forward = nn.Sequential(norm(sizes.norm and not sizes.norm_after), *sizes.network())
            self.output_norm = norm(sizes.norm and sizes.norm_after)

    def forward(
        self,
        x: Tensor,
        *,
        attention: AttentionLayer | None = None,
        rows: int | None = None,
        memory: Tensor | None = None,
        ablate: StackAblation = NOTHING_OFF,
        **switches: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the block's output and its attention maps.

        Args:
            x: (b, i, c).
            attention: used instead of the block's own layer.
            rows: compute only the first `rows` queries, over all keys; None = all queries.
            memory: (b, j, c), already normed: keys and values of cross-attention; None = self-attention.
            ablate: of this block, whose MLP or all of which is off if `mlps` or `layers` is not empty.
            switches: keyword arguments of `AttentionLayer.forward`.

        Returns:
            x: (b, i, c).
            weights: (b, h, i, j), or None.
        """
        attend = self.attention if attention is None else attention
        query = self._query(x)
        key = query if memory is None else memory
        query = query if rows is None else query[:, :rows]
        attended, weights = attend(query, key, ablate=ablate.attention, **switches)
        if ablate.layers:
            return x[:, :rows], weights
        x = x[:, :rows] + attended if self.residual else attended
        x = self.attention_norm(x) if self.norm_after else x
        if self.feed_forward is not None:
            ff_out = torch.zeros_like(x) if ablate.mlps else self.feed_forward(x)
            x = self.output_norm(x + ff_out if self.residual else ff_out)
        return x, weights

    def maps(self, x: Tensor, *, ablate: StackAblation = NOTHING_OFF, **switches: Any) -> Tensor:
        """Return the weights (b, h, i, j) of `forward` without running the feed-forward network."""
        query = self._query(x)
        return cast(Tensor, self.attention(query, query, ablate=ablate.attention, **switches)[1])

    def _query(self, x: Tensor) -> Tensor:
        """Return the block's input as the attention reads it: normed first in a pre-norm block."""
        return x if self.norm_after else cast(Tensor, self.attention_norm(x))
