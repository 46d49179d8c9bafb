"""Weights that took work to make, kept in the user's cache folder as safetensors and mapped from there.

All processes that map one file share its memory, and the system may take back what is not in use. A file is whole or
not there: it is written under a name of its own and then renamed. It is believed only after a look at all of it, see
`read`; anything else in its place is replaced. Where nothing can be written, the weights stay in memory.
"""

import json
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor

VARIABLE = "HEADLIGHT_CACHE"
FORMAT = "headlight weights 1"
SPARE = 2**28  # bytes of the disk that stay free for others
LEFT_BEHIND = 24 * 3600  # seconds after which an unfinished file has no writer any more

Shapes = Mapping[str, tuple[int, ...]]
Named = Iterable[tuple[str, Tensor]]


def folder() -> Path | None:
    """Where weights are kept: $HEADLIGHT_CACHE, or "headlight" in the system's cache folder; None without a home."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "headlight" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "headlight"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else home / ".cache") / "headlight"  # a relative one is to be ignored


def kept(name: str, source: str, shapes: Shapes, make: Callable[[], Named]) -> dict[str, Tensor]:
    """The float32 tensors that `make` gives, mapped from the file that this or another process has written of them.

    Args:
        name: of the file, without its ending.
        source: sha256 of what they are made from.
        shapes: by name, in the order in which `make` gives them.
        make: unpacks them one after the other; called again when the disk turns out to be full.
    """
    within = folder()
    if within is None:
        return dict(make())
    file = within / f"{name}.safetensors"
    found = read(file, source, shapes)
    if found is None and write(file, source, shapes, make()):
        found = read(file, source, shapes)
    return dict(make()) if found is None else found


def read(file: Path, source: str, shapes: Shapes) -> dict[str, Tensor] | None:
    """The tensors of a file that `write` has written, mapped; None when it is anything else.

    Compared are its owner, its size and its header, byte for byte: the source, names, shapes, formats, places, and a
    sum over all of the data.
    """
    begin = len(_header(source, shapes))
    size = begin + 4 * sum(map(_values, shapes.values()))
    try:
        if not _is_ours(file.stat(), size):
            return None
        with file.open("rb") as opened:
            header = opened.read(begin)
        whole = torch.UntypedStorage.from_file(str(file), False, size)  # a private mapping, never written back
    except (OSError, RuntimeError):
        return None
    if header != _header(source, shapes, _sum(whole[begin:])):
        return None
    found = {}
    for tensor_name, shape in shapes.items():
        end = begin + 4 * _values(shape)
        # a storage of its own: a copy of one tensor is to copy no more than that
        found[tensor_name] = torch.empty(0, dtype=torch.float32).set_(whole[begin:end]).view(shape)
        begin = end
    return found


def write(file: Path, source: str, shapes: Shapes, tensors: Named) -> bool:
    """Writes float32 tensors for `read`, one after the other; False, and no trace, where that is not possible."""
    part = None
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(file)
        if shutil.disk_usage(file.parent).free < 4 * sum(map(_values, shapes.values())) + SPARE:
            return False
        number, name = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".part", dir=file.parent)
        part = Path(name)
        with os.fdopen(number, "wb") as opened:
            begin = opened.write(_header(source, shapes))
            for _, tensor in tensors:
                opened.write(memoryview(tensor.contiguous().numpy()).cast("B"))  # type: ignore[arg-type]
            opened.flush()
            total = _sum(torch.UntypedStorage.from_file(name, False, opened.tell())[begin:])
            opened.seek(0)
            opened.write(_header(source, shapes, total))
        part.replace(file)
    except OSError:
        return False
    finally:
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)
    return True


def _header(source: str, shapes: Shapes, total: int = 0) -> bytes:
    """The head of a safetensors file: 8 bytes with the length of the rest, which is JSON; as long for any total.

    Filled up so that the data begin at a multiple of 64 bytes, where torch's own tensors begin: sums over numbers that
    lie otherwise may be rounded otherwise.
    """
    said: dict[str, object] = {"__metadata__": {"format": FORMAT, "source": source, "total": f"{total % 2**64:016x}"}}
    start = 0
    for name, shape in shapes.items():
        end = start + 4 * _values(shape)
        said[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(said, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return len(text).to_bytes(8, "little") + text


def _sum(data: torch.UntypedStorage) -> int:
    """All of the bytes as whole numbers, added up."""
    kind = torch.int32 if len(data) % 8 else torch.int64
    return int(torch.empty(0, dtype=kind).set_(data).sum())


def _values(shape: tuple[int, ...]) -> int:
    return torch.Size(shape).numel()


def _is_ours(found: os.stat_result, size: int) -> bool:
    """Whether it is a file of that size which nobody else on this machine could have written."""
    foreign = os.name == "posix" and (found.st_uid not in (0, os.getuid()) or found.st_mode & 0o022)
    return stat.S_ISREG(found.st_mode) and not foreign and found.st_size == size


def _sweep(file: Path) -> None:
    """Removes what writers that were killed have left behind."""
    for part in file.parent.glob(f"{file.name}.*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > LEFT_BEHIND:
                part.unlink()
