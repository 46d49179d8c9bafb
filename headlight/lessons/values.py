"""What a part of a rule is worth: a tensor whose axes have letters, and tokens where they stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .grammar import RuleError

LETTERS = ("l", "h", "i", "j", "c")  # layers, heads, queries, keys, channels


@dataclass(frozen=True)
class Axis:
    """One axis: its letter, and the tokens that it counts, () where it counts something else."""

    letter: str
    tokens: tuple[str, ...] = ()

    def place(self, word: str, nth: int) -> int:
        """Where a word stands, the nth of its spelling. Raises a RuleError where it does not."""
        if not self.tokens:
            raise RuleError(f"“{word}” is a word, and the axis {self.letter} counts no words")
        return place(self.tokens, word, nth)


@dataclass(frozen=True)
class Value:
    """A tensor on the CPU, one axis a dimension; a number has none."""

    tensor: Tensor
    axes: tuple[Axis, ...] = ()

    def __post_init__(self) -> None:
        if self.tensor.dim() != len(self.axes):
            raise ValueError(f"{self.tensor.dim()} dimensions and {len(self.axes)} axes")

    @classmethod
    def number(cls, value: float | bool) -> Value:
        """A single number, in float64, or a truth value."""
        return cls(torch.tensor(value, dtype=torch.bool if isinstance(value, bool) else torch.float64))

    @classmethod
    def of(cls, tensor: Tensor, letters: str, tokens: Sequence[str] = ()) -> Value:
        """A tensor with these axes; `i` and `j` count the tokens."""
        axes = (Axis(letter, tuple(tokens) if letter in "ij" else ()) for letter in letters.split())
        return cls(tensor.detach().cpu(), tuple(axes))

    def axis(self, letter: str) -> int:
        """The number of an axis. Raises a RuleError where there is none of this letter."""
        letters = [axis.letter for axis in self.axes]
        if letter not in letters:
            raise RuleError(f"there is no axis {letter} in {' '.join(letters) or 'a single number'}")
        return letters.index(letter)

    @property
    def single(self) -> float:
        """The one number in it. Raises a RuleError of a whole tensor."""
        if self.axes:
            shape = " × ".join(f"{axis.letter} {size}" for axis, size in zip(self.axes, self.tensor.shape, strict=True))
            raise RuleError(f"a single number is needed, here are {shape}")
        return float(self.tensor)

    @property
    def truth(self) -> bool:
        """The one truth value in it. Raises a RuleError of anything else."""
        if self.tensor.dtype != torch.bool or self.axes:
            raise RuleError("a rule is true or false: compare its numbers, and join many with all() or any()")
        return bool(self.tensor)

    @property
    def whole(self) -> int:
        """The one whole number in it. Raises a RuleError of anything else."""
        number = self.single
        if number != int(number) if abs(number) < 1e9 else True:
            raise RuleError(f"a place is a whole number, not {number:g}")
        return int(number)


def place(tokens: Sequence[str], word: str, nth: int) -> int:
    """Where a word stands among tokens, the nth of its spelling. Raises a RuleError where it does not."""
    found = [at for at, token in enumerate(tokens) if token == word]
    if not found:  # as a decoder reads it: in its letters, and in pieces
        found = [at for at, token in enumerate(tokens) if token.removeprefix("##").casefold() == word.casefold()]
    if len(found) < nth:
        again = f" {nth} times" if nth > 1 else ""
        raise RuleError(f"“{word}” does not stand{again} in the sentence that is shown")
    return found[nth - 1]


def aligned(left: Value, right: Value) -> tuple[Tensor, Tensor, tuple[Axis, ...]]:
    """Two tensors that can be taken number by number: axes of equal letters meet, missing ones are repeated.

    Raises:
        RuleError: each has an axis that the other lacks, or equal letters of different sizes.
    """
    if len(left.axes) < len(right.axes):
        second, first, axes = aligned(right, left)
        return first, second, axes
    letters = [axis.letter for axis in left.axes]
    own = [axis.letter for axis in right.axes]
    if any(letter not in letters for letter in own):
        raise RuleError(f"axes {' '.join(letters)} and {' '.join(own)} do not fit together")
    sizes = dict(zip(letters, left.tensor.shape, strict=True))
    for axis, size in zip(right.axes, right.tensor.shape, strict=True):
        if sizes[axis.letter] != size:
            raise RuleError(f"the axes {axis.letter} have {sizes[axis.letter]} and {size} places: they do not fit")
    order = sorted(range(len(own)), key=lambda at: letters.index(own[at]))
    shape = [sizes[letter] if letter in own else 1 for letter in letters]
    return left.tensor, right.tensor.permute(order).reshape(shape), left.axes
