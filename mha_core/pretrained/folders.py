"""Safe access to untrusted model folders: sizes checked first, regular files of the folder only, no pickle."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..errors import HeadlightError, SizeError, Unsupported, WeightsFileError
from . import offline, tokenizer_guard, weight_files
from .weight_files import NAMES as NAMES
from .weight_files import WEIGHTS as WEIGHTS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CONFIG, TOKENIZER, INDEX = "config.json", "tokenizer.json", "model.safetensors.index.json"
MODULES = "modules.json"  # of sentence-transformers
PARTS = ("text", "vision", "audio")  # halves of a dual encoder, "#vision" behind the name of a folder
MAX_JSON_BYTES = 8 * 2**20  # bytes
MAX_TOKENIZER_BYTES = 64 * 2**20
MAX_HEADER_BYTES = 32 * 2**20
MAX_SHARDS = 1000
MAX_TENSORS = 50_000
MAX_COPIED_BYTES = 2**28  # of weights that are copied first; a mapped file that is cut short ends the process
MEDIA = threading.Lock()  # held while a picture or sound is decoded, which takes up to 400 MiB
MAX_DEPTH = 20
MAX_VALUES = 200_000
MAX_NUMBER = 2**40
# numbers that size nothing: ids, and real numbers that were written as integers
UNSIZED = re.compile(r"(_id|theta|freq|base|factor|scale|seed|max_length)$")
LABELS = ("id2label", "label2id")  # their keys are words of the author
PLAIN_KERNELS = (True, "eager", "sdpa")
REMOVE = "remove the entry if the model works without"
QUANTISED = re.compile("F[468]_|F[468]$|E8M0")
SHARD = re.compile(r"[\w.-]{1,200}\.safetensors")


@dataclass(frozen=True)
class Tensors:
    """Headers of the weight files, read before any weight.

    Attributes:
        files: paths of the files.
        shapes: by name.
        formats: number formats, as "BF16".
        notices: what is unusual about the files, a sentence each.
    """

    files: tuple[Path, ...]
    shapes: Mapping[str, tuple[int, ...]]
    formats: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()

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
    except BaseException as error:  # the classes of a library raise errors of many types; those in Rust panic
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise WeightsFileError(f"{message}: {type(error).__name__}: {' '.join(str(error).split()):.300}") from error


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
    blobs = next((parent.parent / "blobs" for parent in list(home.parents)[:2] if parent.name == "snapshots"), home)
    if not any(target.is_relative_to(place) for place in (home, blobs)):
        raise WeightsFileError(f"{name} is a link out of the folder; copy the file itself into it")
    if not regular:
        raise WeightsFileError(f"{name} is not a regular file")
    if not os.access(file, os.R_OK):
        raise WeightsFileError(f"{name} may not be read by this user; change its permissions")
    return file


class Description(dict[str, Any]):
    """A checked config, without the entries that are not read.

    Attributes:
        notices: what was left aside, and why; a sentence each.
    """

    notices: tuple[str, ...] = ()


def split_part(name: str) -> tuple[str, str]:
    """Split the half of a dual encoder from a folder's name, "clip#vision", unless a file has that name."""
    place, _, part = name.rpartition("#")
    if not place or part not in PARTS or os.path.exists(name):  # noqa: PTH110  # unlike Path's, it raises nothing
        return name, ""
    return place, part


def model_folder(folder: Path) -> Path:
    """Return the folder with config.json: this one, or that of the encoder inside a folder of sentence-transformers.

    Raises:
        WeightsFileError: there is none; the message names what the folder holds instead.
    """
    names = sorted(file.name for file in folder.iterdir())
    inside = [name for name in names if (folder / name / CONFIG).is_file()]
    if MODULES in names and inside and not (CONFIG in names and read_json(folder, CONFIG).get("model_type")):
        return regular_file(folder, f"{inside[0]}/{CONFIG}").parent
    if CONFIG not in names and inside:
        raise WeightsFileError(f"{CONFIG} is only in folders inside; open one of them: {', '.join(inside[:5])}")
    if CONFIG not in names:
        weight_files.refuse_format(names)
    return folder


