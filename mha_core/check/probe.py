"""The measurements that several properties share, each made once."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import Unsupported
from .graph import TEXT, PassGraph
from .recorder import Line
from .target import MaskForm, MaskTrial, Target, distance

BLOCKED = 1e8  # a score below −BLOCKED is that of a blocked key


class HeadChannels(NamedTuple):
    """The projection, by the index of its operation, and the channels in it that one head reads."""

    projection: int
    channels: tuple[int, ...]


@dataclass
class Probe:
    """Cached measurements of a target, with its calls and the options that its user gave."""

    target: Target
    n: int  # tokens of a text
    batch: int  # texts
    mask: MaskTrial | None = None
    padding: MaskTrial | None = None
    attends: bool = True  # a token moves the output of another
    notices: tuple[str, ...] = ()
    causal: bool | None = None  # it is meant to be causal by itself; None: unspecified
    scale: float | None = None  # the factor of the scores; None: 1 / √d_head
    positions: str = ""  # what is meant, one of `POSITIONS`
    mask_true: str = ""  # what True means in the mask, "attends" or "blocks"; "": unspecified

    @property
    def limit(self) -> float:
        """Return the relative difference below which two passes are the same."""
        return self.target.limit

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
        return torch.stack([self.target.moves(x, token, allow=allow)[0] for token in range(n)], 1)

    @cached_property
    def is_finite(self) -> bool:
        """Return whether the output is finite, but for an end token that may attend to none."""
        return bool(self.out[:, 1:-1].isfinite().all())

    @cached_property
    def is_ordered(self) -> bool:
        """Return whether tokens in another order have other outputs."""
        return distance(self.run(self.x.flip(1)).flip(1), self.out) > self.limit

    @cached_property
    def is_causal(self) -> bool:
        """Return whether no token changes an earlier one without a mask, and some change later ones."""
        reach = self.reach(self.n) > self.limit
        return not bool(reach.triu(1).any()) and bool(reach.tril(-1).any())

    @cached_property
    def graph(self) -> PassGraph:
        """The pass in the autograd graph that most properties are read from; others are copies with other inputs.

        Raises:
            Unsupported: its parts cannot be seen.
        """
        graph = PassGraph(self.target, self.n, self.batch)
        with contextlib.suppress(Unsupported):
            _ = graph.axes
            return graph
        # without maps to return, a layer may call torch's kernel, whose parts are known
        graph = replace(graph, target=self.target.without_weights())
        _ = graph.axes
        return graph

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Queries and keys that every head leaves, earlier keys first, then far ones, up to three tokens.

        Raises:
            Unsupported: there are none.
        """
        weights = self.graph.weights.detach()[TEXT].amin(0)
        pairs = [(i, j) for i, j in weights.gt(0).nonzero().tolist() if i != j]
        if not pairs:
            raise Unsupported("no query has weight on another token in every head")
        return sorted(pairs, key=lambda pair: (pair[0] > pair[1], min(abs(pair[0] - pair[1]), 3), pair), reverse=True)

    @cached_property
    def head_channels(self) -> tuple[list[HeadChannels], list[HeadChannels]]:
        """The channels from which each head takes its queries and its keys.

        Raises:
            Unsupported: the scores of the heads are not those of n_heads heads, or have no projection.
        """
        graph, pair = self.graph, self.pairs[0]
        heads = graph.scores.shape[1]
        if heads != self.target.n_heads:
            raise Unsupported(f"its maps have {heads} heads, not n_heads={self.target.n_heads}")
        sides: tuple[list[HeadChannels], list[HeadChannels]] = ([], [])
        for head in range(heads):
            for token, side in zip(pair, sides, strict=True):
                operation, slopes = graph.source(graph.scores[TEXT, head, *pair], token)
                channels = tuple(slopes[TEXT, token].nonzero().flatten().tolist())
                side.append(HeadChannels(operation.index, channels))
        return sides

    def mask_line(self, form: MaskForm | None) -> Line | None:
        """Return the last line that changes scores or weights with a mask and does not run without one."""
        with contextlib.suppress(Exception):
            allow = torch.ones(self.batch, self.n, self.n, dtype=torch.bool, device=self.x.device)
            masked = replace(self.graph, target=replace(self.graph.target, mask=form), allow=allow)
            plain = {operation.line for operation in self.graph.mask_steps}
            return [o.line for o in masked.mask_steps if o.line not in plain][-1]
        return None

    def value_source(self, head: int) -> tuple[PassGraph, int, tuple[int, ...]]:
        """Return a pass in which one head attends to the token itself, and the projection and channels it passes on.

        The other heads attend to token 0.

        Raises:
            Unsupported: it passes no projection on.
        """
        weights = torch.zeros_like(self.graph.weights).detach()
        weights[..., 0] = 1
        weights[:, head] = torch.eye(self.n, dtype=weights.dtype, device=weights.device)
        variant, token = self.graph.with_weights(weights), self.n // 2
        for projection in variant.value_sources(self.graph):
            slopes = variant.reads(variant.out_number(token), projection)
            if slopes is not None and bool(slopes[TEXT, token].any()):
                return variant, projection.index, tuple(slopes[TEXT, token].nonzero().flatten().tolist())
        raise Unsupported("its output reads no projection of the values")
