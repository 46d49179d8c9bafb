"""Models by name: MiniLM, SmolLM2, a saved run, or any model of transformers by its folder or its name on the hub."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import torch

from ..device import is_out_of_memory, pick, require_dtype
from ..errors import Unsupported, WeightsFileError
from ..models.model import Model
from ..models.stack import Stack
from ..models.translator import model_of
from ..training import saved
from ..training.events import History
from . import bert, hub, minilm, smollm2

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class Files:
    """The content of a model's folder, if it has one; `history` is None when it is not a saved run."""

    folder: Path | None
    stack: Stack
    tokenizer: Tokenizer
    sha256: str
    history: History | None = None


def load_model(
    name: str = "minilm",
    device: str | torch.device = "auto",
    dtype: torch.dtype = torch.float32,
    revision: str | None = None,
) -> Model:
    """Loads a model by name. No network, no code of a package or a folder is run; safe in threads.

    MiniLM, SmolLM2, saved runs and folders in MiniLM's form run in our own layers, without transformers.

    Args:
        name: "minilm", "smollm2", the path of a local folder: of a saved run (see `saved`), or with config.json,
            a tokenizer and safetensors of any model of transformers that reads text, or with preprocessor_config.json
            of one that reads pictures (`sight.KINDS`) or sounds (`hearing.KINDS`); a file in it; or its name on the
            hub, when the hub's cache on this machine has it (see `hub.download`).
        device: "auto" (cuda, mps, cpu, the first present), or a device by name. When a device that "auto" chose runs
            out of memory, the CPU takes over and `run.notices` says so.
        dtype: the weights are cast to it.
        revision: of a name on the hub: a branch, a tag or a commit; None = main.

    Raises:
        WeightsFileError: the package or a file is missing or damaged, or the weights are not the pinned ones.
        DeviceError, DtypeError: the device is not there, has too little memory, or cannot compute in that dtype.
        Unsupported: the folder holds another kind of model.
    """
    chosen = pick(device)
    require_dtype(dtype, chosen)
    if name == "smollm2":
        files = _smollm2(dtype)
    elif name == "minilm":
        files = _minilm()
    else:
        folder, facts = _folder(name, revision)
        if not _is_ours(folder):
            from .opened import open_folder

            return open_folder(folder, name, chosen, dtype, facts)
        files = _local(folder)
    stack, notices = _on(chosen, files.stack.to(dtype), may_fall_back=device == "auto")
    history = files.history
    return model_of(
        name,
        files.tokenizer,
        stack,
        origin="trained here" if history else "pretrained",
        fall_back=device == "auto",
        folder=files.folder,
        facts={
            "model": history.start.title if history and history.start else name,  # a run's path is private
            "sha256": files.sha256,
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
        notices=notices,
        history=history,
    )


def _minilm() -> Files:
    try:
        folder = minilm.folder()
        digest = bert.sha256(folder)
        minilm.check_weights(digest)
        return Files(folder, *bert.read(folder), digest)
    except (WeightsFileError, Unsupported) as error:
        # nobody chose the package's files: they are damaged
        raise WeightsFileError(f"{error}; {minilm.REINSTALL}") from error


def _smollm2(dtype: torch.dtype) -> Files:
    decoder, tokenizer, digest = smollm2.read(dtype)
    return Files(None, decoder, cast("Tokenizer", tokenizer), digest)


def _folder(name: str, revision: str | None) -> tuple[Path, dict[str, str]]:
    """Where a model lies, and what is to be said of that."""
    path = Path(name)
    if name and os.path.isdir(name):  # noqa: PTH112  # unlike Path's, it takes names that no file can have
        return path, {}
    if os.path.isfile(name) and path.parent != Path():  # noqa: PTH113
        return path.parent, {}
    if not hub.is_id(name):
        raise WeightsFileError(f"no model {name!r}: give 'minilm', 'smollm2', a local folder, or a name on the hub")
    folder, commit = hub.find(name, revision)
    return folder, {"revision": commit}


def _is_ours(folder: Path) -> bool:
    """Whether our own layers can run it: a saved run, or an encoder in MiniLM's form."""
    return (folder / saved.RUN).is_file() or bert.is_plain(folder)


def _local(folder: Path) -> Files:
    if (folder / saved.RUN).is_file():
        history, tokenizer = saved.read(folder), saved.read_tokenizer(folder)
        stack, digest = saved.read_stack(folder, history, tokenizer.get_vocab_size())
        return Files(folder, stack, tokenizer, digest, history)
    digest = bert.sha256(folder)
    return Files(folder, *bert.read(folder), digest)


def _on(device: torch.device, stack: Stack, *, may_fall_back: bool) -> tuple[Stack, tuple[str, ...]]:
    """The stack on the device, or on the CPU with a notice that says so."""
    try:
        return stack.to(device), ()
    except RuntimeError as error:
        if not may_fall_back or not is_out_of_memory(error):
            raise
    return stack.to("cpu"), (f"{device} has no memory for the model; this was computed on the CPU.",)
