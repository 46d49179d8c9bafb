"""The pictures that models of vision are shown, by the names that a link has for them: two of ours, made by code, and
those that visitors bring, whose names nobody can guess.
"""

import re
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from mha_core.errors import HeadlightError
from mha_core.pretrained import picture_file
from mha_core.pretrained.picture_file import Picture
from pages.kit.server import store

PREFIX = "picture:"
KIND = "picture"  # of data that a visit brings
MEGABYTES = picture_file.MOST_BYTES // 2**20
NO_PICTURE = "this model reads pictures, no sentences: choose one of ours, or open a file on the page Explore"
GONE = "this picture is gone: open its file again, or choose one of ours"
_NAME = re.compile(rf"{PREFIX}([\w-]{{22}})", re.ASCII)
_SIDE = 224  # pixels


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


OURS: Mapping[str, Callable[[], Tensor]] = {"a ball and a box": _ball_and_box, "one odd dot": _odd_dot}


class _Album(Mapping[str, Picture]):
    """The pictures by their names. Raises a HeadlightError for what none has."""

    def __getitem__(self, name: str) -> Picture:
        if name in OURS:
            return OURS[name]()
        found = _NAME.fullmatch(name)
        if found is None:
            raise HeadlightError(NO_PICTURE)
        content = store.read("data", found[1])
        if content is None:
            raise HeadlightError(GONE)
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(OURS)

    def __len__(self) -> int:
        return len(OURS)


ALBUM = _Album()


def is_there(name: str) -> bool:
    """Tells whether a picture has this name."""
    found = _NAME.fullmatch(name)
    return name in OURS or (found is not None and store.has("data", found[1]))


def check(content: bytes) -> None:
    """Raises a HeadlightError where a file is no picture, or too large."""
    picture_file.read(content)
