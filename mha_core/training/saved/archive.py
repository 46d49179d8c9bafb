"""A saved run as one zip file."""

import io
import zipfile
import zlib
from pathlib import Path

from ...errors import WeightsFileError
from ..events import History
from .bounds import FILES, LARGEST, LARGEST_PACKED
from .folder import read, read_stack, read_tokenizer, replaced


def pack(folder: Path) -> bytes:
    """A saved run as one zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for name in FILES:
            if (folder / name).exists():
                archive.write(folder / name, name)
    return packed.getvalue()


def unpack(data: bytes, folder: Path) -> History:
    """Writes the zip file of a saved run into a new folder, when all of it can be read; returns its history.

    Raises:
        WeightsFileError: it is no zip file, holds other files, is too large, or not a whole run, or the folder is there
            already. Nothing is written.
    """
    if folder.exists():
        raise WeightsFileError("the folder for this run is there already; choose a new one")
    if len(data) > LARGEST_PACKED:
        raise WeightsFileError(f"{len(data):,} bytes; a saved run has at most {LARGEST_PACKED:,}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            ways = {info.compress_type for info in archive.infolist()}
            if sorted(archive.namelist()) != sorted(FILES) or not ways <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise WeightsFileError(f"a saved run holds {', '.join(FILES)} and nothing else")
            with replaced(folder) as part:
                for name in FILES:  # our names, never the archive's
                    with archive.open(name) as opened:
                        content = opened.read(LARGEST[name] + 1)
                    if len(content) > LARGEST[name]:
                        raise WeightsFileError(f"{name} has more than {LARGEST[name]:,} bytes")
                    (part / name).write_bytes(content)
                history = read(part)
                read_stack(part, history, read_tokenizer(part).get_vocab_size())
        return history
    except WeightsFileError:
        raise
    except OSError as error:  # the archive is in memory
        raise WeightsFileError(f"nothing can be written here ({error.strerror or type(error).__name__})") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise WeightsFileError(f"this is no zip file of a saved run ({type(error).__name__})") from error
