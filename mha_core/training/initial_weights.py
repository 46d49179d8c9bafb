"""Construction of a recipe's model, and the random initialisation of its weights."""

import math
from collections.abc import Sequence
from dataclasses import fields

import torch
from torch import Tensor, nn

from ..attention import IMPLEMENTATIONS, Weights
from ..attention.base import AttentionLayer
from ..models.block import BlockSizes
from ..models.classifier import Classifier, ClassifierSizes
from ..models.encoder_decoder import EncoderDecoder, EncoderDecoderSizes
from ..models.language_model import LanguageModel
from ..models.stack import Stack
from ..models.vision import VisionSizes, VisionTransformer
from .recipe import Recipe

_UNSHIFTED = ("torch", "efficient")  # their distributions differ, so one seed gives them different weights anyway


def build_stack(
    recipe: Recipe,
    vocabulary: int,
    *,
    classes: int = 0,
    max_len: int = 0,
    target_length: int = 0,
    picture: Sequence[int] = (),
) -> Stack:
    """Build the uninitialised model of a recipe; the other arguments are fields of `events.Start`."""
    names = {field.name for field in fields(BlockSizes)} & {field.name for field in fields(Recipe)} - {"vocabulary"}
    common = {name: getattr(recipe, name) for name in names}
    if picture:
        side, patch, registers = picture
        tokens = 1 + registers + (side // patch) ** 2
        common |= {"max_len": tokens, "classes": classes, "side": side, "patch": patch, "registers": registers}
        return VisionTransformer(VisionSizes(vocabulary=tokens, **common))
    if classes:
        common |= {"classes": classes, "pooling": recipe.pooling, "all_rows": recipe.all_rows}
        return Classifier(ClassifierSizes(vocabulary=vocabulary, **common))
    if target_length:
        return EncoderDecoder(EncoderDecoderSizes(vocabulary=vocabulary, target_len=target_length, **common))
    return LanguageModel(BlockSizes(vocabulary=vocabulary, **common | {"max_len": max_len}))


@torch.no_grad()
def init_weights(stack: Stack, seed: int, *, is_own: bool = False) -> None:
    """Initialise all parameters at random on the CPU, equally for a seed in every implementation.

    The positional encoding has its own generator, so that models that only differ in it share all other weights. Its
    seed differs as well: with the same one, a learned table would start with the same numbers as the embeddings.

    Args:
        stack: the model.
        seed: of the random numbers.
        is_own: each implementation has its own random numbers and distribution. Only that of "torch" differs:
            nn.MultiheadAttention initialises q, k and v by Xavier's rule, and biases with 0.
    """
    sizes = stack.sizes
    seed += _seed_offset(sizes.implementation) if is_own else 0
    generator = torch.Generator().manual_seed(seed)
    stack.draw_positions(2**32 - 1 - seed)  # torch's generator takes 32 bits
    for module in _parts(stack):
        if isinstance(module, AttentionLayer):
            weights = _attention(sizes.d_model, generator, xavier=is_own and sizes.implementation == "torch")
            # biases are always drawn, so that a model without them has the weights of the one with them
            module.load(weights.only(module.bias, module.v_bias, module.out_bias))
        elif isinstance(module, nn.Embedding):
            module.weight.normal_(generator=generator)
            if module.padding_idx is not None:
                module.weight[module.padding_idx] = 0
        elif isinstance(module, nn.Linear):
            weight, bias = _linear(module.out_features, module.in_features, generator)
            module.weight.copy_(weight)
            module.bias.copy_(bias)


def _seed_offset(implementation: str) -> int:
    """Return the offset between an implementation's own seeds and the requested seed."""
    others = [name for name in IMPLEMENTATIONS if name not in _UNSHIFTED]
    return 2**28 * (1 + others.index(implementation)) if implementation in others else 0


def _parts(module: nn.Module) -> list[nn.Module]:
    """Return all modules with parameters in the order of the forward pass; an attention layer is one of them."""
    if isinstance(module, AttentionLayer) or not list(module.children()):
        return [module]
    return [part for child in module.children() for part in _parts(child)]


def _linear(rows: int, columns: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw weight (rows, columns) and bias (rows,) as nn.Linear does, uniform within 1 / √columns."""
    bound = 1 / math.sqrt(columns)
    weight, bias = torch.empty(rows, columns), torch.empty(rows)
    return weight.uniform_(-bound, bound, generator=generator), bias.uniform_(-bound, bound, generator=generator)


def _attention(c: int, generator: torch.Generator, *, xavier: bool) -> Weights:
    (q, q_bias), (k, k_bias), (v, v_bias), (o, o_bias) = (_linear(c, c, generator) for _ in range(4))
    if xavier:
        bound = math.sqrt(6 / (c + 3 * c))  # nn.MultiheadAttention has one matrix (3 c, c) for q, k and v
        q, k, v = (torch.empty(c, c).uniform_(-bound, bound, generator=generator) for _ in range(3))
        q_bias = k_bias = v_bias = o_bias = torch.zeros(c)
    return Weights(q, k, v, o, q_bias, k_bias, v_bias, o_bias)