def read_json(folder: Path, name: str, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        WeightsFileError: it is missing, too large, damaged or something else.
    """
    file = regular_file(folder, name)
    try:
        if file.stat().st_size > max_bytes:
            raise WeightsFileError(f"{name} has more than {max_bytes} bytes; this is not a model config")
        data = file.read_bytes()
        _refuse_pointer(data, name)
        content = json.loads(data)
    except WeightsFileError:
        raise
    except json.JSONDecodeError as error:
        raise WeightsFileError(
            f"cannot read {name}: line {error.lineno} is not JSON, which has no comments ({error.msg})"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise WeightsFileError(f"cannot read {name} ({type(error).__name__})") from error
    if not isinstance(content, dict):
        raise WeightsFileError(f"{name} holds a {type(content).__name__}, not a model config")
    return content


def _refuse_pointer(data: bytes, name: str) -> None:
    if data.startswith(b"version https://git-lfs"):
        raise WeightsFileError(f"{name} is only a pointer of git LFS; run `git lfs pull` in the folder")


def describe(folder: Path, name: str = CONFIG) -> Description:
    """Read a config without the entries that are not used.

    Raises:
        Unsupported: it needs custom code.
        WeightsFileError: it is damaged, or has impossible sizes.
    """
    content = read_json(folder, name)
    notices: list[str] = []
    n_values = 0

    def copy(value: Any, key: str, depth: int) -> Any:
        nonlocal n_values
        n_values += 1
        if n_values > MAX_VALUES:
            raise WeightsFileError(f"{name} has more than {MAX_VALUES:,} values; this is not a model config")
        if depth > MAX_DEPTH:
            raise WeightsFileError(f"{name} is nested deeper than {MAX_DEPTH} times; this is not a model config")
        if isinstance(value, dict):
            parts = {inner: part for inner, part in value.items() if is_used(inner, part, depth)}
            return {inner: copy(part, key if key in LABELS else inner, depth + 1) for inner, part in parts.items()}
        if isinstance(value, list):
            return [copy(part, key, depth + 1) for part in value]
        _check_size(key, value, name)
        return value

    def is_used(key: str, value: Any, depth: int) -> bool:
        reason = _misfit(key, value, name, "" if depth else content.get("model_type"))
        notices.extend([f"{name}: {key} is left aside, because {reason}."] if reason else [])
        is_unused = key in NAMES["config"]["unused"] or (key.startswith("quantization") and not value)
        return not is_unused and not reason

    description = Description(copy(content, "", 0))
    description.notices = tuple(notices)
    return description


def _misfit(key: str, value: Any, name: str, model_type: Any) -> str:
    """Return the reason to leave an entry aside that asks for something else than is done; "" if it does not."""
    if key.endswith("_file") and isinstance(value, str) and value != Path(value).name:
        return "it is a path of another machine"
    if key == "auto_map" and value:
        offline.transformers()
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING

        if model_type in CONFIG_MAPPING:
            return "code of a folder is not run; transformers has this type itself"
        raise Unsupported(f"{name} asks for code of its own (auto_map), which is not run; {REMOVE}")
    if "attn_implementation" in key and value and value not in PLAIN_KERNELS:
        if key in NAMES["config"]["unused"]:
            return "only plain attention returns its maps"
        raise Unsupported(f"{name} asks for a kernel ({key}), which is not run; {REMOVE}")
    return ""


def _check_size(key: str, value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or UNSIZED.search(key):
        return
    words = key.partition("_per_")[0].split("_")
    bounds = NAMES["config"]["max_by_word"]
    maximum = min((bounds[word] for word in words if word in bounds), default=MAX_NUMBER)
    if abs(value) > maximum:
        raise WeightsFileError(
            f"{name} has impossible sizes: {key}={value:,}, at most {maximum:,} is read; correct or delete this entry"
        )


def read_weight_headers(folder: Path) -> Tensors:
    """Read the headers of a folder's safetensors files.

    Raises:
        WeightsFileError: there are none, or they are damaged.
    """
    notices: tuple[str, ...] = ()
    if not (folder / WEIGHTS).exists() and (folder / INDEX).exists():
        index = read_json(folder, INDEX, MAX_HEADER_BYTES).get("weight_map")
        shards = set(index.values()) if isinstance(index, dict) else set()
        if not 0 < len(shards) <= MAX_SHARDS or not all(isinstance(n, str) and SHARD.fullmatch(n) for n in shards):
            raise WeightsFileError(f"{INDEX} does not list the files of the weights")
        names = sorted(shards)
    else:
        names = weight_files.choose(file.name for file in folder.iterdir())
        if names != [WEIGHTS]:
            notices = (f"The weights are those of {', '.join(names[:3])}, because there is no {WEIGHTS}.",)
    files = tuple(regular_file(folder, name) for name in names)
    return replace(read_headers(files), notices=notices)


def read_headers(files: Sequence[Path]) -> Tensors:
    """Read the headers of safetensors files; the library checks that their tensors fill them.

    Raises:
        WeightsFileError: one is damaged, or something else.
        Unsupported: its numbers are quantised.
    """
    from safetensors import SafetensorError, safe_open

    shapes, formats = dict[str, tuple[int, ...]](), set[str]()
    for file in files:
        try:
            with file.open("rb") as opened:
                start = opened.read(32)
            _refuse_pointer(start, file.name)
            length = int.from_bytes(start[:8], "little")
            if not 0 < length <= MAX_HEADER_BYTES:
                raise WeightsFileError(
                    f"{file.name} has a header of {length:,} bytes; it is damaged or not safetensors"
                )
            with safe_open(file, "pt") as opened:
                for name in opened.keys():  # noqa: SIM118
                    part = opened.get_slice(name)
                    shapes[name], number_format = tuple(part.get_shape()), part.get_dtype()
                    formats.add(number_format)
                    if QUANTISED.match(number_format):
                        raise Unsupported(
                            f"{file.name} is quantised ({name} has the number format {number_format}); "
                            "choose a model with unquantised weights"
                        )
        except (OSError, SafetensorError) as error:
            reason = "its header is damaged, or its download is unfinished: fetch it again"
            raise WeightsFileError(f"cannot read {file.name}: {reason} ({error})") from error
        if len(shapes) > MAX_TENSORS:
            raise WeightsFileError(f"{file.name} lists more than {MAX_TENSORS:,} tensors; these are not a model's")
    return Tensors(tuple(files), shapes, frozenset(formats))


def read_tensors(files: Sequence[Path], max_copied: int = MAX_COPIED_BYTES) -> dict[str, Any]:
    """Map the tensors of safetensors files, or, up to `max_copied` bytes in total, those of copies without a name.

    Mapped tensors are as aligned as transformers' own, so that sums are rounded alike.

    Raises:
        WeightsFileError: a file is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    tensors: dict[str, Any] = {}
    for file in files:
        try:
            is_small = sum(other.stat().st_size for other in files) <= max_copied
            with TemporaryDirectory(ignore_cleanup_errors=True) as place:
                tensors |= load_file(shutil.copyfile(file, Path(place, file.name)) if is_small else file)
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

    with library_errors(f"cannot read {TOKENIZER}"):
        tokenizer_guard.require_bounded(read_json(folder, TOKENIZER, MAX_TOKENIZER_BYTES))
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
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
