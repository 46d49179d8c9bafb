"""A forward pass that is computed layer by layer, for texts whose maps would not fit into memory together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
from torch import Tensor

from ..errors import SizeError, Unsupported
from ..positions import LayerPart
from .inputs import padded
from .run import last_rows
from .stack import Stack, layer_ablation

if TYPE_CHECKING:
    from .model import Model

T = TypeVar("T")


class LayerPass:
    """Forward pass of `Model.run`, layer by layer, with bitwise equal results.

    Only states between the layers are kept, i · d_model numbers each; the maps of an earlier layer are recomputed from
    the nearest kept state before it.

    Args:
        model: one with this package's own layers.
        text: as in `Model.run`.
        keep_every: keep every n-th state, and the one that entered the layer whose maps were requested last.
        switches: as in `Model.run`.

    Attributes:
        tokens: as in `Run`.
        ids: as in `Run`.
        done: the number of computed layers.
        hidden: layer -> the state (i, d_model) that enters it, of those that are kept; 0 = the embeddings. The newest
            one is always kept.
        notices: warnings about things that the caller did not ask for.

    Raises:
        HeadlightError: as in `Model.run`.
        Unsupported: the layers of the model are not of this package.
    """

    def __init__(self, model: Model, text: str | Sequence[int], *, keep_every: int = 1, **switches: Any) -> None:
        if not is_single_stack(model):
            raise Unsupported(f"{model.name} is not a single stack of this package's layers; use run")
        self.model = model
        self.tokens, self.ids = model.tokenize(text)
        self._run_switches = model.switches(len(self.ids), None, **switches)
        self.keep_every = keep_every
        self.done = 0
        self.hidden: dict[int, Tensor] = {}
        self._latest: tuple[int, Tensor] | None = None  # a layer, and the state that enters it
        self.notices: tuple[str, ...] = model.notices

    def advance(self) -> Tensor:
        """Compute the next layer and return its maps (h, i, j), which are not kept.

        Raises:
            SizeError: all layers are computed.
        """
        layer = self.done
        self._check(layer, self.model.sizes.n_layers)
        if not self.hidden:
            ids = padded([self.ids], self.model.pad_id)[0]
            self.hidden[0] = self._run_on_stack(
                lambda stack: stack.embed(ids.to(stack.device), self._run_switches(stack)["position"])
            )[0]
        x, maps = self._run_on_stack(lambda stack: self._run_layer(stack, layer, self.hidden[layer]))
        self.hidden[layer + 1] = x
        if layer % self.keep_every:
            del self.hidden[layer]
        self.done += 1
        return maps

    def maps(self, layer: int) -> Tensor:
        """Recompute the maps (h, i, j) of a computed layer.

        Raises:
            SizeError: it is not computed yet.
        """
        self._check(layer, self.done)
        return self._run_on_stack(lambda stack: self._recompute_maps(stack, layer))

    def logits(self) -> Tensor | None:
        """Return the logits of the last token, (1, v), as `Run.logits`.

        Raises:
            SizeError: not all layers are computed yet.
        """
        n_layers = self.model.sizes.n_layers
        self._check(n_layers - 1, self.done)
        last = last_rows(self.hidden[n_layers][None], [len(self.ids)])
        logits = self._run_on_stack(lambda stack: stack.next_token(last.to(stack.device)))
        return None if logits is None else logits[0]

    def _run_layer(self, stack: Stack, layer: int, x: Tensor) -> tuple[Tensor, Tensor]:
        """Run one layer on x (i, c); return its output (i, c) and its maps (h, i, j)."""
        x, maps = stack.block(layer)(x[None].to(stack.device), **self._switches(stack, layer))
        return x[0], cast(Tensor, maps)[0]  # the switches of a run never leave out the maps

    def _recompute_maps(self, stack: Stack, layer: int) -> Tensor:
        """Recompute the maps of a layer from the nearest kept state before it."""
        first, x = self._latest or (-1, self.hidden[0])
        if first != layer:
            first = layer - layer % self.keep_every
            x = self.hidden[first]
        for earlier in range(first, layer):
            x, _ = self._run_layer(stack, earlier, x)
        self._latest = layer, x
        return stack.block(layer).maps(x[None].to(stack.device), **self._switches(stack, layer))[0]

    def _switches(self, stack: Stack, layer: int) -> dict[str, Any]:
        switches = self._run_switches(stack)
        return {
            **switches,
            "position": LayerPart(switches["position"]),
            "ablate": layer_ablation(switches["ablate"], layer),
        }

    def _run_on_stack(self, call: Callable[[Stack], T]) -> T:
        with torch.no_grad():
            result, notices = self.model.run_on_stack(call)
        self.notices = tuple(dict.fromkeys((*self.notices, *notices)))
        return result

    def _check(self, layer: int, computed: int) -> None:
        if layer not in range(computed):
            raise SizeError(f"layer {layer}: {computed} of {self.model.sizes.n_layers} layers are computed")


def is_single_stack(model: Model) -> bool:
    """Return whether a model is one stack of this package's layers."""
    return model.encoder is not None and len(model.groups) == 1
