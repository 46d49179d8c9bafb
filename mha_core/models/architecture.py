"""The architecture of a model as plain data: boxes in the order of the pass, and arrows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import nn

STREAM, BRANCH, SIDE = range(3)  # lanes of a column: the residual stream, what is added to it, what enters from beside
Axes = tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class Box:
    """Part of a model.

    Attributes:
        name: unique in its model, as "attention norm".
        kind: "tokens", "embedding", "positions", "attention", "cross-attention", "add", "norm", "mlp", "pooling",
            "head", "probabilities", or "module" for a part that is none of them.
        title: its name on the screen, "RMSNorm".
        note: its sizes or its variant, in a few words.
        axes: letter and size of each axis of its output; None = the number of tokens of its column.
        paths: the modules that compute it, in order, with {} for the layer; none for an addition or a softmax.
        place: "before" the layers, in each "layer", or "after" them.
        column: 0, or 1 in the decoder of an encoder-decoder.
        lane: `STREAM`, `BRANCH` or `SIDE`.
        parameters: their number in each layer, or once outside of the layers.
    """

    name: str
    kind: str
    title: str
    note: str = ""
    axes: Axes = ()
    paths: tuple[str, ...] = ()
    place: str = "before"
    column: int = 0
    lane: int = STREAM
    parameters: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Architecture:
    """The boxes of a model in the order of its pass, and its arrows.

    Attributes:
        boxes: from the tokens to the output, the layers once.
        arrows: pairs of names, from a box to the one that reads its output; an "add" box has two or more.
        n_layers: how often the boxes in the "layer" run.
        norm: "pre-norm", "post-norm", or "" where a layer has no norm.
        n_parameters: of the whole model; the boxes have them all.
    """

    boxes: tuple[Box, ...]
    arrows: tuple[tuple[str, str], ...]
    n_layers: int
    norm: str
    n_parameters: int

    def box(self, name: str) -> Box | None:
        """Return the box of that name, None if there is none."""
        return next((box for box in self.boxes if box.name == name), None)

    def sources(self, name: str) -> list[str]:
        """Return the names of the boxes whose output a box reads."""
        return [source for source, target in self.arrows if target == name]


def count_parameters(module: nn.Module, boxes: Sequence[Box], n_layers: int) -> list[Box]:
    """Return the boxes with their numbers of parameters; a parameter belongs to the box with the longest path to it.

    Parameters outside of all boxes make a last one of their own. One that several modules share counts once.
    """
    counts = [[0] * (n_layers if any("{}" in path for path in box.paths) else 1) for box in boxes]
    paths = [(path.split("."), index) for index, box in enumerate(boxes) for path in box.paths]
    paths.sort(key=lambda pair: -len(pair[0]))
    rest = {id(weight): weight.numel() for weight in module.parameters()}
    for name, weight in module.named_parameters(remove_duplicate=False):
        parts = name.split(".")
        for path, index in paths if id(weight) in rest else ():
            pairs = list(zip(path, parts, strict=False))
            if len(path) <= len(parts) and all(a == b or (a == "{}" and b.isdecimal()) for a, b in pairs):
                layer = next((int(b) for a, b in pairs if a == "{}"), 0)
                counts[index][min(layer, len(counts[index]) - 1)] += rest.pop(id(weight))
                break
    counted = [replace(box, parameters=tuple(count)) for box, count in zip(boxes, counts, strict=True)]
    others = (sum(rest.values()),)
    unused = Box("other", "module", "other parameters", "outside of these boxes", place="after", parameters=others)
    return [*counted, unused] if rest else counted
