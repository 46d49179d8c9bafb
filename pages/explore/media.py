"""The picture or sound that a model reads instead of text, and its division into tokens."""

import io
from typing import TypedDict

import torch
from torch import Tensor

from headlight.picture.link_query import LinkQuery
from headlight.picture.pictures import Picture
from mha_core import Run
from mha_core.errors import HeadlightError
from mha_core.models.run import Extras
from mha_core.pretrained import sound_file
from mha_core.pretrained.hf_model import HfModel


class PatchGrid(TypedDict):
    """The grid of patches of a picture."""

    specialTokens: int  # special tokens before the patches
    rows: int
    columns: int


class SoundWave(TypedDict):
    """The waveform of a sound, token by token."""

    seconds: float  # between the starts of two tokens
    wave: list[tuple[float, float]]  # minimum and maximum sample of each token, in -1 to 1


def patches(run: Run) -> PatchGrid | None:
    """Return the grid of patches of a run on a picture; None for other inputs."""
    grid = run.extras.image
    return None if grid is None else {"specialTokens": grid.n_special, "rows": grid.rows, "columns": grid.columns}


def sound(picture: Picture) -> SoundWave | None:
    """Return the waveform of a run on a sound; None for other inputs."""
    sound = picture.run.extras.audio
    if sound is None:
        return None
    moments = len(picture.model.tokenize(picture.settings.text)[1])
    return {"seconds": sound.step / sound.rate, "wave": wave(sound.samples, sound.step, moments)}


def wave(samples: Tensor, step: int, tokens: int) -> list[tuple[float, float]]:
    """Return the minimum and maximum of each token's `step` samples; 0 after the end of the sound."""
    missing = max(0, tokens * step - len(samples))
    cut = torch.nn.functional.pad(samples[: tokens * step], (0, missing)).view(tokens, step)
    low, high = cut.amin(1).tolist(), cut.amax(1).tolist()
    return [(round(lowest, 4), round(highest, 4)) for lowest, highest in zip(low, high, strict=True)]


def to_png(raw: bytes) -> bytes:
    """Return the picture at the model's input size as PNG."""
    from PIL import Image

    picture = _extras(raw).image
    if picture is None:
        raise HeadlightError("this model reads no pictures")
    buffer = io.BytesIO()
    Image.fromarray(picture.pixels.numpy()).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def to_wav(raw: bytes) -> bytes:
    """Return the sound at the model's sample rate as WAV."""
    sound = _extras(raw).audio
    if sound is None:
        raise HeadlightError("this model reads no sounds")
    return sound_file.to_wav(sound.samples, sound.rate)


def _extras(raw: bytes) -> Extras:
    query = LinkQuery(raw)
    text = query.fitted_settings()[0].text
    return query.model.features(text).extras if isinstance(query.model, HfModel) else Extras()
