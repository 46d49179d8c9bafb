"""What a model is given: the picture or sound of one that reads no text, and how it is cut into tokens; a sentence with
a word replaced by the mask token.
"""

import io
import json
from typing import TypedDict

import torch
from torch import Tensor

from headlight.picture.link_query import LinkQuery
from headlight.picture.pictures import Picture
from headlight.registry import source_of
from mha_core import Run
from mha_core.errors import HeadlightError
from mha_core.models.words import mask_token, words_of
from mha_core.pretrained import sound_file
from mha_core.pretrained.hf_model import HfModel

NO_MASK = "{} has no mask token: it was not trained to guess words that are left out"


class SeenPatches(TypedDict):
    own: int  # tokens of no patch, which come first
    rows: int
    columns: int


class HeardSound(TypedDict):
    seconds: float  # from the beginning of a token to that of the next
    wave: list[tuple[float, float]]  # of each token the lowest and the highest sample, -1 to 1


class MaskedWord(TypedDict):
    text: str
    row: int  # of the mask


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
    settings, _ = query.within()
    seen = query.model.features(settings.text).extras.patches if isinstance(query.model, HfModel) else None
    if seen is None:
        raise HeadlightError("this model reads no pictures")
    written = io.BytesIO()
    Image.fromarray(seen.pixels.numpy()).save(written, "PNG", compress_level=1)
    return written.getvalue()


def wav(raw: bytes) -> bytes:
    """The sound as the model hears it, a WAV file. Raises a HeadlightError."""
    query = LinkQuery(raw)
    settings, _ = query.within()
    sound = query.model.features(settings.text).extras.heard if isinstance(query.model, HfModel) else None
    if sound is None:
        raise HeadlightError("this model reads no sounds")
    return sound_file.written(sound.samples, sound.rate)


def masked_word(raw: bytes) -> bytes:
    """The sentence of a link with the mask token for the word that holds its row, as JSON: as a visitor could type it.

    Raises:
        HeadlightError: the model has no mask token, no word stands there, or nobody can tell where.
    """
    query = LinkQuery(raw)
    settings, _ = query.within()
    model, text = query.model, settings.text
    token = mask_token(model)
    if not token:
        raise HeadlightError(NO_MASK.format(source_of(query.name).title))
    tokens, row = model.tokenize(text)[0], query.at.row
    if row is None or row >= len(tokens):
        raise HeadlightError("choose a word first")
    word = next(one for one in words_of(model, text) if one.first <= row < one.stop)
    if not word.text.strip():
        raise HeadlightError(f"{tokens[row]} is the model’s own token and stands for no word")
    start = word.start + len(word.text) - len(word.text.lstrip())
    whole = text[:start] + token + text[word.start + len(word.text.rstrip()) :]
    answer: MaskedWord = {"text": whole, "row": word.first}
    return json.dumps(answer).encode()
