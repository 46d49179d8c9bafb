"""One text's way through a model, layer by layer, for texts whose maps of all layers would not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
from torch import Tensor

from ..errors import SizeError, Unsupported
from ..positions import LayerPart
from .inputs import padded
from .run import last_rows
from .stack import Stack, of_layer

if TYPE_CHECKING:
    from .model import Model

T = TypeVar("T")


class LayerPass:
    """What `Model.run` computes, with the same operations, so that its numbers are the same bit by bit.

    Only states between the layers are kept, i · d_model numbers each: from the one before it the maps of a layer come
    again for the price of the layers between.

    Args:
        model: of this package's own stacks.
        text, switches: as in `Model.run`.
        every: of so many states one is kept, and the one that entered the layer whose maps came last.

    Attributes:
        tokens, ids: as in `Run`.
        done: how many layers are computed.
        hidden: layer -> the state (i, d_model) that enters it, of those that are kept; 0: the embeddings, and the
            newest one is always there.
        notices: what happened that was not asked for.

    Raises what `Model.run` raises, and Unsupported for a model whose layers are not ours.
    """

    def __init__(self, model: Model, text: str | Sequence[int], *, every: int = 1, **switches: Any) -> None:
        if not goes_by_layer(model):
            raise Unsupported(f"{model.name} is no single stack of this package's layers; use run")
        self.model = model
        self.tokens, self.ids = model.tokenize(text)
        self._asked = model.switches(len(self.ids), None, **switches)
        self.every = every
        self.done = 0
        self.hidden: dict[int, Tensor] = {}
        self._latest: tuple[int, Tensor] | None = None  # a layer, and the state that enters it
        self.notices: tuple[str, ...] = model.notices

    def advance(self) -> Tensor:
        """Computes the next layer; returns its maps (h, i, j), of which nothing is kept.

        Raises:
            SizeError: there is none.
        """
        layer = self.done
        self._check(layer, self.model.sizes.n_layers)
        if not self.hidden:
            ids = padded([self.ids], self.model.pad_id)[0]
            self.hidden[0] = self._computed(
                lambda stack: stack.embed(ids.to(stack.device), self._asked(stack)["position"])
            )[0]
        x, maps = self._computed(lambda stack: self._through(stack, layer, self.hidden[layer]))
        self.hidden[layer + 1] = x
        if layer % self.every:
            del self.hidden[layer]
        self.done += 1
        return maps

    def maps(self, layer: int) -> Tensor:
        """The maps (h, i, j) of a layer that is computed, again.

        Raises:
            SizeError: it is not computed yet.
        """
        self._check(layer, self.done)
        return self._computed(lambda stack: self._again(stack, layer))

    def logits(self) -> Tensor | None:
        """(1, v), as `Run.logits`, once all layers are computed.

        Raises:
            SizeError: they are not.
        """
        n_layers = self.model.sizes.n_layers
        self._check(n_layers - 1, self.done)
        last = last_rows(self.hidden[n_layers][None], [len(self.ids)])
        found = self._computed(lambda stack: stack.next_token(last.to(stack.device)))
        return None if found is None else found[0]

    def _through(self, stack: Stack, layer: int, x: Tensor) -> tuple[Tensor, Tensor]:
        """The state (i, c) behind a layer, from the one that enters it, and the layer's maps (h, i, j)."""
        x, maps = stack.block(layer)(x[None].to(stack.device), **self._switches(stack, layer))
        return x[0], cast(Tensor, maps)[0]  # no switch of a run leaves them out

    def _again(self, stack: Stack, layer: int) -> Tensor:
        """The maps of a layer, from the last state before it that is kept."""
        first, x = self._latest or (-1, self.hidden[0])
        if first != layer:
            first = layer - layer % self.every
            x = self.hidden[first]
        for before in range(first, layer):
            x, _ = self._through(stack, before, x)
        self._latest = layer, x
        return stack.block(layer).maps(x[None].to(stack.device), **self._switches(stack, layer))[0]

    def _switches(self, stack: Stack, layer: int) -> dict[str, Any]:
        asked = self._asked(stack)
        return {**asked, "position": LayerPart(asked["position"]), "ablate": of_layer(asked["ablate"], layer)}

    def _computed(self, call: Callable[[Stack], T]) -> T:
        with torch.no_grad():
            found, notices = self.model.run_on_stack(call)
        self.notices = tuple(dict.fromkeys((*self.notices, *notices)))
        return found

    def _check(self, layer: int, known: int) -> None:
        if layer not in range(known):
            raise SizeError(f"layer {layer}: {known} of {self.model.sizes.n_layers} layers are there")


def goes_by_layer(model: Model) -> bool:
    """Tells whether a model is one stack of this package's layers."""
    return model.encoder is not None and len(model.groups) == 1
