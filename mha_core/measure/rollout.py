"""Attention rollout: of which input tokens each token is made after every layer, were attention all that mixes them.

Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3. It assumes that all heads of a layer
count alike, that a token is half of what attention brings and half of itself (the residual connection), and that what
is mixed stays apart: values, output matrices, norms and feed-forward networks are left out.
"""

import torch
from torch import Tensor

from ..errors import SizeError


def with_residual(weights: Tensor) -> Tensor:
    """A layer's maps (…, i, i) -> of which tokens a token is made behind it, (…, i, i) float64, each row of sum 1.

    A token counts once more for itself and its row is divided by its sum: ½ weights + ½ I where a row sums to 1. Who
    may look at nobody stays as it is, and what a row gives to no token is left out of the sum.

    Raises:
        SizeError: the maps are not square.
    """
    if weights.dim() < 2 or weights.shape[-1] != weights.shape[-2]:
        raise SizeError(f"maps {tuple(weights.shape)}: only where rows and columns are the same tokens can one go on")
    whole = weights.detach().cpu().double() + torch.eye(weights.shape[-1], dtype=torch.float64)
    return whole / whole.sum(dim=-1, keepdim=True)


def rollout(weights: Tensor) -> Tensor:
    """Maps -> the share of input token j in token i after so many layers, (layers + 1, i, j) float64; rows sum to 1.

    [0] is the identity. The rows of [-1] are what is made of the whole model; the product goes over the layers, the
    last one first.

    Args:
        weights: (layers, h, i, i), over whose heads the mean is taken, as `Run.weights`; or (layers, i, i), a map each.

    Raises:
        SizeError: maps that are not square, or of other axes.
    """
    if weights.dim() not in (3, 4):
        raise SizeError(f"weights {tuple(weights.shape)}: need (layers, h, i, i) or (layers, i, i)")
    layers = with_residual(weights.detach().cpu().double().mean(dim=1) if weights.dim() == 4 else weights)
    made = [torch.eye(weights.shape[-1], dtype=torch.float64)]
    for layer in layers:
        made.append(layer @ made[-1])
    return torch.stack(made)
