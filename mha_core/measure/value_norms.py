"""Attention weights times the norms of the transformed values: how much of a token arrives.

Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms": a head adds
α f(x) to the query's token, where f(x) = (x Wᵛ + bᵛ) Wᵒ, and ‖Σ α f(x)‖ over the heads measures how much one
token contributes to another.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..errors import SizeError, Unsupported
from ..models.block import AttentionBlock
from ..models.model import Model
from ..models.run import Run
from ..pretrained.hf_model import HfModel


def transformed_values(block: AttentionBlock, x: Tensor) -> Tensor:
    """Compute f(x) (h, j, c) of a block's input x (j, c): its values through the output matrix.

    Query heads that share their values have the same values, each through its own part of Wᵒ. The output bias belongs
    to no head and is left out.
    """
    layer, weights = block.attention, block.attention.save()  # the canonical matrices, (out, in)
    x = x if block.norm_after else block.attention_norm(x)
    v = F.linear(x, weights.v, weights.v_bias).view(len(x), layer.n_kv_heads, layer.d_head).transpose(0, 1)
    return _project(v, weights.o.T, layer.n_heads)


def _project(v: Tensor, o: Tensor, heads: int) -> Tensor:
    """Project values (kv heads, j, d) by Wᵒ (h·d, c) to (h, j, c); consecutive heads share values."""
    per_head = v.repeat_interleave(heads // len(v), dim=0)
    return (per_head @ o.reshape(heads, v.shape[-1], -1)).detach()


def layer_transformed_values(model: Model, run: Run, layer: int) -> Tensor:
    """Return the transformed values f(x) of a layer of a run, (h, j, c), on the model's device.

    Raises:
        Unsupported: only the maps of this model are available.
    """
    if model.encoder is not None:
        return transformed_values(model.stack.block(layer), run.hidden[layer].to(model.device))
    if (
        isinstance(model, HfModel) and run.extras.values and "lengths" not in model.reasons
    ):  # reasons why a feature is missing
        o = model.output_matrix(layer)
        return _project(run.extras.values[layer].to(o.device, torch.float32), o.float(), model.sizes.n_heads)
    raise Unsupported(f"{model.name} is computed by another library: its maps are available, its values are not")


def transformed_norms(model: Model, run: Run) -> Tensor:
    """Return the norms ‖f(x)‖ of the transformed values of a run: (layers, h, j), float32, on the CPU.

    Ablated heads and values have the norm that they would have otherwise.

    Raises:
        Unsupported: only the maps of this model are available.
    """
    values = (layer_transformed_values(model, run, layer) for layer in range(len(run.weights)))
    return torch.stack([torch.linalg.vector_norm(vectors.float(), dim=-1).cpu() for vectors in values])


def norm_shares(weights: Tensor, values: Tensor) -> Tensor:
    """Return ‖Σ α f(x)‖ of one layer as shares of each row: (i, j) float64.

    A row sums to 1, or is 0 where nothing is mixed in.

    Args:
        weights: (h, i, j), 0 for an ablated head or value.
        values: f(x) (h, j, c), of `transformed_values`.

    Raises:
        SizeError: they do not fit together.
    """
    if weights.dim() != 3 or values.dim() != 3 or weights.shape[::2] != values.shape[:2]:
        raise SizeError(f"weights {tuple(weights.shape)}, values {tuple(values.shape)}: need (h, i, j) and (h, j, c)")
    # ‖Σ α f‖² = Σ α α′ ⟨f, f′⟩ only needs the heads' dot products per key, not a vector per pair of tokens
    by_key = values.detach().cpu().double().transpose(0, 1)
    products = by_key @ by_key.mT  # (j, h, h)
    attention = weights.detach().cpu().double().permute(2, 1, 0)  # (j, i, h)
    norms = ((attention @ products) * attention).sum(dim=-1).clamp(min=0).sqrt().T
    sums = norms.sum(dim=-1, keepdim=True)
    return torch.where(sums > 0, norms / sums, 0.0)
