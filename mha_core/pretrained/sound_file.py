"""Safe reader for untrusted WAV files of integer, float, A-law or µ-law samples."""

from __future__ import annotations

import struct
from math import ceil, gcd, pi
from pathlib import Path

import torch
from torch import Tensor

from ..errors import HeadlightError, SizeError
from .folders import MEDIA, read_bytes

MAX_BYTES = 20 * 2**20
MAX_SECONDS = 30
MIN_RATE, MAX_RATE = 1_000, 384_000  # samples per second
MAX_UNIT = 96_000  # samples after which those of both rates coincide: a Fourier transform of its multiples is slow
MAX_CHANNELS = 32
BLOCK_SECONDS, MARGIN_SECONDS = 2.0, 0.1  # of a sound that is resampled in blocks
PCM, FLOAT, A_LAW, MU_LAW, EXTENSIBLE = 1, 3, 6, 7, 0xFFFE  # format tags; the last: as given in the extended header
WIDTHS = {PCM: (8, 16, 24, 32), FLOAT: (32, 64), A_LAW: (8,), MU_LAW: (8,)}  # bits of a sample
UNKNOWN_SIZE = 0x7FFF0000  # bytes; a program that writes into a pipe says this or more
MAX_CHUNKS = 64  # before the samples
NO_SOUND = "this file is not a WAV sound; choose one that is, or convert it"
SAVE = "save the sound again as 16-bit PCM WAV"
CUT = f"cut out a piece of at most {MAX_SECONDS} s"


def read(sound: object, rate: int) -> Tensor:
    """Return a sound as one channel, float32 (n,), -1 to 1, resampled to a rate.

    Args:
        sound: a WAV file as bytes or path, whose channels are averaged; or float (n,) samples at `rate`.
        rate: samples per second.

    Raises:
        SizeError: it is too large or too long, or has no sample.
        HeadlightError: it has another format, or is damaged.
    """
    if isinstance(sound, Tensor):
        return _from_tensor(sound, rate)
    if not isinstance(sound, (bytes, Path)):
        raise HeadlightError(f"a sound is bytes, a Path or a tensor, got {type(sound).__name__}")
    with MEDIA:
        return _read(read_bytes(sound, "the sound", MAX_BYTES, CUT), rate)


