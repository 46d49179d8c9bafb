"""Values of rules: tensors with lettered axes, which may have tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mha_core.token_text import quote

from .grammar import RuleError

LETTERS = ("l", "h", "i", "j", "c")  # layers, heads, queries, keys, channels


@dataclass(frozen=True)
class Axis:
    """An axis: its letter, and its tokens, () if it has none."""

    letter: str
    tokens: tuple[str, ...] = ()

    def position(self, word: str, nth: int) -> int:
        """Return the index of the nth occurrence of a word; raise a RuleError without one."""
        if not self.tokens:
            raise RuleError(f"{quote(word)} is a word, but the axis {self.letter} has no words")
        return find_token(self.tokens, word, nth)


@dataclass(frozen=True)
class Value:
    """A tensor on the CPU with an axis for each dimension; a number has none."""

    tensor: Tensor
    axes: tuple[Axis, ...] = ()

    def __post_init__(self) -> None:
        if self.tensor.dim() != len(self.axes):
            raise ValueError(f"{self.tensor.dim()} dimensions and {len(self.axes)} axes")

    @classmethod
    def number(cls, value: float | bool) -> Value:
        """Return a value of one number, in float64, or one truth value."""
        return cls(torch.tensor(value, dtype=torch.bool if isinstance(value, bool) else torch.float64))

    @classmethod
    def from_tensor(cls, tensor: Tensor, letters: str, tokens: Sequence[str] = ()) -> Value:
        """Return a value with these axes, of which `i` and `j` have the tokens."""
        axes = (Axis(letter, tuple(tokens) if letter in "ij" else ()) for letter in letters.split())
        return cls(tensor.detach().cpu(), tuple(axes))

    def axis(self, letter: str) -> int:
        """Return the index of an axis by its letter; raise a RuleError without one."""
        letters = [axis.letter for axis in self.axes]
        if letter not in letters:
            raise RuleError(f"there is no axis {letter} in {' '.join(letters) or 'a single number'}")
        return letters.index(letter)

    @property
    def scalar(self) -> float:
        """The number.

        Raises:
            RuleError: the value has axes.
        """
        if self.axes:
            shape = " × ".join(f"{axis.letter} {size}" for axis, size in zip(self.axes, self.tensor.shape, strict=True))
            raise RuleError(f"a single number is needed, not {shape}")
        return float(self.tensor)

    @property
    def truth(self) -> bool:
        """The truth value.

        Raises:
            RuleError: the value is something else.
        """
        if self.tensor.dtype != torch.bool or self.axes:
            raise RuleError("a rule must be true or false: compare its numbers, and join many with all() or any()")
        return bool(self.tensor)

    @property
    def integer(self) -> int:
        """The whole number.

        Raises:
            RuleError: the value is something else.
        """
        number = self.scalar
        if number != int(number) if abs(number) < 1e9 else True:
            raise RuleError(f"an index must be a whole number, not {number:g}")
        return int(number)


def find_token(tokens: Sequence[str], word: str, nth: int) -> int:
    """Return the index of the nth occurrence of a word; raise a RuleError without one."""
    indices = [index for index, token in enumerate(tokens) if token == word]
    if not indices:  # regardless of case and of the prefix of word pieces
        indices = [n for n, token in enumerate(tokens) if token.removeprefix("##").casefold() == word.casefold()]
    if len(indices) < nth:
        again = f" {nth} times" if nth > 1 else ""
        raise RuleError(f"{quote(word)} does not occur{again} in the sentence")
    return indices[nth - 1]


def align(left: Value, right: Value) -> tuple[Tensor, Tensor, tuple[Axis, ...]]:
    """Align two values by their letters for elementwise operations, with size 1 for missing axes.

    Raises:
        RuleError: both have axes that the other lacks, or an axis has different sizes.
    """
    if len(left.axes) < len(right.axes):
        second, first, axes = align(right, left)
        return first, second, axes
    letters = [axis.letter for axis in left.axes]
    right_letters = [axis.letter for axis in right.axes]
    if any(letter not in letters for letter in right_letters):
        raise RuleError(f"axes {' '.join(letters)} and {' '.join(right_letters)} do not match")
    sizes = dict(zip(letters, left.tensor.shape, strict=True))
    for axis, size in zip(right.axes, right.tensor.shape, strict=True):
        if sizes[axis.letter] != size:
            raise RuleError(f"the axes {axis.letter} have {sizes[axis.letter]} and {size} places: they do not match")
    order = sorted(range(len(right_letters)), key=lambda index: letters.index(right_letters[index]))
    shape = [sizes[letter] if letter in right_letters else 1 for letter in letters]
    return left.tensor, right.tensor.permute(order).reshape(shape), left.axes
