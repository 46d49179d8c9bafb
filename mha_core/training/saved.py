"""A saved run as a folder, written whole or not at all, and as one zip file; read with every field checked."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ..errors import HeadlightError, WeightsFileError
from ..models.stack import Stack
from . import tokens
from .events import MAX_TOKENS, End, Event, History, Start, from_values, to_values
from .initial_weights import stack_of
from .recipe import NOT_A_NUMBER
from .tasks.table import LIMITS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FORMAT = "headlight run 1"
RUN, TOKENIZER, WEIGHTS = FILES = ("run.json", "tokenizer.json", "model.safetensors")
# Bytes. The largest model of the app has 18 MB, the maps of 41 looks with 4 x 16 heads on 24 tokens have 4 MB.
MAX_BYTES = {RUN: 8 * 2**20, TOKENIZER: 8 * 2**20, WEIGHTS: 24 * 2**20}
MAX_PACKED_BYTES = sum(MAX_BYTES.values())  # weights hardly get smaller by packing
MAX_HEADER_BYTES = 512 * 2**10  # bytes in which the weights' file names its tensors, 100 for each
MAX_VALUES = {RUN: 200_000, TOKENIZER: 60_000}  # between the commas; a vocabulary has at most 50,000 tokens
MAX_STEPS = 12_000  # ten epochs of the largest table in batches of 32
MAX_LISTED = 100  # of what is told about a run: notes, probes, versions
MAX_WORDS_LENGTH = 300  # characters of each


def save(
    folder: Path,
    history: History,
    tokenizer: Tokenizer | None = None,
    stack: torch.nn.Module | None = None,
    *,
    maps: bool | None = None,
) -> None:
    """Writes a run; without tokenizer and stack its history alone. The folder is whole or not there.

    The maps are written with the stack, if `maps` does not say otherwise. Those that would be too much to be read again
    are left out, and of more than `MAX_STEPS` steps all but every second, third, … one.

    Raises:
        HeadlightError: the run has not ended, has come to weights or a loss that are no numbers, or its weights are
            too large.
    """
    from safetensors.torch import save_file

    if history.start is None or history.end is None:
        raise HeadlightError("a run can be saved when it has ended")
    with replaced(folder) as part:
        if stack is not None and tokenizer is not None:
            state = {name: tensor.detach().cpu().contiguous() for name, tensor in stack.state_dict().items()}
            finite = all(bool(tensor.isfinite().all()) for tensor in state.values())
            if not finite or history.end.reason == NOT_A_NUMBER:
                raise HeadlightError("the numbers of this run are none any more; choose a smaller rate")
            save_file(state, part / WEIGHTS)
            if (part / WEIGHTS).stat().st_size > MAX_BYTES[WEIGHTS]:
                raise HeadlightError(f"the weights of a run that is saved have at most {MAX_BYTES[WEIGHTS]:,} bytes")
            tokenizer.save(str(part / TOKENIZER), pretty=False)
        record = _record(history, history.start, history.end)
        with_maps = stack is not None if maps is None else maps
        if not with_maps or len(_json(record)) > MAX_BYTES[RUN]:
            record["snapshots"] = []
        (part / RUN).write_text(_json(record), "utf-8")


def read(folder: Path) -> History:
    """The history of a saved run.

    Raises:
        WeightsFileError: it is missing, damaged, too large, or not a history of this version.
    """
    text = _text(folder / RUN)
    try:
        record = json.loads(text, parse_constant=_no_constant)
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            newer = isinstance(record, dict) and str(record.get("format")).startswith(FORMAT.rstrip("1"))
            raise HeadlightError(
                "a newer version of Headlight wrote it" if newer else f"it does not say that it is a {FORMAT!r}"
            )
        _check_words(record["start"])
        start = from_values({**record["start"], "kind": "Start"})
        if not isinstance(start, Start):
            raise HeadlightError("it does not begin with a start")
        _check_counts(record, start)
        events = [{"kind": "Step", "step": step, "loss": loss, "seconds": took} for step, loss, took in record["steps"]]
        events += [{**values, "kind": "Evaluation"} for values in record["evaluations"]]
        events += [{**values, "kind": "Snapshot"} for values in record["snapshots"]]
        events.append({**record["end"], "kind": "End"})
        return History.of([start, *map(from_values, events)])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WeightsFileError(f"{RUN} is not the record of a training run ({_why(error)})") from error


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a saved run. Raises a WeightsFileError when it is missing, damaged, foreign or too large."""
    text = _text(folder / TOKENIZER)
    try:
        return tokens.of_file(text)
    except HeadlightError as error:
        raise WeightsFileError(f"cannot read {TOKENIZER}: {error}") from error


