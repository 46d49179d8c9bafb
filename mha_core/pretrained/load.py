"""Loading of models by name: MiniLM, SmolLM2, a saved run, or a model of transformers by folder or hub id."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import torch

from ..device import pick, require_dtype, run_with_cpu_fallback
from ..errors import WeightsFileError
from ..models.model import Model
from ..models.stack import Stack
from ..models.translator import build_model
from ..training import saved
from ..training.events import History
from . import adapters, bert, folders, hub, smollm2, weight_files


def load_model(
    name: str = "minilm",
    device: str | torch.device = "auto",
    dtype: torch.dtype | None = torch.float32,
    revision: str | None = None,
) -> Model:
    """Load a model by name, without network access and without running code of a package or folder.

    MiniLM, SmolLM2, saved runs and folders in MiniLM's form run in our own layers, without transformers. Thread-safe.

    Args:
        name: "minilm", "smollm2", or the path of a local folder: of a saved run (see `saved`), or with config.json, a
            tokenizer and safetensors of any model of transformers that reads text, or with preprocessor_config.json of
            one that reads pictures (`image_processor.KINDS`) or sounds (`audio_processor.KINDS`), or with a LoRA
            adapter of a model that is beside it or in the hub's cache; or a file in it; or an id on the hub, if the
            hub's cache on this machine has it (see `hub.download`). Of a dual encoder such as CLIP, "#text" or
            "#vision" behind the name chooses the half; without it the text half is loaded.
        device: "auto" (the first present of cuda, mps, cpu), or a device by name. When a device that "auto" chose runs
            out of memory, the CPU takes over and `run.notices` says so.
        dtype: the weights are cast to it; None = float32, but bfloat16 for a folder with large files of that format,
            which are mapped into memory.
        revision: of an id on the hub: a branch, a tag or a commit; None = main.

    Raises:
        WeightsFileError: the package or a file is missing or damaged, or the weights are not the pinned ones.
        DeviceError, DtypeError: the device is missing, has too little memory, or does not support the dtype.
        Unsupported: the folder holds another kind of model.
    """
    target = pick(device)
    require_dtype(dtype or torch.float32, target)
    folder: Path | None
    stack: Stack
    tokenizer: Any
    history: History | None = None
    if name == "smollm2":
        folder = None
        stack, tokenizer, digest = smollm2.read(dtype or torch.float32)
    elif name == "minilm":
        folder, stack, tokenizer, digest = bert.minilm()
    else:
        place, part = folders.split_part(name)
        folder, facts = _folder(place, revision)
        if not part and (folder / saved.RUN).is_file():
            history, tokenizer = saved.read(folder), saved.read_tokenizer(folder)
            stack, digest = saved.read_stack(folder, history, tokenizer.get_vocab_size())
        else:
            folder, adapter = adapters.locate(folder)
            plain = None if adapter or part else bert.read_plain(folder)
            if plain is None:
                from .open_folder import open_folder

                return open_folder(folder, name, target, dtype, facts, adapter, part)
            stack, tokenizer = plain
            digest = folders.sha256(folder / folders.WEIGHTS)
    stack = stack.to(dtype or torch.float32)
    stack, notices = run_with_cpu_fallback(stack.to, target, allowed=device == "auto", smaller="close other programs")
    return build_model(
        name,
        tokenizer,
        stack,
        origin="trained here" if history else "pretrained",
        fall_back=device == "auto",
        folder=folder,
        facts={
            "model": history.start.title if history and history.start else name,  # a run's path is private
            "sha256": digest,
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
        notices=notices,
        history=history,
    )


def _folder(name: str, revision: str | None) -> tuple[Path, dict[str, str]]:
    """Return the folder of a model, and facts about it."""
    path = Path(name)
    if name and os.path.isdir(name):  # noqa: PTH112  # unlike Path's, it takes names that no file can have
        return path, {}
    if os.path.isfile(name) and path.parent != Path():  # noqa: PTH113
        weight_files.refuse_format([path.name])
        return path.parent, {}
    if not hub.is_id(name):
        raise WeightsFileError(f"no model {name!r}: give 'minilm', 'smollm2', a local folder, or a name on the hub")
    folder, commit = hub.find(name, revision)
    return folder, {"revision": commit}
