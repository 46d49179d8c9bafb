"""Preprocessing of sounds for the speech models of transformers, by the folder's preprocessor settings.

The library's feature extractor of the family is used, which needs numpy alone. Tokens are named by their start time.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, log10, prod
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..errors import SizeError, Unsupported, WeightsFileError
from ..models.run import Audio, Extras
from . import folders, offline, preprocessor, sound_file
from .preprocessor import NO_TEXT, Features, NameTokenizer, Settings
from .sound_file import seconds_text

MAX_TOKENS = 1500  # 30 s of 20 ms
MAX_CONVOLUTIONS = 32
PROBED = 12  # tokens


class Kind(NamedTuple):
    """Families with one feature extractor.

    Attributes:
        extractor: its class in transformers.
        input_name: name of the pass's input.
        limits: integer settings of the extractor, with the maximum of each.
        flags: further settings.
    """

    extractor: str
    input_name: str
    limits: Mapping[str, int]
    flags: tuple[str, ...]


MEL = Kind(
    "WhisperFeatureExtractor",
    "input_features",
    {"feature_size": 512, "sampling_rate": 48_000, "hop_length": 48_000, "chunk_length": 30, "n_fft": 8_192},
    ("padding_value",),
)
WAVE = Kind(
    "Wav2Vec2FeatureExtractor",
    "input_values",
    {"feature_size": 1, "sampling_rate": 48_000},
    ("padding_value", "do_normalize"),
)
KINDS = {"whisper": MEL} | dict.fromkeys(
    ("wav2vec2", "wav2vec2-conformer", "hubert", "unispeech", "unispeech-sat", "data2vec-audio", "wavlm"), WAVE
)


class AudioProcessor(NameTokenizer):
    """Feature extraction for sounds, in place of a tokenizer.

    Attributes:
        rate: samples per second.
        step: samples from the start of one token to the start of the next.
        fixed_tokens: number of tokens of every sound, padded with silence; None where sounds are not padded.
    """

    def __init__(self, extractor: Any, kind: Kind, config: Any, described: Settings) -> None:
        self.notices = described.notices
        self._extractor, self._reads = extractor, kind.input_name
        self.rate: int = extractor.sampling_rate
        self._convolutions: list[tuple[int, int]] = []
        self.fixed_tokens = None
        if kind is MEL:
            if extractor.nb_max_frames > 2 * MAX_TOKENS:
                pieces = f"{extractor.nb_max_frames:,} pieces"
                raise WeightsFileError(f"{described.file} cuts sounds into {pieces}; at most 3,000")
            self.step, self.fixed_tokens = 2 * extractor.hop_length, extractor.nb_max_frames // 2
        else:
            self._convolutions = _convolutions(config, self.rate)
            self.step = prod(stride for _, stride in self._convolutions)
        digits = max(2, ceil(-log10(self.step / self.rate)))
        starts = (place * self.step / self.rate for place in range(self.fixed_tokens or MAX_TOKENS))
        super().__init__([f"{start:.{digits}f} s" for start in starts], NO_TEXT.format("sounds"))
        for samples in (torch.zeros(self.rate // 4), self._noise()):
            if not bool(self._extract(samples).isfinite().all()):
                raise WeightsFileError(f"{described.file} turns a sound into values that are not finite")

    def read(self, sound: object) -> Features:
        """Return the features of a sound, (1, …), the tokens of the sound without its padding, and the sound itself.

        Raises:
            SizeError: the sound has too many tokens, or none.
            HeadlightError: as `sound_file.read`.
        """
        samples = sound_file.read(sound, self.rate)
        count = self._token_count(samples)
        n_tokens = min(count, ceil(len(samples) / self.step)) if self.fixed_tokens else count
        audio = Audio(samples, self.rate, self.step)
        return Features(self._extract(samples), list(self.names[:n_tokens]), 0, Extras(audio=audio))

    def noise(self) -> tuple[Tensor, int]:
        """Return a sound to check a model with, (1, …), and its number of tokens."""
        samples = self._noise()
        return self._extract(samples), self._token_count(samples)

    def _token_count(self, samples: Tensor) -> int:
        count, seconds = len(samples), len(samples) / self.rate
        for kernel, stride in self._convolutions:
            count = (count - kernel) // stride + 1
        if count < 1:
            raise SizeError(
                f"the sound of {seconds:.3f} s is too short for one token of this model; choose a longer one"
            )
        max_samples = self.fixed_tokens * self.step if self.fixed_tokens else MAX_TOKENS
        if count > max_samples:
            max_seconds = len(self.names) * self.step / self.rate
            limit = f"the {max_seconds:.2f} s that are read"
            raise SizeError(f"the sound of {seconds_text(seconds)} s is longer than {limit}; cut it")
        return self.fixed_tokens or count

    def _noise(self) -> Tensor:
        fixed = self.fixed_tokens
        length = fixed * self.step if fixed else _reach(self._convolutions) + (PROBED - 1) * self.step
        return 0.1 * torch.randn(length, generator=torch.Generator().manual_seed(0))

    def _extract(self, samples: Tensor) -> Tensor:
        features: Tensor = self._extractor(samples.numpy(), sampling_rate=self.rate, return_tensors="pt")[self._reads]
        return features


def read(folder: Path, config: Any) -> AudioProcessor:
    """Return the audio processor of a folder's model.

    Raises:
        WeightsFileError: its description is missing or damaged.
        Unsupported: it has an unsupported setting.
    """
    kind = KINDS[config.model_type]
    names = (*kind.limits, *kind.flags, "dither")
    described = preprocessor.settings(folder, "feature_extractor", names, [kind.extractor])
    file, options = described.file, described.values
    if options.pop("dither", 0):
        raise Unsupported(f"{file} asks for dither, random noise that makes every run different; remove it")
    for key, limit in kind.limits.items():
        value = options.get(key, 1)
        if type(value) is not int or not 1 <= value <= limit:
            raise WeightsFileError(f"{file} has impossible sizes: {key}={value!r:.40}; 1 to {limit:,} is read")
    library = offline.transformers()
    with folders.library_errors(f"{file} cannot be used"):
        return AudioProcessor(getattr(library, described.kind)(**options), kind, config, described)


def _convolutions(config: Any, rate: int) -> list[tuple[int, int]]:
    """Return width and stride of each convolution between samples and tokens."""
    layers = list(zip(config.conv_kernel, config.conv_stride, strict=True))
    plain = all(type(size) is int and 1 <= size <= rate for pair in layers for size in pair)
    if not plain or not 1 <= len(layers) <= MAX_CONVOLUTIONS or max(prod(config.conv_stride), _reach(layers)) > rate:
        raise WeightsFileError("config.json has impossible sizes: conv_kernel, conv_stride make no token of a second")
    return layers


def _reach(convolutions: list[tuple[int, int]]) -> int:
    """Return the receptive field of the first token in samples."""
    length = 1
    for kernel, stride in reversed(convolutions):
        length = (length - 1) * stride + kernel
    return length
