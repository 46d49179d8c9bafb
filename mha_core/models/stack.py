"""What every model of Headlight is: embeddings, one positional encoding, and a stack of layers that attend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from .. import positions
from ..attention import IMPLEMENTATIONS
from ..attention.base import AttentionLayer
from ..errors import PositionError, Unsupported
from ..positions import InLayers, Learned, Position, Sinusoidal
from ..trace import Tracer, no_trace

__all__ = ["AttentionBlock", "BlockSizes", "Sizes", "Stack", "embedding"]

TOKENS_AT_ONCE = 1024  # beyond, a batch over heads is no faster and its maps grow large


class Sizes(Protocol):
    """What every stack can be asked for; `max_len` counts the special tokens."""

    @property
    def vocabulary(self) -> int: ...
    @property
    def d_model(self) -> int: ...
    @property
    def n_heads(self) -> int: ...
    @property
    def n_layers(self) -> int: ...
    @property
    def max_len(self) -> int: ...


@dataclass(frozen=True)
class BlockSizes:
    """Everything that decides the shape of a stack of `AttentionBlock`s.

    Attributes:
        implementation, d_feed_forward, residual, norm: as in `AttentionBlock`.
        position: a name of `positions.NAMES`.
        amplitude: of "sinusoidal" the factor on its waves, of "learned" the spread of its random start.
    """

    vocabulary: int
    d_model: int
    n_heads: int
    n_layers: int
    max_len: int
    implementation: str = "fused"
    position: str = "none"
    amplitude: float = 1.0
    d_feed_forward: int = 0
    residual: bool = False
    norm: bool = False

    def encoding(self, seed: int | None = None) -> Position:
        """The positional encoding; the seed is that of a learned table's random start."""
        made = positions.build(
            self.position, d_model=self.d_model, n_heads=self.n_heads, max_len=self.max_len, seed=seed
        )
        if isinstance(made, Sinusoidal):
            made.amplitude = self.amplitude
        if isinstance(made, Learned):
            if self.amplitude < 0:
                raise PositionError(f"amplitude={self.amplitude} is no spread for a learned table; choose 0 or more")
            generator = None if seed is None else torch.Generator().manual_seed(seed)
            made = Learned(self.d_model, self.max_len, std=self.amplitude, generator=generator)
        return made

    def blocks(self) -> nn.ModuleList:
        """The layers.

        Raises:
            Unsupported: the implementation is not known, or cannot serve the position.
        """
        kind, acts = IMPLEMENTATIONS[self.implementation], self.encoding().acts
        missing = sorted((acts & {"rotate", "bias"}) - kind.can)
        if missing:
            raise Unsupported(
                f"{self.implementation} cannot do {self.position} positions, which {' and '.join(missing)}; "
                f"choose another implementation, or sinusoidal, learned or no positions"
            )
        return nn.ModuleList(
            AttentionBlock(
                self.d_model,
                self.n_heads,
                implementation=self.implementation,
                d_feed_forward=self.d_feed_forward,
                residual=self.residual,
                norm=self.norm,
            )
            for _ in range(self.n_layers)
        )


