"""Tiny speech models in folders of their own, and sound files."""

from __future__ import annotations

import io
import math
import struct
import wave
from pathlib import Path
from typing import Any

import torch

from mha_core.pretrained import audio_processor, offline

from . import tiny_models

RATE = 16_000
HEADS = {  # the class of each
    "whisper": "WhisperForConditionalGeneration",
    "wav2vec2": "Wav2Vec2ForCTC",
    "wav2vec2-conformer": "Wav2Vec2ConformerModel",
    "hubert": "HubertForSequenceClassification",
    "unispeech": "UniSpeechForCTC",
    "unispeech-sat": "UniSpeechSatModel",
    "data2vec-audio": "Data2VecAudioModel",
    "wavlm": "WavLMModel",
}


def save(model_type: str, folder: Path) -> Path:
    """A tiny model of that type with random weights, and how it is given sounds: Whisper's 1 s, in 50 tokens."""
    library = offline.transformers()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    sizes: dict[str, Any] = {"max_source_positions": 50, "conv_dim": [32] * 7}
    model: Any = tiny_models.build(getattr(library, HEADS[model_type]), CONFIG_MAPPING[model_type], **sizes)
    tiny_models.save(model, folder)
    given = {"chunk_length": 1} if model_type == "whisper" else {}
    getattr(library, audio_processor.KINDS[model_type].extractor)(**given).save_pretrained(folder)
    return folder


def tone(seconds: float = 0.6, rate: int = RATE, hertz: float = 440.0) -> torch.Tensor:
    """A tone that rises, float64 (n,), -0.5 to 0.5."""
    at = torch.arange(round(seconds * rate), dtype=torch.float64) / rate
    return 0.5 * torch.sin(2 * math.pi * hertz * at * (1 + at))


def file(samples: torch.Tensor | None = None, rate: int = RATE, bits: int = 16) -> bytes:
    """A WAV file of samples (n,), or (n, channels)."""
    found = tone(rate=rate) if samples is None else samples
    whole = (found * 2 ** (bits - 1)).round().clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1).long()
    numbers = (whole + (128 if bits == 8 else 0)).reshape(-1).tolist()
    written = io.BytesIO()
    with wave.open(written, "wb") as opened:
        opened.setnchannels(found.shape[1] if found.dim() == 2 else 1)
        opened.setsampwidth(bits // 8)
        opened.setframerate(rate)
        opened.writeframes(b"".join(n.to_bytes(bits // 8, "little", signed=bits > 8) for n in numbers))
    return written.getvalue()


def header(*, form: int = 1, channels: int = 1, rate: int = RATE, bits: int = 16, size: int = 0) -> bytes:
    """The header of a WAV file that says so, with no samples behind it."""
    align = channels * bits // 8
    said = struct.pack("<HHIIHH", form, channels, rate, rate * align % 2**32, align % 2**16, bits)
    whole, chunk, data = (struct.pack("<I", number) for number in (2**31, 16, size))
    return b"RIFF" + whole + b"WAVEfmt " + chunk + said + b"data" + data
