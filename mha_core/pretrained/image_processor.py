"""Preprocessing of pictures for the vision transformers of transformers, by the folder's preprocessor settings.

The library's image processor of the family is used, which needs Pillow alone. Tokens are named by their patch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..errors import Unsupported, WeightsFileError
from ..models.run import Extras, PatchedImage
from ..models.vision import patch_token_names
from . import folders, offline, preprocessor
from .picture_file import read as read_picture
from .preprocessor import NO_TEXT, Features, NameTokenizer, Settings

SETTINGS = ("do_convert_rgb", "do_resize", "size", "resample", "do_center_crop", "crop_size", "do_rescale",
            "rescale_factor", "do_normalize", "image_mean", "image_std", "do_pad", "pad_size")  # fmt: skip
MAX_SIDE = 1024  # pixels
MAX_PATCHES = 1400


class Kind(NamedTuple):
    """A model family: its image processor in transformers, and its special tokens except registers."""

    processor: str
    special_tokens: tuple[str, ...]


KINDS = {name: Kind(processor, tuple(tokens)) for name, (processor, *tokens) in folders.NAMES["pictures"].items()}


class ImageProcessor(NameTokenizer):
    """Preprocessing of pictures, in place of a tokenizer.

    Attributes:
        names: of the tokens: special ones, then "row,column".
    """

    def __init__(self, processor: Any, kind: Kind, patch: int, registers: int, described: Settings) -> None:
        self.notices = described.notices
        self._processor = processor
        sides = {tuple(self._prepare(torch.zeros(*size, 3, dtype=torch.uint8)).shape[1:]) for size in ((9, 9), (9, 18))}
        if not bool(self._prepare(torch.full((9, 9, 3), 99, dtype=torch.uint8)).isfinite().all()):
            raise WeightsFileError(f"{described.file} turns a grey picture into values that are not finite")
        height, width = sides.pop()
        if sides or height % patch or width % patch:
            raise Unsupported(f"{described.file} does not make every picture so large that patches of {patch} fill it")
        self.rows, self.columns, self.patch = height // patch, width // patch, patch
        if self.rows * self.columns > MAX_PATCHES:
            raise Unsupported(f"it cuts pictures into {self.rows} × {self.columns} patches; at most {MAX_PATCHES}")
        super().__init__(
            patch_token_names(self.rows, self.columns, kind.special_tokens, registers), NO_TEXT.format("pictures")
        )

    def read(self, picture: object) -> Features:
        """Return the features of a picture, (1, 3, height, width), and the picture as the model sees it.

        Raises as `picture_file.read`.
        """
        image = read_picture(picture)
        visible = self._prepare(image, do_rescale=False, do_normalize=False)
        n_special = len(self.names) - self.rows * self.columns
        patches = PatchedImage(
            visible.permute(1, 2, 0).to(torch.uint8).contiguous(), n_special, self.rows, self.columns
        )
        return Features(self._prepare(image)[None], list(self.names), n_special, Extras(image=patches))

    def noise(self) -> tuple[Tensor, int]:
        """Return a picture of random pixels to check a model with, and its number of tokens."""
        sides = (3, self.rows * self.patch, self.columns * self.patch)
        return torch.randn(1, *sides, generator=torch.Generator().manual_seed(0)), len(self.names)

    def _prepare(self, image: Any, **more: Any) -> Tensor:
        if isinstance(image, Tensor):
            image = read_picture(image)
        pixels: Tensor = self._processor(image, return_tensors="pt", **more)["pixel_values"][0]
        return pixels


def read(folder: Path, config: Any) -> ImageProcessor:
    """Return the image processor of a folder's model.

    Raises:
        WeightsFileError: its description is missing or damaged.
        Unsupported: it has an unsupported setting.
    """
    kind = KINDS[config.model_type]
    kinds = dict.fromkeys((kind.processor, *(other.processor for other in KINDS.values())))
    described = preprocessor.settings(folder, "image_processor", SETTINGS, kinds)
    file, options = described.file, described.values
    for size in map(options.get, ("size", "crop_size", "pad_size")):
        sides = size.values() if isinstance(size, dict) else size if isinstance(size, list) else [size]
        for side in sides:
            if side is not None and not (type(side) is int and 1 <= side <= MAX_SIDE):
                raise WeightsFileError(f"{file} asks for a side of {side!r:.40} pixels; 1 to {MAX_SIDE:,} are read")
    patch = config.patch_size
    if not isinstance(patch, int) or not 1 <= patch <= MAX_SIDE:
        raise Unsupported(f"its patches are no squares (patch_size={patch!r:.40})")
    registers = int(getattr(config, "num_register_tokens", 0))
    library = offline.transformers()
    with folders.library_errors(f"{file} cannot be used"):
        return ImageProcessor(getattr(library, described.kind)(**options), kind, patch, registers, described)
