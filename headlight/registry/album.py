"""The pictures and sounds for models that read no text, by the names that a link has for them: a few of ours, made by
code, and those that visitors bring, whose names nobody can guess.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import torch
from torch import Tensor

from headlight.server import store
from mha_core.errors import HeadlightError
from mha_core.pretrained import picture_file, sound_file

Given = bytes | Tensor
_SIDE = 224  # pixels
_RATE = 16_000  # samples a second


class Album(Mapping[str, Given]):
    """The pictures, or the sounds, by their names.

    Args:
        kind: of data that a visit brings; a name of theirs begins with it.
        most: bytes of a file.
        ours: what is made by code.
        read: raises a HeadlightError for what is no such file.
    """

    def __init__(
        self, kind: str, most: int, ours: Mapping[str, Callable[[], Given]], read: Callable[[bytes], object]
    ) -> None:
        self.kind, self.read = kind, read
        self.megabytes = most // 2**20
        self._ours = ours
        self._name = re.compile(rf"{kind}:([\w-]{{22}})", re.ASCII)

    def __getitem__(self, name: str) -> Given:
        """Raises a HeadlightError for a name that none has."""
        if name in self._ours:
            return self._ours[name]()
        found = self._name.fullmatch(name)
        if found is None:
            raise HeadlightError(
                f"this model reads {self.kind}s, no sentences: choose one of ours, or open a file on the page Explore"
            )
        content = store.read("data", found[1])
        if content is None:
            raise HeadlightError(f"this {self.kind} is gone: open its file again, or choose one of ours")
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self._ours)

    def __len__(self) -> int:
        return len(self._ours)

    def has(self, name: str) -> bool:
        """Tells whether one has this name, ours or a visitor's."""
        found = self._name.fullmatch(name)
        return name in self._ours or (found is not None and store.has("data", found[1]))

    def name_of(self, data: str | None) -> str:
        """The name of what a visit brought; "" where it brought nothing."""
        return f"{self.kind}:{data}" if data else ""


def _ball_and_box() -> Tensor:
    """A red ball at the top left and a blue box at the bottom right."""
    y, x = torch.meshgrid(torch.arange(_SIDE), torch.arange(_SIDE), indexing="ij")
    ball = (x - 66) ** 2 + (y - 70) ** 2 < 44**2
    box = (x >= 128) & (x < 202) & (y >= 122) & (y < 196)
    return _painted([(ball, (214, 60, 48)), (box, (44, 92, 190))])


def _odd_dot() -> Tensor:
    """Rows of grey dots, of which one is orange."""
    y, x = torch.meshgrid(torch.arange(_SIDE), torch.arange(_SIDE), indexing="ij")
    dots = (x % 56 - 28) ** 2 + (y % 56 - 28) ** 2 < 15**2
    odd = dots & (x // 56 == 2) & (y // 56 == 1)
    return _painted([(dots, (120, 124, 130)), (odd, (240, 140, 20))])


def _painted(layers: list[tuple[Tensor, tuple[int, int, int]]]) -> Tensor:
    """uint8 (height, width, 3): each colour where its layer is True, on paper."""
    pixels = torch.tensor((236, 232, 222), dtype=torch.uint8).expand(_SIDE, _SIDE, 3).clone()
    for layer, colour in layers:
        pixels[layer] = torch.tensor(colour, dtype=torch.uint8)
    return pixels


def _tones(*hertz: float) -> bytes:
    """Tones of half a second one after another; one of 0 hertz is silence."""
    at = torch.arange(_RATE // 2) / _RATE
    return sound_file.written(torch.cat([0.5 * torch.sin(2 * math.pi * one * at) for one in hertz]), _RATE)


PICTURES = Album(
    "picture",
    picture_file.MOST_BYTES,
    {"a ball and a box": _ball_and_box, "one odd dot": _odd_dot},
    picture_file.read,
)
SOUNDS = Album(
    "sound",
    sound_file.MOST_BYTES,
    {"a tone twice": partial(_tones, 440, 0, 440), "low, high, low": partial(_tones, 220, 880, 220)},
    lambda content: sound_file.read(content, _RATE),
)
ALBUMS = {album.kind: album for album in (PICTURES, SOUNDS)}


def is_there(name: str) -> bool:
    """Tells whether a picture or a sound has this name."""
    return any(album.has(name) for album in ALBUMS.values())