def _read(data: bytes, rate: int) -> Tensor:
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise HeadlightError(NO_SOUND)
    try:
        head, size, frames = _chunks(data)
        form, channels, samples_a_second, _, _, bits = struct.unpack_from("<HHIIHH", head)
    except struct.error as error:
        raise HeadlightError(f"the sound is damaged ({type(error).__name__}); {SAVE}") from error
    if form == EXTENSIBLE:
        form = int.from_bytes(head[24:26], "little")
    _check(samples_a_second, channels, form, bits)
    if samples_a_second // gcd(samples_a_second, rate) > MAX_UNIT:
        raise SizeError(f"the sound has {samples_a_second:,} samples a second, which is no usual rate; {SAVE}")
    width = channels * bits // 8
    if len(frames) < size // width * width:
        count = f"{len(frames) // width:,} of its {size // width:,} samples are there"
        raise HeadlightError(f"the sound is damaged: {count}; {SAVE}")
    _check_length(size // width, samples_a_second)
    samples = _numbers(frames[: size // width * width], form, bits // 8).view(-1, channels).mean(dim=1)
    return _finite(resample(samples, samples_a_second, rate).float())


def to_wav(samples: Tensor, rate: int) -> bytes:
    """Encode float samples (n,), -1 to 1, as a 16-bit WAV file."""
    frames = (samples.clamp(-1, 1) * (2**15 - 1)).round().to(torch.int16).numpy().tobytes()
    head = struct.pack("<IHHIIHH", 16, PCM, 1, rate, 2 * rate, 2, 16)
    chunks = b"WAVEfmt " + head + b"data" + struct.pack("<I", len(frames)) + frames
    return b"RIFF" + struct.pack("<I", len(chunks)) + chunks


def resample(samples: Tensor, rate: int, target_rate: int) -> Tensor:
    """Resample (n,) to (⌈n · target_rate / rate⌉,), keeping frequencies up to half of the lower rate.

    It is cut into blocks, each with its surroundings faded out, so that memory does not grow with its length.
    """
    if rate == target_rate:
        return samples
    unit = rate // gcd(rate, target_rate)  # a length that is an integer at both rates, so that timing stays exact
    block, margin = (ceil(seconds * rate / unit) * unit for seconds in (BLOCK_SECONDS, MARGIN_SECONDS))
    slope = torch.sin(torch.linspace(0, pi / 2, margin, dtype=samples.dtype)) ** 2
    fade = torch.cat([slope, slope.new_ones(block), slope.flip(0)])
    length = len(fade) * target_rate // rate
    inner = slice(margin * target_rate // rate, (margin + block) * target_rate // rate)
    n_kept = min(len(fade), length) // 2 + (min(len(fade), length) % 2)  # an even length's highest has no sine
    blocks, padded = list[Tensor](), torch.nn.functional.pad(samples, (margin, margin + block))
    for piece in padded.unfold(0, len(fade), block)[: ceil(len(samples) / block)]:
        waves = torch.nn.functional.pad(torch.fft.rfft(piece * fade)[:n_kept], (0, length // 2 + 1 - n_kept))
        blocks.append(torch.fft.irfft(waves, n=length)[inner] * (length / len(fade)))
    return torch.cat(blocks)[: ceil(len(samples) * target_rate / rate)]


def _chunks(data: bytes) -> tuple[bytes, int, bytes]:
    """Return the format of a WAV file, the number of bytes that it promises, and those that are there.

    A size that was never written, as of a pipe or a recording that was not closed, is what the file holds.
    """
    offset, head = len(b"RIFF....WAVE"), b""
    is_closed = len(data) <= int.from_bytes(data[4:8], "little") + 8 <= UNKNOWN_SIZE
    for _ in range(MAX_CHUNKS):
        name, size = struct.unpack_from("<4sI", data, offset)
        offset += 8
        if name == b"data":
            if size >= UNKNOWN_SIZE or (size == 0 and not is_closed):
                size = len(data) - offset
            return head, size, data[offset : offset + size]
        if name == b"fmt ":
            head = data[offset : offset + size]
        offset += size + size % 2
    raise HeadlightError(f"the sound is damaged: no samples in its first {MAX_CHUNKS} chunks; {SAVE}")


def _check(rate: int, channels: int, form: int, bits: int) -> None:
    if not MIN_RATE <= rate <= MAX_RATE:
        raise SizeError(f"the sound has {rate:,} samples a second, {MIN_RATE:,} to {MAX_RATE:,} are read; {SAVE}")
    if not 1 <= channels <= MAX_CHANNELS:
        raise SizeError(f"the sound has {channels:,} channels, at most {MAX_CHANNELS} are mixed; {SAVE}")
    if form not in WIDTHS:
        raise HeadlightError(f"the samples of this sound are neither integers nor floats (format {form}); {SAVE}")
    if bits not in WIDTHS[form]:
        read = ", ".join(map(str, WIDTHS[form]))
        raise HeadlightError(f"the samples of this sound have {bits} bits, {read} are read; {SAVE}")


def seconds_text(seconds: float) -> str:
    """Format seconds rounded up, so that a value above a limit never reads like the limit."""
    return f"{ceil(round(100 * seconds, 6)) / 100:,.2f}"


def _check_length(samples: int, rate: int) -> None:
    if samples == 0:
        raise SizeError("the sound has no sample; choose another one")
    if samples > MAX_SECONDS * rate:
        raise SizeError(f"the sound is {seconds_text(samples / rate)} s long, at most {MAX_SECONDS} s are read; {CUT}")


def _numbers(frames: bytes, form: int, width: int) -> Tensor:
    """Decode samples of this many bytes each as float64 (n,), integers as -1 to 1."""
    if width == 3:
        parts = torch.frombuffer(bytearray(frames), dtype=torch.uint8).view(-1, 3).to(torch.int32)
        integers = parts[:, 0] | parts[:, 1] << 8 | (parts[:, 2] ^ 128) << 16
        return integers.double().sub_(2**23).div_(2**23)
    dtypes = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.float64}
    dtype = torch.float32 if (form, width) == (FLOAT, 4) else dtypes[width]
    numbers = torch.frombuffer(bytearray(frames), dtype=dtype)
    if form in (A_LAW, MU_LAW):
        return _companded()[form][numbers.long()]
    if form == FLOAT:
        return numbers.double()
    return numbers.double().sub_(128).div_(128) if width == 1 else numbers.double().div_(2.0 ** (8 * width - 1))


def _companded() -> dict[int, Tensor]:
    """Return the sample of each byte in A-law and µ-law (ITU-T G.711), float64 (256,)."""
    codes = torch.arange(256)
    a_law, mu_law = codes ^ 0x55, codes ^ 0xFF
    exponent, mantissa = (a_law >> 4) & 7, a_law & 15
    a_size = torch.where(exponent == 0, 16 * mantissa + 8, (16 * mantissa + 264) << (exponent - 1).clamp(min=0))
    mu_size = ((8 * (mu_law & 15) + 132) << ((mu_law >> 4) & 7)) - 132
    a_sign, mu_sign = torch.where(a_law >= 128, 1, -1), torch.where(mu_law >= 128, -1, 1)
    return {A_LAW: (a_sign * a_size).double() / 2**15, MU_LAW: (mu_sign * mu_size).double() / 2**15}


def _from_tensor(samples: Tensor, rate: int) -> Tensor:
    if not samples.is_floating_point() or samples.dim() != 1:
        raise SizeError(f"a sound is float (n,), got {samples.dtype} {tuple(samples.shape)}")
    _check_length(len(samples), rate)
    return _finite(samples.detach().cpu().float())


def _finite(samples: Tensor) -> Tensor:
    if not bool(samples.isfinite().all()):
        raise HeadlightError("the sound holds numbers that are not finite; choose another one")
    return samples
