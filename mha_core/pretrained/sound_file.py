"""A stranger's sound, looked at without trust: a WAV file of whole numbers, by the standard library's `wave`."""

from __future__ import annotations

import io
import struct
import wave
from math import ceil, gcd
from pathlib import Path

import torch
from torch import Tensor

from ..errors import HeadlightError, SizeError
from .folders import content

MOST_BYTES = 20 * 2**20
MOST_SECONDS = 30
LEAST_RATE, MOST_RATE = 1_000, 384_000  # samples a second
MOST_CHANNELS = 32
MOST_CHUNKS = 64  # in front of the samples
NO_SOUND = "this file is no WAV sound, whatever its name says; choose one that is, or save it as one"
SAVE = "save the sound anew as WAV, 16-bit PCM"
CUT = f"cut out a piece of at most {MOST_SECONDS} s"


def read(sound: object, rate: int) -> Tensor:
    """The sound as one channel, float32 (n,), -1 to 1, with so many samples a second.

    Args:
        sound: a WAV file of 8, 16, 24 or 32 bits, by its bytes or its path, its channels are mixed; or float (n,), with
            `rate` samples a second.

    Raises:
        SizeError: it is too large or too long, or has no sample.
        HeadlightError: it is no such file, or damaged.
    """
    if isinstance(sound, Tensor):
        return _of_tensor(sound, rate)
    if not isinstance(sound, (bytes, Path)):
        raise HeadlightError(f"a sound is bytes, a Path or a tensor, got {type(sound).__name__}")
    data = content(sound, "the sound", MOST_BYTES, CUT)
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise HeadlightError(NO_SOUND)
    try:
        with wave.open(io.BytesIO(_plain(data)), "rb") as file:
            found = file.getparams()
            _check(found)
            frames = file.readframes(found.nframes)
    except HeadlightError:
        raise
    except wave.Error as error:
        if "unknown format" in str(error):
            raise HeadlightError(f"the samples of this sound are no plain whole numbers (PCM); {SAVE}") from error
        raise HeadlightError(f"the sound is damaged ({error!s:.60}); {SAVE}") from error
    except (EOFError, struct.error, RuntimeError, ValueError) as error:
        raise HeadlightError(f"the sound is damaged ({type(error).__name__}); {SAVE}") from error
    size = found.nchannels * found.sampwidth
    if len(frames) != found.nframes * size:
        there = len(frames) // size
        raise HeadlightError(f"the sound is damaged: {there:,} of its {found.nframes:,} samples are there; {SAVE}")
    _check_length(found.nframes, found.framerate)
    samples = _numbers(frames, found.sampwidth).view(-1, found.nchannels).mean(dim=1)
    return resample(samples, found.framerate, rate).float()


def written(samples: Tensor, rate: int) -> bytes:
    """float (n,), -1 to 1, as a WAV file of 16 bits."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setparams((1, 2, rate, len(samples), "NONE", ""))
        file.writeframes((samples.clamp(-1, 1) * (2**15 - 1)).round().to(torch.int16).numpy().tobytes())
    return made.getvalue()


def resample(samples: Tensor, rate: int, wanted: int) -> Tensor:
    """(n,) at one rate -> (⌈n · wanted / rate⌉,) at another: its frequencies, up to half of the lower rate.

    Silence follows the sound up to a length that is whole at both rates; so the time stays exact.
    """
    if rate == wanted:
        return samples
    unit = rate // gcd(rate, wanted)
    whole = ceil((len(samples) + rate // 20) / unit) * unit
    made = whole * wanted // rate
    waves = torch.fft.rfft(samples, n=whole)
    kept = min(whole, made) // 2 + (min(whole, made) % 2)  # the last one of an even length has no sine
    waves = torch.nn.functional.pad(waves[:kept], (0, made // 2 + 1 - kept))
    again: Tensor = torch.fft.irfft(waves, n=made) * (made / whole)
    return again[: ceil(len(samples) * wanted / rate)]


def _plain(data: bytes) -> bytes:
    """The longer form of the header (WAVE_FORMAT_EXTENSIBLE) as the plain one, which every version of `wave` reads."""
    at, head = len(b"RIFF....WAVE"), 0
    for _ in range(MOST_CHUNKS):
        name, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if name == b"data":
            break
        if name == b"fmt ":
            head = at
        at += size + size % 2
    else:
        raise HeadlightError(f"the sound is damaged: no samples in its first {MOST_CHUNKS} chunks; {SAVE}")
    if data[head : head + 2] == b"\xfe\xff" and data[head + 24 : head + 26] == b"\x01\x00":
        return data[:head] + b"\x01\x00" + data[head + 2 :]
    return data


def _check(found: wave._wave_params) -> None:
    if not LEAST_RATE <= found.framerate <= MOST_RATE:
        raise SizeError(
            f"the sound has {found.framerate:,} samples a second, {LEAST_RATE:,} to {MOST_RATE:,} are read; {SAVE}"
        )
    if not 1 <= found.nchannels <= MOST_CHANNELS:
        raise SizeError(f"the sound has {found.nchannels:,} channels, at most {MOST_CHANNELS} are mixed; {SAVE}")
    if found.sampwidth not in (1, 2, 3, 4):
        raise HeadlightError(f"the samples of this sound have {8 * found.sampwidth} bits, 8 to 32 are read; {SAVE}")


def up(seconds: float) -> str:
    """Seconds rounded up, so that what is too long does not read like what is not."""
    return f"{ceil(round(100 * seconds, 6)) / 100:,.2f}"


def _check_length(samples: int, rate: int) -> None:
    if samples == 0:
        raise SizeError("the sound has no sample; choose another one")
    if samples > MOST_SECONDS * rate:
        raise SizeError(f"the sound is {up(samples / rate)} s long, at most {MOST_SECONDS} s are read; {CUT}")


def _numbers(frames: bytes, width: int) -> Tensor:
    """The samples of so many bytes each, as float64 (n,), -1 to 1."""
    if width == 3:
        parts = torch.frombuffer(bytearray(frames), dtype=torch.uint8).view(-1, 3).to(torch.int32)
        whole = parts[:, 0] | parts[:, 1] << 8 | (parts[:, 2] ^ 128) << 16
        return (whole.double() - 2**23) / 2**23
    dtype = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[width]
    whole = torch.frombuffer(bytearray(frames), dtype=dtype)
    return (whole.double() - 128) / 128 if width == 1 else whole.double() / 2.0 ** (8 * width - 1)


def _of_tensor(samples: Tensor, rate: int) -> Tensor:
    if not samples.is_floating_point() or samples.dim() != 1:
        raise SizeError(f"a sound is float (n,), got {samples.dtype} {tuple(samples.shape)}")
    _check_length(len(samples), rate)
    if not bool(samples.isfinite().all()):
        raise HeadlightError("the sound holds numbers that are not finite; choose another one")
    return samples.detach().cpu().float()
