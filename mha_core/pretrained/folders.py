"""Safe access to untrusted model folders: sizes checked first, regular files of the folder only, no pickle."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HeadlightError, SizeError, Unsupported, WeightsFileError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CONFIG, TOKENIZER, WEIGHTS, INDEX = "config.json", "tokenizer.json", "model.safetensors", "model.safetensors.index.json"
MAX_JSON_BYTES = 8 * 2**20  # bytes
MAX_TOKENIZER_BYTES = 64 * 2**20
MAX_HEADER_BYTES = 32 * 2**20
MAX_SHARDS = 1000
MAX_DEPTH = 20
MAX_VALUES = 200_000
# maximum of integers in a config that set how many modules transformers creates, by a word in their name
MAX_BY_WORD = {"layers": 256, "layer": 256, "depth": 256, "blocks": 256, "labels": 100_000, "experts": 10_000}
MAX_NUMBER = 2**40
SHARD = re.compile(r"[\w.-]{1,200}\.safetensors")


@dataclass(frozen=True)
class Tensors:
    """Headers of the weight files, read before any weight.

    Attributes:
        files: paths of the files.
        shapes: by name.
    """

    files: tuple[Path, ...]
    shapes: Mapping[str, tuple[int, ...]]

    @property
    def parameters(self) -> int:
        """Total number of values."""
        return sum(map(prod, self.shapes.values()))

    @property
    def bytes(self) -> int:
        """Total size of the files in bytes."""
        return sum(file.stat().st_size for file in self.files)


@contextmanager
def library_errors(message: str) -> Iterator[None]:
    """Convert a library's errors about a file into a WeightsFileError with this message; ours pass through."""
    try:
        yield
    except HeadlightError:
        raise
    except Exception as error:  # the classes of a library raise errors of many types
        raise WeightsFileError(f"{message}: {type(error).__name__}: {str(error).strip():.300}") from error


def regular_file(folder: Path, name: str) -> Path:
    """Return the path of a regular file in a folder.

    Links may lead only into the folder, or into the blob store of the hub cache that the folder belongs to.

    Raises:
        WeightsFileError: it is missing, or something else.
    """
    file = folder / name
    try:
        target = file.resolve(strict=True)
        regular = stat.S_ISREG(target.stat().st_mode)
    except (OSError, RuntimeError) as error:
        raise WeightsFileError(f"cannot read {name}: it is missing, or a broken link") from error
    home = folder.resolve()
    blobs = home.parent.parent / "blobs" if home.parent.name == "snapshots" else home
    if not any(target.is_relative_to(place) for place in (home, blobs)):
        raise WeightsFileError(f"{name} is a link out of the folder; copy the file itself into it")
    if not regular:
        raise WeightsFileError(f"{name} is not a regular file")
    return file


