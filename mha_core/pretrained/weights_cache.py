"""Cache of unpacked weights in the user's cache folder, memory-mapped.

Processes that map one file share its memory, and the system may reclaim unused pages. A file is written under a
temporary name and then renamed, so it is complete or absent. Its content is verified before use; anything else in its
place is replaced. Where nothing can be written, the weights stay in memory.
"""

import hashlib
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
MIN_FREE_BYTES = 2**28  # disk space left free
STALE_TMP_S = 24 * 3600  # age after which a temporary file belongs to no running writer
# header size; a multiple of 64, the alignment of torch's tensors: sums over data with another alignment may be
# rounded differently
HEAD = 128

Shapes = Mapping[str, tuple[int, ...]]
NamedTensors = Iterable[tuple[str, Tensor]]


def folder() -> Path | None:
    """Return the cache folder: $HEADLIGHT_CACHE, or "headlight" in the system's cache folder; None without a home."""
    directory = os.environ.get(VARIABLE)
    if directory:
        return Path(directory)
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "headlight" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "headlight"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else home / ".cache") / "headlight"  # the XDG standard ignores relative paths


def load_or_build(name: str, source: str, shapes: Shapes, make: Callable[[], NamedTensors]) -> dict[str, Tensor]:
    """Return float32 tensors mapped from a cache file, which is built with `make` if it is missing.

    Args:
        name: of the file, without its suffix.
        source: sha256 of the source of the tensors.
        shapes: by name, in the order of `make`.
        make: yields the tensors one by one; called again if the disk turns out to be full.
    """
    directory = folder()
    if directory is None:
        return dict(make())
    file = directory / f"{name}.weights"
    signature = hashlib.sha256(repr((source, dict(shapes))).encode()).hexdigest()
    tensors = _read(file, signature, shapes)
    if tensors is None and _write(file, signature, 4 * sum(map(_values, shapes.values())), make()):
        tensors = _read(file, signature, shapes)
    return dict(make()) if tensors is None else tensors


def _read(file: Path, signature: str, shapes: Shapes) -> dict[str, Tensor] | None:
    """Map the tensors of a file written by `_write`; None if it is anything else.

    Checked are owner, size, source, names, shapes, and a checksum of the data.
    """
    size = HEAD + 4 * sum(map(_values, shapes.values()))
    try:
        if not _is_ours(file.stat(), size):
            return None
        with file.open("rb") as opened:
            head = opened.read(HEAD)
        storage = torch.UntypedStorage.from_file(str(file), False, size)  # a private mapping, never written back
    except (OSError, RuntimeError):
        return None
    if head != _head(signature, storage[HEAD:]):
        return None
    tensors, begin = {}, HEAD
    for tensor_name, shape in shapes.items():
        end = begin + 4 * _values(shape)
        # a separate storage, so that copying one tensor copies no more than its data
        tensors[tensor_name] = torch.empty(0, dtype=torch.float32).set_(storage[begin:end]).view(shape)
        begin = end
    return tensors


def _write(file: Path, signature: str, size: int, tensors: NamedTensors) -> bool:
    """Write float32 tensors for `_read` one by one; return False, leaving no file, if that is impossible."""
    part = None
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(file)
        if shutil.disk_usage(file.parent).free < size + MIN_FREE_BYTES:
            return False
        number, name = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".part", dir=file.parent)
        part = Path(name)
        with os.fdopen(number, "wb") as opened:
            opened.write(bytes(HEAD))
            for _, tensor in tensors:
                opened.write(memoryview(tensor.contiguous().numpy()).cast("B"))  # type: ignore[arg-type]
            opened.flush()
            head = _head(signature, torch.UntypedStorage.from_file(name, False, opened.tell())[HEAD:])
            opened.seek(0)
            opened.write(head)
        part.replace(file)
    except OSError:
        return False
    finally:
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)
    return True


def _head(signature: str, data: torch.UntypedStorage) -> bytes:
    """Return the file header: the signature, and a checksum that adds all data as integers."""
    kind = torch.int32 if len(data) % 8 else torch.int64
    total = int(torch.empty(0, dtype=kind).set_(data).sum())
    return f"{signature} {total % 2**64:016x}".encode().ljust(HEAD)


def _values(shape: tuple[int, ...]) -> int:
    return torch.Size(shape).numel()


def _is_ours(status: os.stat_result, size: int) -> bool:
    """Return whether it is a file of that size that no other user could have written."""
    foreign = os.name == "posix" and (status.st_uid not in (0, os.getuid()) or status.st_mode & 0o022)
    return stat.S_ISREG(status.st_mode) and not foreign and status.st_size == size


def _sweep(file: Path) -> None:
    """Remove temporary files of killed writers."""
    for part in file.parent.glob(f"{file.name}.*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > STALE_TMP_S:
                part.unlink()