def read_stack(folder: Path, history: History, vocabulary: int) -> tuple[Stack, str]:
    """The trained model, in eval mode and without gradients, and the sha256 of its weights' file.

    Raises:
        WeightsFileError: the file is missing, damaged, too large, or holds another model than the history says.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    data, start = _content(folder / WEIGHTS), history.start
    if start is None or start.vocabulary != vocabulary:
        raise WeightsFileError(f"{TOKENIZER} has {vocabulary} tokens, {RUN} says another number")
    try:
        named = shapes(data)
        with torch.device("meta"):  # no random numbers for weights that are replaced at once
            stack = stack_of(
                start.recipe,
                vocabulary,
                classes=len(start.classes),
                longest=start.longest,
                target_length=start.target_length,
                picture=start.picture,
            )
        if named != {name: list(tensor.shape) for name, tensor in stack.state_dict().items()}:
            raise HeadlightError(f"their names or shapes are not those that {RUN} asks for")
        tensors = load(data)
        # copied: in the file they begin anywhere, and sums of numbers aligned otherwise are rounded otherwise
        stack.load_state_dict({name: tensor.clone() for name, tensor in tensors.items()}, assign=True)
    except (SafetensorError, RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise WeightsFileError(f"{WEIGHTS} does not hold the tensors of this model ({_why(error)})") from error
    if not all(tensor.dtype == torch.float32 and bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise WeightsFileError(f"{WEIGHTS} holds something else than finite float32 numbers")
    return stack.eval().requires_grad_(False), hashlib.sha256(data).hexdigest()


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
    if len(data) > MAX_PACKED_BYTES:
        raise WeightsFileError(f"{len(data):,} bytes; a saved run has at most {MAX_PACKED_BYTES:,}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            ways = {info.compress_type for info in archive.infolist()}
            if sorted(archive.namelist()) != sorted(FILES) or not ways <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise WeightsFileError(f"a saved run holds {', '.join(FILES)} and nothing else")
            with replaced(folder) as part:
                for name in FILES:  # our names, never the archive's
                    with archive.open(name) as opened:
                        content = opened.read(MAX_BYTES[name] + 1)
                    if len(content) > MAX_BYTES[name]:
                        raise WeightsFileError(f"{name} has more than {MAX_BYTES[name]:,} bytes")
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


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """A new folder to write into, which takes the place of `folder` when all is written; without a trace if not."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        yield part
        shutil.rmtree(folder, ignore_errors=True)
        part.replace(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _record(history: History, start: Start, end: End) -> dict[str, Any]:
    """Plain values of a run, of its steps at most `MAX_STEPS`."""

    def plain(event: Event) -> dict[str, Any]:
        return {name: value for name, value in to_values(event).items() if name != "kind"}

    stride = math.ceil(len(history.steps) / MAX_STEPS) or 1
    return {
        "format": FORMAT,
        "start": plain(start),
        "steps": [[step.step, step.loss, step.seconds] for step in history.steps[::stride]],
        "evaluations": [plain(look) for look in history.evaluations],
        "snapshots": [plain(maps) for maps in history.snapshots],
        "end": plain(end),
    }


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, HeadlightError) else type(error).__name__


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _check_words(start: Any) -> None:
    """Raises a HeadlightError for more or longer words about a run than anybody needs."""
    listed = ("notes", "probes", "columns", "versions")
    lists = {**dict.fromkeys(listed, MAX_LISTED), "classes": LIMITS["classes"]}
    for name, most in lists.items():
        _at_most(f"{name} in its start", len(start.get(name, ())), most)
    probes = [*start["probes"], *start.get("columns", ())]
    for tokens_of_one in probes:
        _at_most("tokens in a probe", len(tokens_of_one), MAX_TOKENS)
    for name in start["classes"]:
        _at_most("characters in the name of a class", len(name), LIMITS["label"])
    said = (start["title"], start["fingerprint"], start["machine"], *start["notes"])
    for words in (*said, *start["versions"], *start["versions"].values(), *itertools.chain(*probes)):
        _at_most("characters in one of its texts", len(words), MAX_WORDS_LENGTH)


def _check_counts(record: dict[str, Any], start: Start) -> None:
    """Raises a HeadlightError when more is listed than such a run can have."""
    recipe, looks = start.recipe, start.recipe.evaluations + 2
    _at_most("steps", len(record["steps"]), min(recipe.steps, MAX_STEPS))
    _at_most("evaluations", len(record["evaluations"]), looks)
    _at_most("snapshots", len(record["snapshots"]), looks * len(start.probes))
    _at_most("predicted classes", len(record["end"].get("predicted", ())), min(start.rows_test, LIMITS["rows"]))


def _at_most(what: str, came: int, most: int) -> None:
    if came > most:
        raise HeadlightError(f"it has {came:,} {what}, at most {most:,} are read")


def shapes(data: bytes) -> dict[str, list[int]]:
    """The shape of every tensor of a safetensors file, by name: 8 bytes say how long its header of JSON is.

    Raises:
        HeadlightError: the header is too long.
    """
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER_BYTES:
        raise HeadlightError(f"it names its tensors in {length:,} bytes, at most {MAX_HEADER_BYTES:,} are read")
    header = json.loads(data[8 : 8 + length])
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


def _text(file: Path) -> str:
    """The content of a file of JSON. Raises a WeightsFileError when it is missing or has too many bytes or values."""
    data = _content(file)
    values, most = data.count(b",") + 1, MAX_VALUES[file.name]
    if values > most:  # before they are made: a value of two bytes takes a hundred as an object
        raise WeightsFileError(f"{file.name} has up to {values:,} values, at most {most:,} are read")
    return data.decode("utf-8", "replace")


def _content(file: Path) -> bytes:
    """The content of a file. Raises a WeightsFileError when it is missing or has more than its `MAX_BYTES` bytes."""
    try:
        if file.exists() and not file.is_file():  # a pipe would be waited for
            raise WeightsFileError(f"{file.name} is no regular file")
        if file.stat().st_size > MAX_BYTES[file.name]:
            raise WeightsFileError(f"{file.name} has more than {MAX_BYTES[file.name]:,} bytes")
        return file.read_bytes()
    except OSError as error:
        raise WeightsFileError(f"cannot read {file.name}: {error.strerror}") from error
