"""Attention times the length of what it hands over: a weight alone does not tell how much of a token arrives.

Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms": a head adds
α f(x) to who looks, where f(x) = (x Wᵛ + bᵛ) Wᵒ, and ‖Σ α f(x)‖ over the heads is how much one token gives another.
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
    """What each token hands over to who gives it the whole weight: x (j, c), the block's input -> f(x) (h, j, c).

    Query heads that share their values have the same values, each through its own part of Wᵒ. The bias of the output
    is nobody's and left out.
    """
    layer, weights = block.attention, block.attention.save()
    x = x if block.norm_after else block.attention_norm(x)
    v = F.linear(x, weights.v, weights.v_bias).view(len(x), layer.n_kv_heads, layer.d_head).transpose(0, 1)
    return _through(v, weights.o.T, layer.n_heads)


def _through(v: Tensor, o: Tensor, heads: int) -> Tensor:
    """Values (kv heads, j, d) through Wᵒ (h·d, c) -> (h, j, c); heads that follow each other share values."""
    of_heads = v.repeat_interleave(heads // len(v), dim=0)
    return (of_heads @ o.reshape(heads, v.shape[-1], -1)).detach()


def handed_over(model: Model, run: Run, layer: int) -> Tensor:
    """f(x) of a layer of a run, (h, j, c), on the model's device.

    Raises:
        Unsupported: only the maps of this model are known here.
    """
    if model.encoder is not None:
        return transformed_values(model.stack.block(layer), run.hidden[layer].to(model.device))
    if isinstance(model, HfModel) and run.extras.values and "lengths" not in model.reasons:
        o = model.output_matrix(layer)
        return _through(run.extras.values[layer].to(o.device, torch.float32), o.float(), model.sizes.n_heads)
    raise Unsupported(f"{model.name} is computed elsewhere: only its maps are known here, not its values")


def handed_lengths(model: Model, run: Run) -> Tensor:
    """How long what each token hands over is, ‖f(x)‖ of every head: (layers, h, j), float32, on the CPU.

    Of a head, or a value, that was off it is what it would be.

    Raises:
        Unsupported: only the maps of this model are known here.
    """
    values = (handed_over(model, run, layer) for layer in range(len(run.weights)))
    return torch.stack([torch.linalg.vector_norm(own.float(), dim=-1).cpu() for own in values])


def norm_shares(weights: Tensor, values: Tensor) -> Tensor:
    """‖Σ α f(x)‖ of one layer as shares of its row: (i, j) float64, each row of sum 1; 0 where nothing is handed over.

    Args:
        weights: (h, i, j), 0 for a head or a value that is off.
        values: f(x) (h, j, c), of `transformed_values`.

    Raises:
        SizeError: they do not fit together.
    """
    if weights.dim() != 3 or values.dim() != 3 or weights.shape[::2] != values.shape[:2]:
        raise SizeError(f"weights {tuple(weights.shape)}, values {tuple(values.shape)}: need (h, i, j) and (h, j, c)")
    # ‖Σ α f‖² = Σ α α′ ⟨f, f′⟩: of a key the heads' products alone are needed, not a vector for every pair of tokens
    by_key = values.detach().cpu().double().transpose(0, 1)
    products = by_key @ by_key.mT  # (j, h, h)
    looks = weights.detach().cpu().double().permute(2, 1, 0)  # (j, i, h)
    norms = ((looks @ products) * looks).sum(dim=-1).clamp(min=0).sqrt().T
    sums = norms.sum(dim=-1, keepdim=True)
    return torch.where(sums > 0, norms / sums, 0.0)
