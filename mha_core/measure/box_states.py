"""The tensors that enter and leave the boxes of a model's architecture in one pass."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ..models.architecture import Architecture
from ..models.model import Model
from ..models.run import Run
from ..pretrained.attention_hook import module_names
from ..pretrained.hf_model import HfModel

OnCall = Callable[[str, Tensor, Tensor], object]


@dataclass(frozen=True)
class BoxState:
    """Input and output of a box: without the batch axis, on the CPU."""

    entering: Tensor
    leaving: Tensor


@dataclass
class BoxStates:
    """States of the boxes of one layer and of those outside of the layers.

    Attributes:
        run: the pass.
        boxes: name -> state; a box that did not run is missing.
    """

    run: Run
    boxes: dict[str, BoxState] = field(default_factory=dict)


def hooked(model: Model, paths: Iterable[str], on_call: OnCall) -> Model:
    """Return a model with the same weights that reports each call of some modules: path, first input, output.

    The model itself stays as it is, as others may run it.
    """
    name = "encoder" if model.encoder is not None else "hf_module"
    holder: nn.Module = getattr(model, name)
    tensors = [*holder.parameters(), *holder.buffers()]
    twin_holder = copy.deepcopy(holder, {id(tensor): tensor for tensor in tensors})
    root = twin_holder
    if isinstance(model, HfModel):
        root = twin_holder.module  # type: ignore[assignment]
        twin_holder.names = module_names(root)  # type: ignore[assignment, arg-type]
    modules = dict(root.named_modules())
    for path in paths:
        if path in modules:
            modules[path].register_forward_hook(_hook(path, on_call), with_kwargs=True)
    twin = copy.copy(model)
    setattr(twin, name, twin_holder)
    return twin


def record(model: Model, architecture: Architecture, text: Any, layer: int, **switches: Any) -> BoxStates:
    """Run a text, and record the boxes of one layer and those outside of the layers.

    Args:
        model: the model of that architecture.
        architecture: its boxes.
        text: as in `Model.run`.
        layer: counted from 0.
        switches: as in `Model.run`.

    Raises:
        HeadlightError: as in `Model.run`.
    """
    calls: dict[str, tuple[Tensor, Tensor]] = {}

    def on_call(path: str, entering: Tensor, leaving: Tensor) -> None:
        calls[path] = (entering[0].cpu(), leaving[0].cpu())

    paths = {box.name: [path.format(layer) for path in box.paths] for box in architecture.boxes}
    twin = hooked(model, [path for own in paths.values() for path in own], on_call)
    states = BoxStates(twin.run(text, **switches).cpu())
    for box in architecture.boxes:
        ran = [calls[path] for path in paths[box.name] if path in calls]
        if ran:
            states.boxes[box.name] = BoxState(ran[0][0], ran[-1][1])
        elif box.kind == "add":
            branch, stream = (_output(states, architecture, name, layer) for name in architecture.sources(box.name))
            if branch is not None and stream is not None and branch.shape == stream.shape:
                states.boxes[box.name] = BoxState(stream, stream + branch)
    return states


def _output(states: BoxStates, architecture: Architecture, name: str, layer: int) -> Tensor | None:
    """Return what leaves a box; what enters the layer for a box before it."""
    box = architecture.box(name)
    if box is not None and box.place == "before":
        return states.run.hidden[layer] if layer < len(states.run.hidden) else None
    return states.boxes[name].leaving if name in states.boxes else None


def _hook(path: str, on_call: OnCall) -> Any:
    def hook(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        entering, leaving = _first_tensor((*args, *kwargs.values())), _first_tensor((output,))
        if entering is not None and leaving is not None:
            on_call(path, entering, leaving)

    return hook


def _first_tensor(values: Iterable[Any]) -> Tensor | None:
    """Return the first tensor among values, tuples of them or outputs of transformers."""
    for value in values:
        if isinstance(value, Tensor):
            return value
        if isinstance(value, (tuple, list, dict)):
            inner = _first_tensor(value.values() if isinstance(value, dict) else value)
            if inner is not None:
                return inner
    return None


def norms(x: Tensor) -> Tensor:
    """Return the length of each token's vector, (i,) of x (i, c)."""
    return torch.linalg.vector_norm(x.float(), dim=-1)
