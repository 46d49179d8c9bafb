"""The measurements that several properties share, each made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..errors import Unsupported
from .anatomy import Anatomy
from .identify import Identified
from .target import Target, change, distance, tolerance


@dataclass(frozen=True)
class HeadChannels:
    """The projection, by the index of its operation, and the channels in it that one head reads."""

    projection: int
    channels: tuple[int, ...]

    @property
    def all(self) -> list[int]:
        """Return the channels as an index."""
        return list(self.channels)


@dataclass
class Study:
    """An identified target, and what its user says of it.

    Attributes:
        identified: the target and how it is called.
        causal: whether it is meant to be causal by itself; None: unspecified.
        scale: the factor of the scores; None: 1 / √d_head.
        positions: "none", "absolute", "relative", "rotary", "rotary pairs" or "rotary halves"; "": unspecified.
        mask_true: what True means in the mask, "attends" or "blocks"; "": unspecified.
    """

    identified: Identified
    causal: bool | None = None
    scale: float | None = None
    positions: str = ""
    mask_true: str = ""

    @property
    def target(self) -> Target:
        """Return the target."""
        return self.identified.target

    @property
    def n(self) -> int:
        """Return the number of tokens of a text."""
        return self.identified.n

    @property
    def batch(self) -> int:
        """Return the number of texts."""
        return self.identified.batch

    @property
    def limit(self) -> float:
        """Return the relative difference below which two passes are the same."""
        return tolerance(self.target.dtype)

    @cached_property
    def x(self) -> Tensor:
        """Random inputs (b, n, c)."""
        return self.target.draw(self.n, self.batch)

    @cached_property
    def out(self) -> Tensor:
        """The output for x, without a mask (b, n, c)."""
        return self.run(self.x)

    def run(self, x: Tensor, **options: Tensor | None) -> Tensor:
        """Run the target without gradients and return its output (b, n, c)."""
        with torch.no_grad():
            return self.target(x.clone(), **options).out  # type: ignore[arg-type]

    def reach(self, n: int, allow: Tensor | None = None) -> Tensor:
        """Return how far each output (row) moves when each token (column) changes, (n, n), relative to the outputs."""
        x = self.target.draw(n, 1)
        out = self.run(x, allow=allow).nan_to_num()
        columns = [(self.run(change(x, token), allow=allow).nan_to_num() - out)[0].abs().amax(-1) for token in range(n)]
        return torch.stack(columns, 1) / out.abs().max()

    @cached_property
    def is_finite(self) -> bool:
        """Truth of: the output is finite, but for an end token that may attend to none."""
        return bool(self.out[:, 1:-1].isfinite().all())

    @cached_property
    def is_random(self) -> bool:
        """Truth of: two random seeds give two outputs in evaluation mode."""
        outs = []
        for seed in (0, 1):
            torch.manual_seed(seed)
            outs.append(self.run(self.x))
        return distance(*outs) > self.limit

    @cached_property
    def is_causal(self) -> bool:
        """Truth of: without a mask no token changes an earlier one, and some change later ones."""
        reach = self.reach(self.n) > self.limit
        return not bool(reach.triu(1).any()) and bool(reach.tril(-1).any())

    @cached_property
    def anatomy(self) -> Anatomy:
        """The pass in the autograd graph that most properties are read from.

        Raises:
            Unsupported: its parts cannot be seen.
        """
        return Anatomy(self.target, self.n, self.batch)

    @cached_property
    def pair(self) -> tuple[int, int]:
        """A query and an earlier key, which every mask of a language model leaves."""
        return self.n - 2, 2

    @cached_property
    def head_channels(self) -> tuple[list[HeadChannels], list[HeadChannels]]:
        """The channels from which each head takes its queries and its keys.

        Raises:
            Unsupported: the scores of the heads are not those of n_heads heads, or have no projection.
        """
        anatomy, (i, j) = self.anatomy, self.pair
        heads = anatomy.scores.shape[1]
        if heads != self.target.n_heads:
            raise Unsupported(f"its maps have {heads} heads, not n_heads={self.target.n_heads}")
        sides: tuple[list[HeadChannels], list[HeadChannels]] = ([], [])
        for head in range(heads):
            number = anatomy.scores[0, head, i, j]
            for token, side in ((i, sides[0]), (j, sides[1])):
                source = anatomy.source(number, token)
                if source is None:
                    raise Unsupported("its scores come from no projection of the inputs")
                channels = tuple(int(c) for c in source[1][0, token].nonzero().flatten())
                side.append(HeadChannels(source[0].index, channels))
        return sides