class AttentionBlock(nn.Module):
    """One attention layer, and round it as much as is asked for; each part is normalised before, added after.

    Args:
        implementation: a name of `IMPLEMENTATIONS`.
        d_feed_forward: width of the network behind the attention, 0 = there is none.
        residual: the input is added to the attention's output.
        norm: the input is normalised before it goes in.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        implementation: str = "fused",
        d_feed_forward: int = 0,
        residual: bool = False,
        norm: bool = False,
    ) -> None:
        super().__init__()
        self.residual = residual
        self.attention: AttentionLayer = IMPLEMENTATIONS[implementation](d_model, n_heads)
        self.attention_norm = nn.LayerNorm(d_model) if norm else nn.Identity()
        self.feed_forward = (
            nn.Sequential(
                nn.LayerNorm(d_model) if norm else nn.Identity(),
                nn.Linear(d_model, d_feed_forward),
                nn.GELU(),
                nn.Linear(d_feed_forward, d_model),
            )
            if d_feed_forward
            else None
        )

    def forward(
        self,
        x: Tensor,
        *,
        allow: Tensor | None = None,
        position: Position | None = None,
        heads: Tensor | None = None,
        temperature: float = 1.0,
        need_weights: bool = True,
        trace: Tracer = no_trace,
        attention: AttentionLayer | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """x (b, i, c) -> x (b, i, c) and weights (b, h, i, j). Arguments as in `AttentionLayer.forward`."""
        mixed, weights = (self.attention if attention is None else attention)(
            self.attention_norm(x),
            allow=allow,
            position=position,
            heads=heads,
            temperature=temperature,
            need_weights=need_weights,
            trace=trace,
        )
        x = x + mixed if self.residual else mixed
        if self.feed_forward is not None:
            x = x + self.feed_forward(x)
        return x, weights


class Stack(nn.Module, ABC):
    """A base: who derives from it says how ids become the first hidden state, and what its layers are.

    Attributes:
        sizes: a frozen dataclass; the class called with it alone makes an equal stack.
        words: the token embeddings.
        position: the encoding that it was trained with.
        layers: each takes and gives what `AttentionBlock.forward` does.
        own_mask: written form of the mask that belongs to the model itself.
    """

    words: nn.Embedding
    position: Position
    layers: nn.ModuleList
    own_mask = "none"

    @abstractmethod
    def __init__(self, sizes: Any) -> None:
        super().__init__()
        self.sizes: Sizes = sizes

    @abstractmethod
    def embed(self, ids: Tensor, position: Position) -> Tensor:
        """ids int64 (b, i) -> the first hidden state (b, i, c), `position.add` in it."""

    def forward(
        self,
        ids: Tensor,
        *,
        allow: Tensor | None = None,
        position: Position | None = None,
        heads: Tensor | None = None,
        temperature: float = 1.0,
        trace_layer: int | None = None,
        trace: Tracer = no_trace,
        attention: AttentionLayer | None = None,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Runs token ids through all layers.

        Args:
            ids: int64 (b, i).
            allow: one mask for every layer, as in `AttentionLayer.forward`.
            position: used instead of the trained encoding.
            heads: bool (layers, h), False switches that head off.
            temperature: of every softmax.
            trace_layer, trace: the layer whose steps are recorded.
            attention: takes the place of that layer's own.

        Returns:
            hidden: layers + 1 tensors (b, i, c), the first the embeddings.
            weights: one (b, h, i, j) a layer.
        """
        position = self.position if position is None else position
        x = self.embed(ids, position)
        hidden, weights = [x], []
        within = InLayers(position)
        for number, layer in enumerate(self.layers):
            traced = number == trace_layer
            on = None if heads is None or bool(heads[number].all()) else heads[number]
            x, maps = layer(
                x,
                allow=allow,
                position=within,
                heads=on,
                temperature=temperature,
                trace=trace if traced else no_trace,
                attention=attention if traced else None,
            )
            hidden.append(x)
            weights.append(maps)
        return hidden, weights

    def without_each_head(
        self,
        ids: Tensor,
        *,
        allow: Tensor | None = None,
        position: Position | None = None,
        heads: Tensor | None = None,
        temperature: float = 1.0,
        told: Callable[[float], object] = lambda done: None,
    ) -> Tensor:
        """The mean of the last hidden state with one head more off, for each head alone: (layers, h, c).

        What lies before a head's layer is computed once, what lies behind it for several heads at once.

        Args:
            ids: int64 (1, i).
            allow, position, heads, temperature: as in `forward`.
            told: hears how much is done, 0 to 1.
        """
        position = self.position if position is None else position
        given: dict[str, Any] = {"allow": allow, "position": InLayers(position), "temperature": temperature}
        every, h = len(self.layers), self.sizes.n_heads
        on = torch.ones(every, h, dtype=torch.bool, device=ids.device) if heads is None else heads
        # the maps are not kept: those of a long text take more than all the rest
        entering = self(ids, allow=allow, position=position, heads=heads, temperature=temperature)[0]
        at_once = max(1, TOKENS_AT_ONCE // ids.shape[1])
        means = []
        for number, layer in enumerate(self.layers):
            alone = on[number] & ~torch.eye(h, dtype=torch.bool, device=ids.device)
            for group in torch.split(alone, at_once):
                x = layer(entering[number].expand(len(group), -1, -1), heads=group, **given)[0]
                for later in range(number + 1, every):
                    x = self.layers[later](x, heads=None if heads is None else on[later], **given)[0]
                means.append(x.mean(dim=1))
                told(sum(map(len, means)) / (every * h))
        return torch.cat(means).view(every, h, -1)

    def without_maps(self, ids: Tensor, allow: Tensor | None) -> Tensor:
        """ids (b, i) -> the last hidden state (b, i, c): what training needs, and no map is kept for anybody."""
        x = self.embed(ids, self.position)
        within = InLayers(self.position)
        for layer in self.layers:
            x, _ = layer(x, allow=allow, position=within, need_weights=False)
        return x


def embedding(vocabulary: int, d_model: int, padding: int | None = None) -> nn.Embedding:
    """An embedding whose numbers are still to come; `padding` is the id whose row stays as it is.

    nn.Embedding's own random start would, on the meta device, import torch's compiler (70 MB).
    """
    made: nn.Embedding = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
        torch.empty(vocabulary, d_model), freeze=False, padding_idx=padding
    )
    return made
