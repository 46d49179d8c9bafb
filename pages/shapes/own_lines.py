"""The lines of the exercise: for each function of attention the right one and its usual mistakes, as they are run.

Each is a function whose last line is what a visitor chooses.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Line = Callable[..., Tensor]


def without_transpose(x: Tensor, n_heads: int) -> Tensor:
    """(b, i, c) -> (b, h, i, d), the right shape and the wrong numbers."""
    b, i, c = x.shape
    return x.view(b, n_heads, i, c // n_heads)


def with_transpose(x: Tensor, n_heads: int) -> Tensor:
    """(b, i, c) -> (b, h, i, d)."""
    b, i, c = x.shape
    return x.view(b, i, n_heads, c // n_heads).transpose(1, 2)


def heads_behind_tokens(x: Tensor, n_heads: int) -> Tensor:
    """(b, i, c) -> (b, i, h, d): each token with its heads."""
    b, i, c = x.shape
    return x.view(b, i, n_heads, c // n_heads)


def undivided(q: Tensor, k: Tensor) -> Tensor:
    """(b, h, i, d), (b, h, j, d) -> (b, h, i, j): the bare products."""
    return q @ k.transpose(2, 3)


def divided_by_width(q: Tensor, k: Tensor) -> Tensor:
    """The same over d."""
    return q @ k.transpose(2, 3) / q.shape[-1]


def divided(q: Tensor, k: Tensor) -> Tensor:
    """The same over √d."""
    return q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])


def over_keys(scores: Tensor) -> Tensor:
    """(b, h, i, j) -> the same shape."""
    return torch.softmax(scores, dim=-1)


def over_heads(scores: Tensor) -> Tensor:
    """The same over h."""
    return torch.softmax(scores, dim=1)


def over_queries(scores: Tensor) -> Tensor:
    """The same over i."""
    return torch.softmax(scores, dim=2)


def joined_as_they_lie(mixed: Tensor) -> Tensor:
    """(b, h, i, d) -> (b, i, c), the right shape and the wrong numbers."""
    b, h, i, d = mixed.shape
    return mixed.reshape(b, i, h * d)


def viewed(mixed: Tensor) -> Tensor:
    """(b, h, i, d) -> (b, i, c), where the numbers lie so that this can be."""
    b, h, i, d = mixed.shape
    return mixed.transpose(1, 2).view(b, i, h * d)


def token_by_token(mixed: Tensor) -> Tensor:
    """(b, h, i, d) -> (b, i, c)."""
    b, h, i, d = mixed.shape
    return mixed.transpose(1, 2).reshape(b, i, h * d)


@dataclass(frozen=True)
class Gap:
    """A function that lacks its last line.

    Attributes:
        head: its first line. does: what it makes of what, in axes.
        lines: to choose from; which one is right, the layer says.
        given, made: names of the steps of the layer that go in and should come out.
    """

    head: str
    does: str
    lines: tuple[Line, ...]
    given: tuple[str, ...]
    made: str


GAPS = (
    Gap(
        "def split_heads(x, n_heads)",
        "(b, i, c) → (b, h, i, d): each head its own part of every token",
        (without_transpose, with_transpose, heads_behind_tokens),
        ("q.project",),
        "q",
    ),
    Gap(
        "def scores(q, k)",
        "(b, h, i, d), (b, h, j, d) → (b, h, i, j): how well each key fits each query",
        (undivided, divided_by_width, divided),
        ("q", "k"),
        "scores",
    ),
    Gap(
        "def weights(scores)",
        "(b, h, i, j) → (b, h, i, j): what weight a query gives each key",
        (over_keys, over_heads, over_queries),
        ("scores",),
        "weights",
    ),
    Gap(
        "def combine_heads(mixed)",
        "(b, h, i, d) → (b, i, c): the heads of a token side by side again",
        (joined_as_they_lie, viewed, token_by_token),
        ("mixed",),
        "joined",
    ),
)


def last_line(line: Line) -> str:
    """What the function returns, as its source has it."""
    return inspect.getsource(line).rstrip().splitlines()[-1].strip().removeprefix("return ")
