"""Free memory of this process, checked before large allocations."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import torch

from ..errors import DeviceError

MEMINFO, PROCESS_GROUP, GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def require(needed: int, subject: str, remedy: str) -> None:
    """Raise unless enough memory is free.

    Args:
        needed: bytes.
        subject: of the message, "SmolLM2 in float32".
        remedy: what to do about it.

    Raises:
        DeviceError: with both numbers.
    """
    free = available()
    if free is not None and needed > free:
        raise DeviceError(
            f"{subject} needs {needed / 1e6:,.0f} MB of memory, this machine has {free / 1e6:,.0f} MB left; {remedy}"
        )


def require_weights(needed: int, name: str, dtype: torch.dtype, remedy: str = "") -> None:
    """Raise as `require` unless a model's weights fit; `remedy` suggests another model."""
    smaller = "" if dtype.itemsize <= 2 else ", or choose dtype=torch.bfloat16, which takes half of it"
    require(needed, f"{name} in {str(dtype).removeprefix('torch.')}", f"close other programs{smaller}{remedy}")


def available() -> int | None:
    """Return the free or reclaimable memory in bytes within the container's limit, or None if unknown.

    On systems other than Linux it is the total memory of the machine, an upper bound.
    """
    return min((left for left in (_machine(), *_groups()) if left is not None), default=None)


def _machine() -> int | None:
    with suppress(OSError, ValueError, IndexError, StopIteration):
        lines = MEMINFO.read_text("ascii").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _groups() -> Iterator[int]:
    """Yield the memory left under the limit of each control group (version 2) of this process."""
    group_path = ""
    with suppress(OSError, ValueError, StopIteration):
        group_path = next(line for line in PROCESS_GROUP.read_text("utf-8").splitlines() if line.startswith("0::"))
    folder = GROUPS / group_path.removeprefix("0::").lstrip("/")
    for group in (folder, *folder.parents) if group_path else ():
        with suppress(OSError, ValueError):  # ValueError: "max", there is no limit
            limit = int((group / "memory.max").read_text("ascii"))
            usage = int((group / "memory.current").read_text("ascii"))
            # inactive pages of the file cache are reclaimed on demand
            stat = dict(line.split() for line in (group / "memory.stat").read_text("ascii").splitlines())
            yield max(0, limit - usage + int(stat.get("inactive_file", 0)))
