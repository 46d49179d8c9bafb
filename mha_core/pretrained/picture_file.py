"""Safe reader for untrusted picture files: format by content, size checked before decoding."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from torch import Tensor

from ..errors import HeadlightError, SizeError
from .folders import MEDIA, read_bytes

FORMATS = ("PNG", "JPEG", "WEBP")
MAX_BYTES = 10 * 2**20
MAX_PIXELS = 24_000_000
MAX_TIMES = 20  # ratio of the longer side to the shorter
NO_PICTURE = "this file is not a PNG, JPEG or WebP picture; choose one that is"


def read(picture: object) -> Any:
    """Return a picture upright and in RGB, as a Pillow image, with transparent parts white.

    Args:
        picture: a PNG, JPEG or WebP file as bytes or path; or uint8 (height, width, 3).

    Raises:
        SizeError: it is too large, or too long for its width.
        HeadlightError: it has another format, or is damaged.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    if isinstance(picture, Tensor):
        return _from_tensor(picture)
    if not isinstance(picture, (bytes, Path)):
        raise HeadlightError(f"a picture is bytes, a Path or a tensor, got {type(picture).__name__}")
    data = read_bytes(picture, "the picture", MAX_BYTES, "make it smaller")
    try:
        with MEDIA, Image.open(io.BytesIO(data), formats=FORMATS) as file:
            _check(*file.size)
            ImageOps.exif_transpose(file, in_place=True)
            return _on_white(file)
    except HeadlightError:
        raise
    except UnidentifiedImageError as error:
        raise HeadlightError(NO_PICTURE) from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise SizeError(f"the picture has more than {MAX_PIXELS:,} pixels; make it smaller") from error
    except Exception as error:  # the decoders raise errors of many types
        raise HeadlightError(f"the picture is damaged ({type(error).__name__}); choose another one") from error


def _check(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise SizeError(f"the picture has {width:,} × {height:,} pixels, at most {MAX_PIXELS:,} are read")
    if max(width, height) > MAX_TIMES * min(width, height):
        raise SizeError(f"a picture of {width:,} × {height:,} pixels is too long; cut a piece out of it")


def _from_tensor(pixels: Tensor) -> Any:
    from PIL import Image

    if str(pixels.dtype) != "torch.uint8" or pixels.dim() != 3 or pixels.shape[2] != 3 or not pixels.numel():
        raise SizeError(f"a picture is uint8 (height, width, 3), got {pixels.dtype} {tuple(pixels.shape)}")
    _check(pixels.shape[1], pixels.shape[0])
    return Image.fromarray(pixels.cpu().numpy())


def _on_white(image: Any) -> Any:
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits of grey
        image = image.point(lambda grey: grey / 256).convert("L")
    if not image.has_transparency_data:
        image.load()
        return image if image.mode == "RGB" else image.convert("RGB")
    image = image.convert("RGBA")
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white
