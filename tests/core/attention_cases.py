"""Cases of attention: inputs, masks and features, and one pass of an implementation or of the dense oracle."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Step, Weights, masks
from mha_core.attention import AttentionLayer
from mha_core.attention.switches import Ablation
from mha_core.positions import ALiBi, Learned, Position, Rotary, Shaw, Sinusoidal, T5Bias, Together

from .dense import dense_attention, flat, gradient_of

B, H, C, D = 2, 3, 12, 4

each = pytest.mark.parametrize("name", IMPLEMENTATIONS)


def keep(j: int) -> Tensor:
    return torch.arange(j) < torch.tensor([[j], [j - 2]])


def one_row_empty(i: int, j: int) -> Tensor:
    allow = torch.ones(B, 1, i, j, dtype=torch.bool)
    allow[1, 0, 2] = False
    return allow


def values_on(i: int, j: int) -> Tensor:
    """Another key of each head gives its value to its own row alone."""
    return torch.cat([masks.allow(masks.unseen(place), i, j) for place in (0, 2, 3)], dim=1)


MASKS: dict[str, Any] = {
    "none": lambda i, j: None,
    "causal": lambda i, j: masks.allow(masks.causal, i, j),
    "padding": lambda i, j: masks.allow(masks.full, i, j, keep(j)),
    "both": lambda i, j: masks.allow(masks.causal, i, j, keep(j)),
    "window": lambda i, j: masks.allow(masks.window(2), i, j),
    "empty row": one_row_empty,
    "per head": lambda i, j: torch.cat([masks.allow(masks.window(w), i, j) for w in (1, 2, 9)], dim=1),
}
FEATURES: dict[str, tuple[str, dict[str, Any]]] = {  # what an implementation needs for it, and the arguments
    "plain": ("maps", {}),
    "heads": ("heads", {"heads": torch.tensor([False, True, True])}),
    "cold": ("temperature", {"temperature": 0.5}),
    "hot": ("temperature", {"temperature": 3}),
    "added": ("maps", {"position": Sinusoidal(C)}),
    "rotated": ("rotate", {"position": Rotary(C // H)}),
    "in every place": ("rotate bias", {"position": Together(Together(Sinusoidal(C), Rotary(D)), Shaw(D, 2))}),
    "learned": ("maps", {"position": Learned(C, 6, std=1.0)}),
    "slanted": ("bias", {"position": ALiBi(H)}),
    "slanted, causal": ("bias", {"position": ALiBi(H, symmetric=False)}),
    "t5": ("bias", {"position": T5Bias(H)}),
    "t5, causal": ("bias", {"position": T5Bias(H, causal=True)}),
    "slanted and hot": ("bias temperature", {"position": ALiBi(H), "temperature": 2.5}),
    "values off": ("values_off", {"ablate": None}),  # made for the sizes of a case
}
# one encoding of each kind, by the place where it acts
EVERY: dict[str, Callable[[], Position]] = {
    "add Sinusoidal": lambda: Sinusoidal(C),
    "add Learned": lambda: Learned(C, 40),
    "rotate Rotary": lambda: Rotary(D),
    "bias ALiBi": lambda: ALiBi(H),
    "bias ALiBi causal": lambda: ALiBi(H, symmetric=False),
    "bias T5Bias": lambda: T5Bias(H),
    "bias T5Bias causal": lambda: T5Bias(H, causal=True),
    "bias Shaw": lambda: Shaw(D, 5),
}
PAIRS = ["self", "cross", "three"]
BIASES = [(True, True), (False, True), (True, False), (False, False)]  # of q, k and v; of the output


@dataclass(frozen=True)
class Case:
    mask: str
    pair: str
    feature: str
    biases: tuple[bool, bool] = (True, True)

    def __str__(self) -> str:
        return f"{self.mask}-{self.pair}-{self.feature}"

    @property
    def needs(self) -> set[str]:
        return set(FEATURES[self.feature][0].split()) | ({"head_mask"} if self.mask == "per head" else set())

    def inputs(self, dtype: torch.dtype) -> tuple[list[Tensor], dict[str, Any]]:
        """Tensors for query (, key (, value)), and the named arguments."""
        i, j = (5, 5) if self.pair == "self" else (4, 6)
        lengths = [i, j, j][: 1 + PAIRS.index(self.pair)]
        tensors = [torch.randn(B, n, C, dtype=dtype, requires_grad=True) for n in lengths]
        options = {"allow": MASKS[self.mask](i, j), **FEATURES[self.feature][1]}
        if "position" in options:
            options["position"] = copy.deepcopy(options["position"]).to(dtype)
        return tensors, options | ({"ablate": Ablation(None, values_on(i, j))} if "ablate" in options else {})


def cases_of(name: str) -> list[Case]:
    """The cases of an implementation: each mask, and twice each feature that it can do, with several kinds of input."""
    able = IMPLEMENTATIONS[name].can
    known = [mask for mask in MASKS if Case(mask, "self", "plain").needs <= able]
    features = [feature for feature in FEATURES if Case("none", "self", feature).needs <= able]
    pairs = [((f + again) % len(known), f) for again in (0, 3) for f in range(max(len(known), len(features)))]
    pairs = [(m, f % len(features)) for m, f in pairs]
    return [Case(known[m], PAIRS[(m + f) % 3], features[f], BIASES[(m + 3 * f) % 4]) for m, f in pairs]


def build(name: str, weights: Weights, n_heads: int = H) -> AttentionLayer:
    c, biases = len(weights.q), {"bias": weights.q_bias is not None, "out_bias": weights.o_bias is not None}
    kind, n_kv_heads = IMPLEMENTATIONS[name], len(weights.k) * n_heads // c
    return kind(c, n_heads, n_kv_heads=n_kv_heads, **biases).to(weights.q.dtype).load(weights)


def pull(out: Tensor, maps: Tensor | None, inputs: list[Tensor]) -> None:
    """A backward pass in which every number of the result counts differently."""
    loss = (out * torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view_as(out)).sum()
    if maps is not None:
        loss = loss + (maps * torch.linspace(-2, 1, maps.numel(), dtype=maps.dtype).view_as(maps)).sum()
    for tensor in inputs:
        tensor.grad = None
    torch.autograd.backward(loss)


def pass_of(
    name: str, weights: Weights, inputs: list[Tensor], options: dict[str, Any], need_weights: bool = True, h: int = H
) -> tuple[Tensor, Tensor | None, Tensor]:
    """out, maps and the whole gradient in one row: of the weights and of the inputs."""
    layer = build(name, weights, h)
    out, maps = layer(*inputs, **options, need_weights=need_weights)
    pull(out, maps, inputs)
    return out, maps, torch.cat([flat(gradient_of(layer)), *(x.grad.flatten() for x in inputs if x.grad is not None)])


def dense_pass(
    weights: Weights,
    inputs: list[Tensor],
    options: dict[str, Any],
    need_weights: bool = True,
    h: int = H,
    written_out: Callable[[Weights], Weights] = lambda weights: weights,
) -> tuple[Tensor, Tensor, Tensor]:
    """The same of the dense oracle, which knows no groups of heads: `written_out` gives each head its own rows.

    `need_weights` says whether the gradient is that of the maps too.
    """
    leaves = {name: None if t is None else t.clone().requires_grad_() for name, t in weights.items()}
    query, key, value = [*inputs, *inputs[-1:] * 2][:3]
    whole = written_out(Weights(**leaves))  # type: ignore[arg-type]
    out, maps = dense_attention(whole, query, key, value, h, **options)
    pull(out, maps if need_weights else None, inputs)
    grads = [x.grad.flatten() for x in [*leaves.values(), *inputs] if x is not None and x.grad is not None]
    return out, maps, torch.cat(grads)


ORDERS = {"h": "b h i j d c", "": "b i j c"}  # the canonical orders of axes, with and without heads


def canonical(step: Step) -> Tensor:
    """The value of a step with its axes in canonical order, whatever order its implementation teaches."""
    letters = step.axes.split()
    order = ORDERS["h" if "h" in letters else ""].split()
    return step.value.permute([letters.index(letter) for letter in order if letter in letters])
