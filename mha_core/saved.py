"""Saved runs: a folder with run.json (the history), tokenizer.json and model.safetensors. No pickle.

What is read may come from a stranger: sizes are bounded before anything is opened, and every field is checked.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from . import tokens
from .classifier import Classifier
from .errors import HeadlightError, WeightsFileError
from .events import Event, History, Start, from_line, to_line
from .initial import classifier_sizes, language_sizes
from .language_model import LanguageModel

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["FILES", "LARGEST", "RUN", "pack", "read", "read_stack", "read_tokenizer", "save", "unpack"]

RUN, TOKENIZER, WEIGHTS = FILES = ("run.json", "tokenizer.json", "model.safetensors")
LARGEST = {RUN: 8 * 2**20, TOKENIZER: 8 * 2**20, WEIGHTS: 96 * 2**20}  # bytes
LARGEST_PACKED = 16 * 2**20
_FORMAT = "headlight run 1"


def save(
    folder: Path, history: History, tokenizer: Tokenizer | None = None, stack: torch.nn.Module | None = None
) -> None:
    """Writes a run; without tokenizer and stack its history alone, without the maps. The folder is whole or not there.

    Maps that are too many to be read again are left out.

    Raises:
        HeadlightError: the run has not ended, or has come to weights or a loss that are no numbers.
    """
    from safetensors.torch import save_file

    if history.start is None or history.end is None:
        raise HeadlightError("a run can be saved when it has ended")
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        if stack is not None and tokenizer is not None:
            state = {name: tensor.detach().cpu().contiguous() for name, tensor in stack.state_dict().items()}
            finite = all(bool(tensor.isfinite().all()) for tensor in state.values())
            if not finite or history.end.reason == "not a number":
                raise HeadlightError("the numbers of this run are none any more; choose a smaller rate")
            save_file(state, part / WEIGHTS)
            tokenizer.save(str(part / TOKENIZER), pretty=False)
        text = _to_json(history, maps=stack is not None)
        if len(text) > LARGEST[RUN]:
            text = _to_json(history, maps=False)
        (part / RUN).write_text(text, "utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        part.replace(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def read(folder: Path) -> History:
    """The history of a saved run.

    Raises:
        WeightsFileError: it is missing, damaged, too large, or not a history of this version.
    """
    text = _bounded(folder / RUN).decode("utf-8", "replace")
    try:
        found = json.loads(text, parse_constant=_no_constant)
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise HeadlightError(f"it does not say that it is a {_FORMAT!r}")
        start = from_line(json.dumps({**found["start"], "kind": "Start"}))
        assert isinstance(start, Start)
        if len(found["steps"]) > start.recipe.steps or len(found["evaluations"]) > start.recipe.evaluations + 2:
            raise HeadlightError("it has more steps or evaluations than were asked for")
        steps = [{"kind": "Step", "step": step, "loss": loss, "seconds": took} for step, loss, took in found["steps"]]
        more = [{**each, "kind": "Evaluation"} for each in found["evaluations"]]
        more += [{**each, "kind": "Snapshot"} for each in found["snapshots"]]
        lines = map(json.dumps, [*steps, *more, {**found["end"], "kind": "End"}])
        return History.of([start, *map(from_line, lines)])
    except (HeadlightError, ValueError, KeyError, TypeError, RecursionError) as error:
        what = str(error) if isinstance(error, HeadlightError) else type(error).__name__
        raise WeightsFileError(f"{RUN} is not the record of a training run ({what})") from error


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a saved run. Raises a WeightsFileError when it is missing, damaged, foreign or too large."""
    text = _bounded(folder / TOKENIZER).decode("utf-8", "replace")
    try:
        return tokens.of_file(text)
    except HeadlightError as error:
        raise WeightsFileError(f"cannot read {TOKENIZER}: {error}") from error


def read_stack(folder: Path, history: History, vocabulary: int) -> tuple[Classifier | LanguageModel, str]:
    """The trained model, in eval mode and without gradients, and the sha256 of its weights' file.

    Raises:
        WeightsFileError: the file is missing, damaged, too large, or holds another model than the history says.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    data, start = _bounded(folder / WEIGHTS), history.start
    if start is None or start.vocabulary != vocabulary:
        raise WeightsFileError(f"{TOKENIZER} has {vocabulary} tokens, {RUN} says another number")
    try:
        tensors = load(data)
        with torch.device("meta"):  # no random numbers for weights that are replaced at once
            stack = _empty(history, vocabulary)
        # copied: in the file they begin anywhere, and sums of numbers aligned otherwise are rounded otherwise
        stack.load_state_dict({name: tensor.clone() for name, tensor in tensors.items()}, assign=True)
    except (SafetensorError, RuntimeError, ValueError, KeyError) as error:
        raise WeightsFileError(f"{WEIGHTS} does not hold the tensors of this model ({type(error).__name__})") from error
    if not all(tensor.dtype == torch.float32 and bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise WeightsFileError(f"{WEIGHTS} holds something else than finite float32 numbers")
    return stack.eval().requires_grad_(False), hashlib.sha256(data).hexdigest()


def pack(folder: Path) -> bytes:
    """A saved run as one zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
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
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            ways = {info.compress_type for info in archive.infolist()}
            if sorted(archive.namelist()) != sorted(FILES) or not ways <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise WeightsFileError(f"a saved run holds {', '.join(FILES)} and nothing else")
            part.mkdir(parents=True)
            for name in FILES:  # our names, never the archive's
                with archive.open(name) as opened:
                    content = opened.read(LARGEST[name] + 1)
                if len(content) > LARGEST[name]:
                    raise WeightsFileError(f"{name} has more than {LARGEST[name]:,} bytes")
                (part / name).write_bytes(content)
        history = read(part)
        read_stack(part, history, read_tokenizer(part).get_vocab_size())
        part.replace(folder)
        return history
    except WeightsFileError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError) as error:
        raise WeightsFileError(f"this is no zip file of a saved run ({type(error).__name__})") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _empty(history: History, vocabulary: int) -> Classifier | LanguageModel:
    start = history.start
    assert start is not None
    if start.classes:
        return Classifier(classifier_sizes(history.recipe, vocabulary, len(start.classes)))
    return LanguageModel(language_sizes(history.recipe, vocabulary, start.longest))


def _to_json(history: History, *, maps: bool) -> str:
    def plain(event: Event) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(to_line(event))
        del values["kind"]
        return values

    assert history.start is not None
    assert history.end is not None
    found = {
        "format": _FORMAT,
        "start": plain(history.start),
        "steps": [[step.step, step.loss, step.seconds] for step in history.steps],
        "evaluations": [plain(each) for each in history.evaluations],
        "snapshots": [plain(each) for each in history.snapshots] if maps else [],
        "end": plain(history.end),
    }
    return json.dumps(found, separators=(",", ":"), allow_nan=False)


def _bounded(file: Path) -> bytes:
    """The content of a file that is not larger than it may be."""
    try:
        if file.stat().st_size > LARGEST[file.name]:
            raise WeightsFileError(f"{file.name} has more than {LARGEST[file.name]:,} bytes")
        return file.read_bytes()
    except OSError as error:
        raise WeightsFileError(f"cannot read {file.name}: {error.strerror}") from error


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")
