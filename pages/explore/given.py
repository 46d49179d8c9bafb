"""The picture or the sound that a model is given which reads no text, and how it is cut into tokens."""

import io
from typing import TypedDict

import torch
from torch import Tensor

from headlight.picture.link_query import LinkQuery
from headlight.picture.pictures import Picture
from mha_core import Run
from mha_core.errors import HeadlightError
from mha_core.pretrained import sound_file
from mha_core.pretrained.hf_model import HfModel


class SeenPatches(TypedDict):
    own: int  # tokens of no patch, which come first
    rows: int
    columns: int


class HeardSound(TypedDict):
    seconds: float  # from the beginning of a token to that of the next
    wave: list[tuple[float, float]]  # of each token the lowest and the highest sample, -1 to 1


def patches(run: Run) -> SeenPatches | None:
    """How the picture of a run is cut; None of anything else."""
    found = run.extras.patches
    return None if found is None else {"own": found.own, "rows": found.rows, "columns": found.columns}


def heard(picture: Picture) -> HeardSound | None:
    """The sound of a picture in the moments that its model makes of it; None of anything else."""
    found = picture.run.extras.heard
    if found is None:
        return None
    moments = len(picture.model.tokenize(picture.settings.text)[1])
    return {"seconds": found.step / found.rate, "wave": wave(found.samples, found.step, moments)}


def wave(samples: Tensor, step: int, tokens: int) -> list[tuple[float, float]]:
    """Of each token the lowest and the highest of its `step` samples, 0 where the sound has ended."""
    beyond = max(0, tokens * step - len(samples))
    cut = torch.nn.functional.pad(samples[: tokens * step], (0, beyond)).view(tokens, step)
    low, high = cut.amin(1).tolist(), cut.amax(1).tolist()
    return [(round(one, 4), round(other, 4)) for one, other in zip(low, high, strict=True)]


def png(raw: bytes) -> bytes:
    """The picture as large as the model reads it, a PNG file. Raises a HeadlightError."""
    from PIL import Image

    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    seen = query.model.features(settings.text).extras.patches if isinstance(query.model, HfModel) else None
    if seen is None:
        raise HeadlightError("this model reads no pictures")
    written = io.BytesIO()
    Image.fromarray(seen.pixels.numpy()).save(written, "PNG", compress_level=1)
    return written.getvalue()


def wav(raw: bytes) -> bytes:
    """The sound as the model hears it, a WAV file. Raises a HeadlightError."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    sound = query.model.features(settings.text).extras.heard if isinstance(query.model, HfModel) else None
    if sound is None:
        raise HeadlightError("this model reads no sounds")
    return sound_file.written(sound.samples, sound.rate)
