"""Comparison of this package's encoder with transformers' BERT, read from the same files."""

import threading
from pathlib import Path
from typing import Any

import torch

from ..errors import Unsupported
from ..models.model import Model
from .measures import largest_difference


def read_with_transformers(folder: Path, dtype: torch.dtype) -> Any:
    """Load a folder as transformers' BertModel on the CPU, eager, the one kernel that returns maps."""
    from transformers import BertModel
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # keeps it out of a server's log
    reference: Any = BertModel.from_pretrained(
        folder,
        attn_implementation="eager",
        dtype=dtype,
        local_files_only=True,
        use_safetensors=True,
    )
    return reference.eval()


_lock = threading.Lock()
_models: dict[tuple[Path, torch.dtype], Any] = {}


def difference_to_transformers(model: Model, text: str) -> float:
    """Return the largest difference of any weight or hidden state to transformers' model.

    Imports transformers (seconds) and keeps its model. It runs on the CPU, eager, in the model's dtype.

    Raises:
        Unsupported: the model was not read from a folder that transformers could read too.
    """
    if model.folder is None:
        raise Unsupported(f"model {model.name!r} was not read from a folder, so transformers has nothing to read")
    run = model.run(text)
    with _lock, torch.no_grad():
        reference = _models.get((model.folder, model.dtype))
        if reference is None:
            reference = _models[model.folder, model.dtype] = read_with_transformers(model.folder, model.dtype)
        theirs = reference(torch.tensor([run.ids]), output_attentions=True, output_hidden_states=True)
    maps = largest_difference(run.weights.cpu(), torch.cat(theirs.attentions))
    states = largest_difference(run.hidden.cpu(), torch.cat(theirs.hidden_states))
    return max(maps, states)
