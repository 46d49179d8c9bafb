"""Numbers of parameters that the texts' own models have, counted in models of their sizes."""

import torch

from mha_core import IMPLEMENTATIONS
from mha_core.training.initial_weights import stack_of
from mha_core.training.recipe import defaults

CLASSES = 5  # of the long post's news
MINILM_TOKENS = 30_522  # in the vocabulary that the long post gives up for one of its own


def counted() -> dict[str, int]:
    """Every number that the sentences of the texts name."""
    post, post_embedding = classifier(1000)
    minilm_post, minilm_embedding = classifier(MINILM_TOKENS)
    return {
        "lesson": layer(384, 12, bias=False, out_bias=True),
        "lesson_biased": layer(384, 12, bias=True, out_bias=True),
        "post": post,
        "post_embedding": post_embedding,
        "minilm_tokens": MINILM_TOKENS,
        "minilm_post": minilm_post,
        "minilm_embedding": minilm_embedding,
    }


def classifier(vocabulary: int) -> tuple[int, int]:
    """Parameters of the long post's classifier with so many tokens: all, and those of its embedding."""
    with torch.device("meta"):  # sizes only, no numbers
        model = stack_of(defaults("news"), vocabulary, classes=CLASSES)
    return sum(one.numel() for one in model.parameters()), model.words.weight.numel()


def layer(d_model: int, n_heads: int, *, bias: bool, out_bias: bool) -> int:
    with torch.device("meta"):
        made = IMPLEMENTATIONS["efficient"](d_model, n_heads, bias=bias, out_bias=out_bias)
    return sum(one.numel() for one in made.parameters())
