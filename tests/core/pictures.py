"""Tiny vision transformers in folders of their own, and picture files."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import torch

from mha_core.pretrained import image_processor, offline

from . import tiny_models

SIDE, PATCH = 32, 8  # pixels
HEADS = {  # the class of those that have one for classes
    "vit": "ViTForImageClassification",
    "vit_msn": "ViTMSNForImageClassification",
    "ijepa": "IJepaForImageClassification",
    "deit": "DeiTForImageClassificationWithTeacher",
    "dinov2": "Dinov2ForImageClassification",
    "dinov2_with_registers": "Dinov2WithRegistersForImageClassification",
    "beit": "BeitForImageClassification",
    "data2vec-vision": "Data2VecVisionForImageClassification",
    "clip_vision_model": "CLIPVisionModel",
    "siglip_vision_model": "SiglipVisionModel",
}


def save(model_type: str, folder: Path, *, side: int = SIDE, patch: int = PATCH) -> Path:
    """A tiny model of that type with random weights, and how it is shown pictures."""
    library = offline.transformers()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    kind = getattr(library, HEADS[model_type])
    sizes = {"image_size": side, "patch_size": patch}
    model: Any = tiny_models.build(kind, CONFIG_MAPPING[model_type], **sizes)
    model.save_pretrained(folder)
    square = {"height": side, "width": side}
    getattr(library, image_processor.KINDS[model_type].processor)(size=square, crop_size=square).save_pretrained(folder)
    return folder


def image(width: int = 50, height: int = 40) -> Any:
    """Colours that change across and down, as an image of Pillow."""
    from PIL import Image

    across, down = torch.arange(width) * 255 // width, torch.arange(height)[:, None] * 255 // height
    pixels = torch.stack([across + 0 * down, 0 * across + down, (across * down) % 256], dim=-1)
    return Image.fromarray(pixels.to(torch.uint8).numpy())


def file(kind: str = "PNG", picture: Any = None, **how: Any) -> bytes:
    """The bytes of a picture file."""
    written = io.BytesIO()
    (image() if picture is None else picture).save(written, kind, **how)
    return written.getvalue()


def png_of(width: int, height: int) -> bytes:
    """A PNG file whose header says so, and which has no pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
