"""Drawn pictures to classify: a circle, square, triangle or cross of random size, position and rotation, in noise.

A picture has a description, from which it is drawn again: "square, size 7, at 12 9, turned 30, noise 381".
"""

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ...errors import HeadlightError
from .base import Labelled, Row

SIDE, PATCH, REGISTERS = 28, 4, 1  # pixels, pixels, tokens
CLASSES = ("circle", "square", "triangle", "cross")
SIZES = (7, 11)  # pixels from the middle to the rim
_MAX_TURNED = 45  # degrees
_TRAIN_ROWS, _TEST_ROWS = 8000, 400
_NOISE = 0.12  # standard deviation; black is 0, white 1
_LEVELS = (0.15, 0.85)  # brightness of the background and of the shape
_NUMBER = re.compile(r"(size|turned|noise|at) (-?\d{1,9})(?: (-?\d{1,9}))?")


@dataclass(frozen=True)
class Drawing:
    """Parameters of a picture.

    Attributes:
        shape: a name of `CLASSES`.
        size: pixels from the centre to the rim.
        x: of the centre, in pixels from the left.
        y: of the centre, in pixels from the top.
        turned: the rotation, in degrees.
        noise: its seed.
    """

    shape: str
    size: int = 8
    x: int = SIDE // 2
    y: int = SIDE // 2
    turned: int = 0
    noise: int = 1

    @property
    def text(self) -> str:
        """Description of the picture."""
        place = f"at {self.x} {self.y}, turned {self.turned}, noise {self.noise}"
        return f"{self.shape}, size {self.size}, {place}"

    @cached_property
    def distance(self) -> Tensor:
        """Signed distance of each pixel's centre from the shape, negative inside, float (side, side)."""
        axis = torch.arange(SIDE) + 0.5
        across, down = torch.meshgrid(axis - self.x, axis - self.y, indexing="xy")
        angle = math.radians(self.turned)
        u = across * math.cos(angle) + down * math.sin(angle)
        v = down * math.cos(angle) - across * math.sin(angle)
        size = float(self.size)
        match self.shape:
            case "circle":
                return (u.square() + v.square()).sqrt() - 0.85 * size
            case "square":
                return torch.maximum(u.abs(), v.abs()) - 0.72 * size
            case "triangle":  # its sides are at equal distances from its centre
                sides = [u * math.sin(a) - v * math.cos(a) for a in (0.0, 2 * math.pi / 3, 4 * math.pi / 3)]
                return torch.stack(sides).amax(0) - 0.55 * size
        bar = size / 4
        flat, upright = torch.maximum(u.abs() - size, v.abs() - bar), torch.maximum(v.abs() - size, u.abs() - bar)
        return torch.minimum(flat, upright)

    @property
    def pixels(self) -> Tensor:
        """Picture, float (side, side), 0 to 1."""
        ground, shape = _LEVELS
        covered = (0.5 - self.distance).clamp(0, 1)  # the covered share of each pixel antialiases the edges
        generator = torch.Generator().manual_seed(self.noise)
        noise = _NOISE * torch.randn(SIDE, SIDE, generator=generator)
        return (ground + (shape - ground) * covered + noise).clamp(0, 1)

    @property
    def patches(self) -> list[int]:
        """Indices of the patches that overlap the shape, row by row."""
        inside = (self.distance < 0).unfold(0, PATCH, PATCH).unfold(1, PATCH, PATCH)
        indices: list[int] = inside.flatten(2).any(-1).flatten().nonzero()[:, 0].tolist()
        return indices


def read(text: str) -> Drawing:
    """Parse a description; missing parameters have their defaults.

    Raises:
        HeadlightError: it names no shape, or something is outside of the picture.
    """
    lowered = text.lower()
    shape = next((name for name in CLASSES if name in lowered), None)
    if shape is None:
        example = "“circle, size 8, at 14 14”"
        raise HeadlightError(f"no shape in {text!r:.60}; write one of {', '.join(CLASSES)}, as {example}")
    values: dict[str, int] = {}
    for name, first, second in _NUMBER.findall(lowered):
        if name == "at":
            values |= {"x": int(first), "y": int(second or first)}
        else:
            values[name] = int(first)
    drawing = Drawing(shape, **values)
    for name, low, high in (("size", 2, SIDE), ("x", 0, SIDE), ("y", 0, SIDE), ("noise", 0, 10**9)):
        if not low <= getattr(drawing, name) <= high:
            raise HeadlightError(f"{name} {getattr(drawing, name)}: choose {low} to {high:,}")
    return drawing


def draw_all(texts: Sequence[str]) -> Tensor:
    """Draw pictures from their descriptions, (b, side, side).

    Raises:
        HeadlightError: as `read`.
    """
    return torch.stack([read(text).pixels for text in texts])


@dataclass(frozen=True)
class Pictures(Labelled):
    """Pictures to classify: the text of a row is the description of its drawing."""

    sizes = (SIDE, PATCH, REGISTERS)

    @cached_property
    def pixels(self) -> tuple[Tensor, Tensor]:
        """Pictures of the training and of the test rows, (rows, side, side)."""
        train, test = (draw_all([row.text for row in rows]) for rows in (self.train, self.test))
        return train, test


def pictures(seed: int = 0) -> Pictures:
    """Generate random drawings, each with its own noise, so that training and test rows differ."""
    generator = random.Random(seed)
    rows = []
    for number in range(_TRAIN_ROWS + _TEST_ROWS):
        label, size = generator.randrange(len(CLASSES)), generator.randint(*SIZES)
        x, y = (generator.randint(size, SIDE - size) for _ in range(2))
        rows.append(Row(Drawing(CLASSES[label], size, x, y, generator.randrange(_MAX_TURNED), number).text, label))
    train, test = tuple(rows[:_TRAIN_ROWS]), tuple(rows[_TRAIN_ROWS:])
    questions = tuple(next(row.text for row in test if row.label == label) for label in range(len(CLASSES)))
    return Pictures("shapes", "Shapes", 1, CLASSES, train, test, questions, questions[:1])
