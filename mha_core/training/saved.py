"""Saved runs, as a folder that is written atomically and as one zip file; every field is validated when read."""

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
from .initial_weights import build_stack
from .recipe import NOT_A_NUMBER
from .tasks.table_file import LIMITS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FORMAT = "headlight run 1"
RUN, TOKENIZER, WEIGHTS = FILES = ("run.json", "tokenizer.json", "model.safetensors")
# The largest model of the app has 18 MB, the maps of 41 evaluations with 4 x 16 heads and 24 tokens 4 MB.
MAX_BYTES = {RUN: 8 * 2**20, TOKENIZER: 8 * 2**20, WEIGHTS: 24 * 2**20}
MAX_PACKED_BYTES = sum(MAX_BYTES.values())  # weights are hardly compressible
MAX_HEADER_BYTES = 512 * 2**10  # of the weights' file, about 100 bytes per tensor
MAX_VALUES = {RUN: 200_000, TOKENIZER: 60_000}  # counted by commas; a vocabulary has at most 50,000 tokens
MAX_STEPS = 12_000  # ten epochs of the largest table in batches of 32
MAX_LIST_LENGTH = 100  # entries of the notes, probes or versions of a run
MAX_TEXT_LENGTH = 300  # characters of each


def save(
    folder: Path, history: History, tokenizer: Tokenizer | None = None, stack: torch.nn.Module | None = None
) -> None:
    """Save a run atomically; without tokenizer and stack only its history.

    Maps that would be too large to be read again are left out, and of more than `MAX_STEPS` steps only every n-th is
    kept.

    Raises:
        HeadlightError: the run has not ended, its weights or loss are not finite, or its weights are too large.
    """
    from safetensors.torch import save_file

    if history.start is None or history.end is None:
        raise HeadlightError("a run can be saved when it has ended")
    with replaced(folder) as part:
        if stack is not None and tokenizer is not None:
            state = {name: tensor.detach().cpu().contiguous() for name, tensor in stack.state_dict().items()}
            finite = all(bool(tensor.isfinite().all()) for tensor in state.values())
            if not finite or history.end.reason == NOT_A_NUMBER:
                raise HeadlightError("the weights or the loss are not finite; choose a smaller learning rate")
            save_file(state, part / WEIGHTS)
            if (part / WEIGHTS).stat().st_size > MAX_BYTES[WEIGHTS]:
                raise HeadlightError(f"the weights of a run that is saved have at most {MAX_BYTES[WEIGHTS]:,} bytes")
            tokenizer.save(str(part / TOKENIZER), pretty=False)
        record = _record(history, history.start, history.end)
        if len(_json(record)) > MAX_BYTES[RUN]:
            record["snapshots"] = []
        (part / RUN).write_text(_json(record), "utf-8")


def read(folder: Path) -> History:
    """Read the history of a saved run.

    Raises:
        WeightsFileError: it is missing, damaged, too large, or not a history of this version.
    """
    text = _text(folder / RUN)
    try:
        record = json.loads(text, parse_constant=_refuse_constant)
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            newer = isinstance(record, dict) and str(record.get("format")).startswith(FORMAT.rstrip("1"))
            raise HeadlightError("a newer version of Headlight wrote it" if newer else f"its format is not {FORMAT!r}")
        _check_texts(record["start"])
        start = from_values({**record["start"], "kind": "Start"})
        if not isinstance(start, Start):
            raise HeadlightError("it does not begin with a start")
        _check_counts(record, start)
        events = [{"kind": "Step", "step": step, "loss": loss, "seconds": took} for step, loss, took in record["steps"]]
        events += [{**values, "kind": "Evaluation"} for values in record["evaluations"]]
        events += [{**values, "kind": "Snapshot"} for values in record["snapshots"]]
        events.append({**record["end"], "kind": "End"})
        return History.from_events([start, *map(from_values, events)])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WeightsFileError(f"{RUN} is not the record of a training run ({_reason(error)})") from error


def read_tokenizer(folder: Path) -> Tokenizer:
    """Read the tokenizer of a saved run.

    Raises:
        WeightsFileError: it is missing, damaged, of another kind, or too large.
    """
    text = _text(folder / TOKENIZER)
    try:
        return tokens.from_file(text)
    except HeadlightError as error:
        raise WeightsFileError(f"cannot read {TOKENIZER}: {error}") from error


def read_stack(folder: Path, history: History, vocabulary: int) -> tuple[Stack, str]:
    """Read the trained model, in eval mode and without gradients, and the sha256 of its weights' file.

    Raises:
        WeightsFileError: the file is missing, damaged, too large, or holds another model than the history says.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    data, start = _content(folder / WEIGHTS), history.start
    if start is None or start.vocabulary != vocabulary:
        raise WeightsFileError(f"{TOKENIZER} has {vocabulary} tokens, {RUN} says another number")
    try:
        shapes_by_name = shapes(data)
        with torch.device("meta"):  # skips the initialisation of weights that are replaced at once
            stack = build_stack(
                start.recipe,
                vocabulary,
                classes=len(start.classes),
                max_len=start.longest,
                target_length=start.target_length,
                picture=start.picture,
            )
        if shapes_by_name != {name: list(tensor.shape) for name, tensor in stack.state_dict().items()}:
            raise HeadlightError(f"their names or shapes are not those that {RUN} asks for")
        tensors = load(data)
        # copied, as tensors in the file are unaligned, and other alignments can change the rounding of sums
        stack.load_state_dict({name: tensor.clone() for name, tensor in tensors.items()}, assign=True)
    except (SafetensorError, RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise WeightsFileError(f"{WEIGHTS} does not hold the tensors of this model ({_reason(error)})") from error
    if not all(tensor.dtype == torch.float32 and bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise WeightsFileError(f"{WEIGHTS} holds something else than finite float32 numbers")
    return stack.eval().requires_grad_(False), hashlib.sha256(data).hexdigest()


def pack(folder: Path) -> bytes:
    """Pack a saved run into one zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for name in FILES:
            if (folder / name).exists():
                archive.write(folder / name, name)
    return packed.getvalue()


