"""LoRA adapters of PEFT: small folders whose matrices are added to the weights of a base model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from ..errors import HeadlightError, Unsupported, WeightsFileError
from . import folders, hub, memory

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
PART = re.compile(r"base_model\.model\.(.+)\.lora_([AB])(?:\.default)?\.weight")
# settings with another sum than W + B A α / r
OTHER_SUMS = ("use_dora", "rank_pattern", "alpha_pattern", "modules_to_save", "bias", "lora_bias", "use_qalora")


def locate(folder: Path) -> tuple[Path, Path | None]:
    """Return the folder of a model's config and weights, and that of the adapter if the folder holds one.

    Args:
        folder: of a model, or of an adapter whose base is in a folder of its name beside it or in the hub's cache.

    Raises:
        WeightsFileError: the base of an adapter is not on this machine.
        Unsupported: it is an adapter of another kind than LoRA.
    """
    if not (folder / CONFIG).is_file() or any((folder / name).exists() for name in (folders.WEIGHTS, folders.INDEX)):
        return folders.model_folder(folder), None
    settings = folders.read_json(folder, CONFIG)
    kind = str(settings.get("peft_type")).upper()
    others = [name for name in OTHER_SUMS if settings.get(name) not in (None, False, "none", {}, [])]
    if kind != "LORA" or others:
        raise Unsupported(
            f"this is an adapter of the kind {' with '.join((kind[:40], *others))} ({CONFIG}), which is not read; "
            "merge it with PEFT (merge_and_unload) and save the whole model"
        )
    base, revision = (str(settings.get(key) or "") for key in ("base_model_name_or_path", "revision"))
    neighbour = folder.resolve().parent / Path(base).name
    try:
        if Path(base).name not in ("", "..", folder.resolve().name) and neighbour.is_dir():
            return folders.model_folder(neighbour), folder
        return folders.model_folder(hub.find(base, revision or None)[0]), folder
    except HeadlightError as error:
        raise WeightsFileError(
            f"this is a LoRA adapter of {base[:100]!r} ({CONFIG}), which is not on this machine; download that model, "
            "or put its folder beside this one"
        ) from error


def merge(model: Any, folder: Path) -> None:
    """Add an adapter to a model's weights, in place: W + B A α / r, or α / √r with `use_rslora`.

    Raises:
        WeightsFileError: they do not fit the model.
    """
    settings, file = folders.read_json(folder, CONFIG), folders.regular_file(folder, WEIGHTS)
    memory.require(4 * folders.read_headers([file]).parameters, WEIGHTS, "choose a smaller adapter")
    parts: dict[tuple[str, ...], torch.Tensor] = {}
    for name, tensor in folders.read_tensors([file]).items():
        match = PART.fullmatch(name)
        if not match:
            raise WeightsFileError(f"{WEIGHTS} holds {name}, which is not a matrix of LoRA; merge it with PEFT first")
        parts[match.groups()] = tensor.float()
    with folders.library_errors(f"{WEIGHTS} does not fit the base model"):
        rank = int(settings["r"])
        scale = float(settings["lora_alpha"]) / (rank**0.5 if settings.get("use_rslora") else rank)
        for name in {name for name, _ in parts}:
            weight, (up, down) = model.get_submodule(name).weight, (parts[name, letter] for letter in "BA")
            if not up.dim() == down.dim() == 2 or len(up) * down.shape[1] != weight.numel():
                raise WeightsFileError(f"{WEIGHTS} does not fit the base model: the sizes of {name} differ")
            change = scale * up @ down
            # view: a sum would broadcast
            change = (change.T if settings.get("fan_in_fan_out") else change).reshape(weight.shape)
            weight.data = (weight.data.float() + change).to(weight.dtype)