def read_json(folder: Path, name: str, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        WeightsFileError: it is missing, too large, damaged or something else.
    """
    file = regular_file(folder, name)
    try:
        if file.stat().st_size > max_bytes:
            raise WeightsFileError(f"{name} has more than {max_bytes} bytes; this is not a model config")
        content = json.loads(file.read_text("utf-8"))
    except WeightsFileError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise WeightsFileError(f"cannot read {name} ({type(error).__name__})") from error
    if not isinstance(content, dict):
        raise WeightsFileError(f"{name} holds a {type(content).__name__}, not a model config")
    return content


def describe(folder: Path, name: str = CONFIG) -> dict[str, Any]:
    """Read a config and check it with `refuse_code`.

    Raises:
        Unsupported, WeightsFileError: it must be refused.
    """
    description = read_json(folder, name)
    refuse_code(description, name)
    return description


def refuse_code(content: Mapping[str, Any], name: str) -> None:
    """Refuse a config that names custom code, files outside the folder, or impossible sizes.

    Raises:
        Unsupported: it names code or files.
        WeightsFileError: impossible sizes.
    """
    for count, (key, value) in enumerate(_values(content, name)):
        if count > MAX_VALUES:
            raise WeightsFileError(f"{name} has more than {MAX_VALUES:,} values; this is not a model config")
        if key == "auto_map" or key.startswith(("_attn_implementation", "attn_implementation")):
            code = "code of its own (auto_map)" if key == "auto_map" else f"a kernel ({key})"
            raise Unsupported(f"{name} asks for {code}, which is not run; remove the entry if the model works without")
        if key.endswith("_file") and isinstance(value, str) and value != Path(value).name:
            raise Unsupported(f"{name} names a file outside the folder ({key}); remove the entry")
        if isinstance(value, int) and not isinstance(value, bool):
            words = key.split("_")
            maximum = min((MAX_BY_WORD[word] for word in words if word in MAX_BY_WORD), default=MAX_NUMBER)
            if abs(value) > maximum and words[-1] != "id":
                raise WeightsFileError(f"{name} has impossible sizes: {key}={value:,}, at most {maximum:,} is read")


def _values(content: Any, name: str, key: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > MAX_DEPTH:
        raise WeightsFileError(f"{name} is nested deeper than {MAX_DEPTH} times; this is not a model config")
    if isinstance(content, dict):
        for inner, value in content.items():
            yield str(inner), value
            yield from _values(value, name, str(inner), depth + 1)
    elif isinstance(content, list):
        for value in content:
            yield key, value
            yield from _values(value, name, key, depth + 1)


def read_weight_headers(folder: Path) -> Tensors:
    """Read the headers of a folder's safetensors files.

    Raises:
        WeightsFileError: there are none, or they are damaged.
    """
    names = [WEIGHTS]
    if not (folder / WEIGHTS).exists() and (folder / INDEX).exists():
        index = read_json(folder, INDEX, MAX_HEADER_BYTES).get("weight_map")
        shards = set(index.values()) if isinstance(index, dict) else set()
        if not 0 < len(shards) <= MAX_SHARDS or not all(isinstance(n, str) and SHARD.fullmatch(n) for n in shards):
            raise WeightsFileError(f"{INDEX} does not list the files of the weights")
        names = sorted(shards)
    elif not (folder / WEIGHTS).exists() and any(folder.glob("*.bin")):
        raise WeightsFileError(
            "the weights exist only as pickle (*.bin), which could run code; choose a revision with "
            f"{WEIGHTS}, or write one from a copy that you trust: save_pretrained of transformers does it"
        )
    files = tuple(regular_file(folder, name) for name in names)
    shapes: dict[str, tuple[int, ...]] = {}
    for file in files:
        shapes |= _header(file)
    return Tensors(files, shapes)


def _header(file: Path) -> dict[str, tuple[int, ...]]:
    """Return names and shapes; the library checks that they fill the file."""
    from safetensors import SafetensorError, safe_open

    try:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
        if not 0 < length <= MAX_HEADER_BYTES:
            raise WeightsFileError(f"{file.name} has a header of {length:,} bytes; it is damaged or not safetensors")
        with safe_open(file, "pt") as opened:
            return {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise WeightsFileError(f"cannot read {file.name}: its header is damaged ({error})") from error


def read_tensors(files: Iterable[Path]) -> dict[str, Any]:
    """Map the tensors of all safetensors files into memory, without a copy.

    Raises:
        WeightsFileError: a file is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    tensors: dict[str, Any] = {}
    for file in files:
        try:
            tensors |= load_file(file)
        except (OSError, SafetensorError) as error:
            raise WeightsFileError(f"cannot read {file.name}: {error}") from error
    return tensors


def package_folder(module: str, package: str, owner: str) -> Path:
    """Return the folder of an installed package without running its code.

    Args:
        module: name to import.
        package: name to install.
        owner: of the weights, for the message: "MiniLM's".

    Raises:
        WeightsFileError: the package is not installed.
    """
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise WeightsFileError(f"the package {package}, which carries {owner} weights, is not installed")
    return Path(spec.submodule_search_locations[0])


def check_sha256(file: Path, expected: str, owner: str) -> str:
    """Return the sha256 of a weights file. Raises a WeightsFileError if it is not the expected one."""
    digest = sha256(file)
    if digest != expected:
        raise WeightsFileError(f"{owner} weights have sha256 {digest[:12]}…, expected {expected[:12]}…")
    return digest


def sha256(file: Path) -> str:
    """Return the sha256 of a file. Raises a WeightsFileError if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise WeightsFileError(f"cannot read {file.name}: {error.strerror}") from error


def read_tokenizer(folder: Path) -> Tokenizer:
    """Read a folder's tokenizer.json, with padding and truncation switched off.

    Raises:
        WeightsFileError: it is damaged.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # the library raises bare Exception
        raise WeightsFileError(f"cannot read {TOKENIZER}: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def read_bytes(source: bytes | Path, name: str, max_bytes: int, remedy: str) -> bytes:
    """Return the bytes of an uploaded file, given as bytes or a path.

    Args:
        source: the bytes or the path.
        name: of the file in messages, "the picture".
        max_bytes: largest size allowed.
        remedy: what to do about a larger one.

    Raises:
        SizeError: it is too large.
        HeadlightError: it cannot be read.
    """
    try:
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        if size > max_bytes:
            raise SizeError(f"{name} has {size:,} bytes, at most {max_bytes:,} are read; {remedy}")
        return source if isinstance(source, bytes) else source.read_bytes()
    except OSError as error:
        raise HeadlightError(f"cannot read {name}: {error.strerror}") from error