def unpack(data: bytes, folder: Path) -> History:
    """Unpack the zip file of a saved run into a new folder and return its history.

    Nothing is written unless the whole run is valid.

    Raises:
        WeightsFileError: it is no zip file, holds other files, is too large, or not a whole run, or the folder exists
            already.
    """
    if folder.exists():
        raise WeightsFileError("the folder for this run already exists; choose a new one")
    if len(data) > MAX_PACKED_BYTES:
        raise WeightsFileError(f"{len(data):,} bytes; a saved run has at most {MAX_PACKED_BYTES:,}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            methods = {info.compress_type for info in archive.infolist()}
            if sorted(archive.namelist()) != sorted(FILES) or not methods <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise WeightsFileError(f"a saved run holds {', '.join(FILES)} and nothing else")
            with replaced(folder) as part:
                for name in FILES:  # never the archive's own names, which could be paths
                    with archive.open(name) as member:
                        content = member.read(MAX_BYTES[name] + 1)
                    if len(content) > MAX_BYTES[name]:
                        raise WeightsFileError(f"{name} has more than {MAX_BYTES[name]:,} bytes")
                    (part / name).write_bytes(content)
                history = read(part)
                read_stack(part, history, read_tokenizer(part).get_vocab_size())
        return history
    except WeightsFileError:
        raise
    except OSError as error:  # from the folder: the archive is in memory
        raise WeightsFileError(f"the folder cannot be written ({error.strerror or type(error).__name__})") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise WeightsFileError(f"this is no zip file of a saved run ({type(error).__name__})") from error


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces `folder` on success and is removed on failure."""
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
    """Convert a run to plain values, with at most `MAX_STEPS` of its steps."""

    def values(event: Event) -> dict[str, Any]:
        return {name: value for name, value in to_values(event).items() if name != "kind"}

    stride = math.ceil(len(history.steps) / MAX_STEPS) or 1
    return {
        "format": FORMAT,
        "start": values(start),
        "steps": [[step.step, step.loss, step.seconds] for step in history.steps[::stride]],
        "evaluations": [values(look) for look in history.evaluations],
        "snapshots": [values(maps) for maps in history.snapshots],
        "end": values(end),
    }


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, HeadlightError) else type(error).__name__


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _check_texts(start: Any) -> None:
    """Check the number and length of the texts about a run."""
    listed = ("notes", "probes", "columns", "versions")
    lists = {**dict.fromkeys(listed, MAX_LIST_LENGTH), "classes": LIMITS["classes"]}
    for name, limit in lists.items():
        _check_at_most(f"{name} in its start", len(start.get(name, ())), limit)
    probes = [*start["probes"], *start.get("columns", ())]
    for probe in probes:
        _check_at_most("tokens in a probe", len(probe), MAX_TOKENS)
    for name in start["classes"]:
        _check_at_most("characters in the name of a class", len(name), LIMITS["label"])
    texts = (start["title"], start["fingerprint"], start["machine"], *start["notes"])
    for words in (*texts, *start["versions"], *start["versions"].values(), *itertools.chain(*probes)):
        _check_at_most("characters in one of its texts", len(words), MAX_TEXT_LENGTH)


def _check_counts(record: dict[str, Any], start: Start) -> None:
    """Check that no more is listed than such a run can have."""
    recipe, max_evaluations = start.recipe, start.recipe.evaluations + 2
    _check_at_most("steps", len(record["steps"]), min(recipe.steps, MAX_STEPS))
    _check_at_most("evaluations", len(record["evaluations"]), max_evaluations)
    _check_at_most("snapshots", len(record["snapshots"]), max_evaluations * len(start.probes))
    _check_at_most("predicted classes", len(record["end"].get("predicted", ())), min(start.rows_test, LIMITS["rows"]))


def _check_at_most(noun: str, count: int, limit: int) -> None:
    if count > limit:
        raise HeadlightError(f"it has {count:,} {noun}, at most {limit:,} are read")


def shapes(data: bytes) -> dict[str, list[int]]:
    """Return the shape of every tensor of a safetensors file by name, from its JSON header.

    Raises:
        HeadlightError: the header is too long.
    """
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER_BYTES:
        raise HeadlightError(f"it names its tensors in {length:,} bytes, at most {MAX_HEADER_BYTES:,} are read")
    header = json.loads(data[8 : 8 + length])
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


def _text(file: Path) -> str:
    """Read a JSON file as text.

    Raises:
        WeightsFileError: it is missing or has too many bytes or values.
    """
    data = _content(file)
    values, limit = data.count(b",") + 1, MAX_VALUES[file.name]
    if values > limit:  # before parsing: a value of two bytes takes a hundred as an object
        raise WeightsFileError(f"{file.name} has up to {values:,} values, at most {limit:,} are read")
    return data.decode("utf-8", "replace")


def _content(file: Path) -> bytes:
    """Read a file.

    Raises:
        WeightsFileError: it is missing or larger than its `MAX_BYTES`.
    """
    try:
        if file.exists() and not file.is_file():  # reading a pipe would block
            raise WeightsFileError(f"{file.name} is no regular file")
        if file.stat().st_size > MAX_BYTES[file.name]:
            raise WeightsFileError(f"{file.name} has more than {MAX_BYTES[file.name]:,} bytes")
        return file.read_bytes()
    except OSError as error:
        raise WeightsFileError(f"cannot read {file.name}: {error.strerror}") from error
