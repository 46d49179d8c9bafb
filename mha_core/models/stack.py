"""The base of every model: embeddings, one positional encoding, and a stack of attention blocks."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from ..attention import AttentionLayer, as_implementation
from ..positions import LayerPart, Offset, Position
from ..trace import Tracer, no_trace
from .block import NOTHING_OFF, AttentionBlock, BlockSizes, StackAblation

NO_OTHERS: Mapping[int, AttentionLayer] = {}
TOKENS_AT_ONCE = 1024  # beyond this a batch over heads is no faster, and its maps grow large


class Stack(nn.Module):
    """Embeddings and a stack of attention blocks; subclasses add the output head.

    Attributes:
        sizes: a frozen dataclass; the class called with it alone makes an equal stack.
        words: the token embeddings.
        position: the encoding that it was trained with.
        layers: the blocks.
        own_mask: expression of the mask that is built into the model.
        padding: the id whose embedding is not trained, if there is one.

    Raises:
        Unsupported: the implementation cannot serve the position.
    """

    own_mask = "none"
    padding: int | None = None

    def __init__(self, sizes: BlockSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.words = embedding(sizes.vocabulary, sizes.d_model, self.padding)
        self.position = sizes.encoding()
        self.layers = sizes.blocks()

    @classmethod
    def from_state(cls, sizes: Any, state: Mapping[str, Tensor]) -> Self:
        """Build a stack around these tensors, without copying them, in eval mode and without gradients.

        Raises:
            RuntimeError: the tensors are not those of such a stack.
        """
        with torch.device("meta"):  # skips the initialisation of weights that are replaced at once
            stack = cls(sizes)
        stack.load_state_dict(state, assign=True)
        return stack.eval().requires_grad_(False)

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.words.weight.device

    def block(self, layer: int) -> AttentionBlock:
        """Return the block of a layer, counted from 0."""
        return cast(AttentionBlock, self.layers[layer])

    def draw_positions(self, seed: int) -> None:
        """Redraw the positional encoding; `seed` is that of a learned table's random start."""
        self.position = self.sizes.encoding(seed)

    def as_implementation(self, name: str) -> Self:
        """Return a copy in eval mode whose attention layers are of that implementation.

        It shares the parameters without gradients with this stack, except for those of the attention layers.

        Raises:
            Unsupported: no implementation has that name.
        """
        # frozen weights are shared with the copy
        shared = {id(parameter): parameter for parameter in self.parameters() if not parameter.requires_grad}
        twin = copy.deepcopy(self, shared)
        twin.sizes = replace(self.sizes, implementation=name)
        for block in list(twin.modules()):
            if isinstance(block, AttentionBlock):
                block.attention = as_implementation(block.attention, name)
        return twin.eval()

    def embed(self, ids: Tensor, position: Position) -> Tensor:
        """Return the first hidden state (b, i, c) of ids int64 (b, i), including `position.add`."""
        return position.add(self.words(ids))

    def next_token(self, x: Tensor) -> Tensor | None:
        """Map the last hidden state (b, i, c) to next-token logits (b, i, v); None without such a head.

        None from a stack that was not made to predict one.
        """
        return None

    def forward(
        self,
        ids: Tensor,
        *,
        allow: Tensor | None = None,
        position: Position | None = None,
        ablate: StackAblation = NOTHING_OFF,
        temperature: float = 1.0,
        trace_layer: int | None = None,
        trace: Tracer = no_trace,
        attentions: Mapping[int, AttentionLayer] = NO_OTHERS,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Run token ids through all layers.

        Args:
            ids: int64 (b, i).
            allow: one mask for every layer, as in `AttentionLayer.forward`.
            position: used instead of the trained encoding.
            ablate: parts that are off.
            temperature: of every softmax.
            trace_layer: the layer whose steps are recorded.
            trace: the recorder.
            attentions: layer -> used instead of its own attention; with KV caches, `ids` are those of new tokens.

        Returns:
            hidden: layers + 1 tensors (b, i, c), the first the embeddings.
            weights: one (b, h, i, j) a layer.
        """
        position = self.position if position is None else position
        cache = attentions[0].cache if 0 in attentions else None
        x = self.embed(ids, Offset(position, cache.length) if cache is not None and cache.length else position)
        hidden, weights = [x], []
        switches: dict[str, Any] = {"allow": allow, "position": LayerPart(position), "temperature": temperature}
        for number, layer in enumerate(self.layers):
            record = trace if number == trace_layer else no_trace
            off = layer_ablation(ablate, number)
            x, maps = layer(x, attention=attentions.get(number), trace=record, ablate=off, **switches)
            hidden.append(x)
            weights.append(maps)
        return hidden, weights

    def without_maps(self, ids: Tensor, allow: Tensor | None, rows: int | None = None) -> Tensor:
        """Return the last hidden state (b, i, c) of ids (b, i) without computing maps, for training.

        With `rows` only its first rows, (b, rows, c): nothing reads the rest of the last layer.
        """
        x = self.embed(ids, self.position)
        position = LayerPart(self.position)
        for number, layer in enumerate(self.layers, 1):
            if rows is not None and number == len(self.layers):
                allow = None if allow is None else allow[..., :rows, :]
                x, _ = layer(x, rows=rows, allow=allow, position=position, need_weights=False)
            else:
                x, _ = layer(x, allow=allow, position=position, need_weights=False)
        return x

    def ablate_each_head(
        self,
        ids: Tensor,
        *,
        allow: Tensor | None = None,
        position: Position | None = None,
        ablate: StackAblation = NOTHING_OFF,
        temperature: float = 1.0,
        on_progress: Callable[[float], object] = lambda done: None,
    ) -> Tensor:
        """Return the mean of the last hidden state without each single head: (layers, h, c).

        The layers before that head run once, those behind it for several heads at once.

        Args:
            ids: int64 (1, i).
            allow: as in `forward`.
            position: as in `forward`.
            ablate: as in `forward`.
            temperature: as in `forward`.
            on_progress: called with the share of the work that is done, 0 to 1.
        """
        position = self.position if position is None else position
        switches: dict[str, Any] = {"allow": allow, "position": LayerPart(position), "temperature": temperature}
        n_layers, h = len(self.layers), self.sizes.n_heads
        heads = torch.ones(n_layers, h, dtype=torch.bool, device=ids.device) if ablate.heads is None else ablate.heads
        # the maps are dropped: those of a long text take more memory than all the rest
        entering = self(ids, allow=allow, position=position, ablate=ablate, temperature=temperature)[0]
        at_once = max(1, TOKENS_AT_ONCE // ids.shape[1])
        means: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            alone = heads[number] & ~torch.eye(h, dtype=torch.bool, device=ids.device)
            for group in torch.split(alone, at_once):
                off = layer_ablation(ablate, number)._replace(heads=group)
                x = layer(entering[number].expand(len(group), -1, -1), ablate=off, **switches)[0]
                for later in range(number + 1, n_layers):
                    x = self.layers[later](x, ablate=layer_ablation(ablate, later), **switches)[0]
                means.append(x.mean(dim=1))
                on_progress(sum(map(len, means)) / (n_layers * h))
        return torch.cat(means).view(n_layers, h, -1)


def layer_ablation(ablate: StackAblation, layer: int) -> StackAblation:
    """Select the ablation of one layer; None instead of a mask with all heads on takes the faster path."""
    heads = None if ablate.heads is None or bool(ablate.heads[layer].all()) else ablate.heads[layer]
    return ablate._replace(heads=heads, mlps=ablate.mlps & {layer}, layers=ablate.layers & {layer})


def embedding(vocabulary: int, d_model: int, padding: int | None = None) -> nn.Embedding:
    """Create an uninitialised embedding; `padding` is the id whose row is not trained.

    The random initialisation of nn.Embedding would, on the meta device, import torch's compiler (70 MB).
    """
    table: nn.Embedding = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
        torch.empty(vocabulary, d_model), freeze=False, padding_idx=padding
    )
    return table
