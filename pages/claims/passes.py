"""Passes that several claims rest on: of MiniLM, of its steps, and of one of its layers in any implementation."""

from dataclasses import replace

import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Run, Weights
from mha_core.attention import as_implementation
from mha_core.models.stack import Stack
from mha_core.positions import Rotary
from pages.kit.picture import pictures, traces
from pages.kit.picture.settings import Settings
from pages.kit.picture.sharing import turn

from .rules import rounding


def run_of(text: str, *, position: str = "trained") -> Run:
    """MiniLM on a sentence."""
    return pictures.picture(Settings(text, position=position)).run


def steps_of(text: str, layer: int) -> tuple[dict[str, Tensor], list[str]]:
    """The named tensors of a layer of MiniLM without the axis of the batch, and the tokens."""
    trace = traces.traced(Settings(text), layer, "fused")
    return {step.name: step.value[0].cpu() for step in trace.steps if "." not in step.name}, trace.tokens


def rounding_of(run: Run) -> float:
    """What rounding may leave of what MiniLM hands on, relative, on a sentence as long as this one."""
    sizes = pictures.model_on("auto").sizes
    d_model, d_head = sizes.d_model, sizes.d_model // sizes.n_heads
    return rounding.of_model(sizes.n_layers, len(run.tokens), d_model, d_head, sizes.d_feed_forward)


def attentions() -> list[tuple[Weights, int]]:
    """Weights and heads of each layer of MiniLM, on the CPU."""
    model = pictures.model_on("auto")

    def saved(stack: Stack) -> list[tuple[Weights, int]]:
        layers = [stack.block(layer).attention for layer in range(model.sizes.n_layers)]
        return [(as_implementation(layer, "efficient", "cpu").save(), layer.n_heads) for layer in layers]

    return model.compute(saved)[0]


def without(weights: Weights, *, field: str) -> Weights:
    """The same weights with one of the biases at 0."""
    return replace(weights, **{field: torch.zeros_like(getattr(weights, field))})


@torch.no_grad()
def passed(
    weights: Weights, n_heads: int, x: Tensor, position: Rotary | None = None, *, name: str = "efficient"
) -> tuple[Tensor, Tensor]:
    """Output (i, c) and weights (h, i, j) of one layer on x (i, c), in an implementation."""
    layer = IMPLEMENTATIONS[name](x.shape[-1], n_heads, bias=weights.q_bias is not None).eval().load(weights)
    with turn():
        out, map_ = layer(x, position=position)
    return out, map_
