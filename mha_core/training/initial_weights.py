"""The model of a recipe: with empty parameters, and with the random start that a training gives them."""

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

_BY_THE_SEED = ("torch", "efficient")  # their laws differ, so that one seed gives them different layers


def stack_of(
    recipe: Recipe,
    vocabulary: int,
    *,
    classes: int = 0,
    longest: int = 0,
    target_length: int = 0,
    picture: Sequence[int] = (),
) -> Stack:
    """The model of a recipe, its parameters still empty; of the data it is told what `events.Start` has."""
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
    return LanguageModel(BlockSizes(vocabulary=vocabulary, **common | {"max_len": longest}))


@torch.no_grad()
def draw(stack: Stack, seed: int, *, own: bool = False) -> None:
    """Gives every parameter its random start, on the CPU: of a seed the same in every implementation, or each its own.

    The positional encoding has a generator of its own, so that models that differ in nothing else share all others. Its
    seed is another one too: from the same, a learned table would begin with the very numbers of the embeddings.

    Args:
        own: each implementation draws by itself, so that no two begin alike, and its attention layers by its own law.
            The law differs in "torch" alone: nn.MultiheadAttention draws q, k and v by Xavier's law and begins with
            biases of 0.
    """
    sizes = stack.sizes
    seed += _apart(sizes.implementation) if own else 0
    generator = torch.Generator().manual_seed(seed)
    stack.draw_positions(2**32 - 1 - seed)  # torch's generator uses no more than 32 bits
    for module in _parts(stack):
        if isinstance(module, AttentionLayer):
            drawn = _attention(sizes.d_model, generator, xavier=own and sizes.implementation == "torch")
            # drawn all the same: a model without biases begins with the weights of the one that has them
            module.load(drawn.only(module.bias, module.v_bias, module.out_bias))
        elif isinstance(module, nn.Embedding):
            module.weight.normal_(generator=generator)
            if module.padding_idx is not None:
                module.weight[module.padding_idx] = 0
        elif isinstance(module, nn.Linear):
            weight, bias = _linear(module.out_features, module.in_features, generator)
            module.weight.copy_(weight)
            module.bias.copy_(bias)


def _apart(implementation: str) -> int:
    """The distance of an implementation's own seeds from the seed that was asked for."""
    others = [name for name in IMPLEMENTATIONS if name not in _BY_THE_SEED]
    return 2**28 * (1 + others.index(implementation)) if implementation in others else 0


def _parts(module: nn.Module) -> list[nn.Module]:
    """Everything with parameters, in the order of the forward pass; an attention layer is one part."""
    if isinstance(module, AttentionLayer) or not list(module.children()):
        return [module]
    return [part for child in module.children() for part in _parts(child)]


def _linear(rows: int, columns: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """nn.Linear's law: weight (rows, columns) and bias (rows,), uniform within 1 / √columns."""
    bound = 1 / math.sqrt(columns)
    weight, bias = torch.empty(rows, columns), torch.empty(rows)
    return weight.uniform_(-bound, bound, generator=generator), bias.uniform_(-bound, bound, generator=generator)


def _attention(c: int, generator: torch.Generator, *, xavier: bool) -> Weights:
    (q, q_bias), (k, k_bias), (v, v_bias), (o, o_bias) = (_linear(c, c, generator) for _ in range(4))
    if xavier:
        bound = math.sqrt(6 / (c + 3 * c))  # q, k and v are one matrix (3 c, c) there
        q, k, v = (torch.empty(c, c).uniform_(-bound, bound, generator=generator) for _ in range(3))
        q_bias = k_bias = v_bias = o_bias = torch.zeros(c)
    return Weights(q, k, v, o, q_bias, k_bias, v_bias, o_bias)
