"""Zip files as a stranger could send them; `refused` of conftest unpacks them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

from mha_core.training import saved

Files = dict[str, bytes]  # of a saved run, by name
Refused = Callable[[bytes, str], None]
RUN, TOKENIZER, WEIGHTS = saved.FILES


def zipped(files: Files, way: int = zipfile.ZIP_DEFLATED) -> bytes:
    """These files as one zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", way) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()
