"""The tensors that enter and leave the boxes of a model's architecture in one pass."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from torch import Tensor, nn

from ..models.architecture import Architecture
from ..models.model import Model
from ..models.run import Run
from ..pretrained.attention_hook import module_names
from ..pretrained.hf_model import HfModel


class BoxState(NamedTuple):
    """Input and output of a box, without the batch axis, on the CPU."""

    entering: Tensor
    leaving: Tensor


def modules(model: Model) -> dict[str, nn.Module]:
    """Return the modules of a model by their paths. Raises Unsupported for a model without any, as a recording."""
    return dict((model.hf_module.module if isinstance(model, HfModel) else model.stack).named_modules())


def hooked(model: Model, paths: Iterable[str], on_call: Callable[[str, Tensor, Tensor], object]) -> Model:
    """Return a model with the same weights that reports each call of some modules: path, first input, output.

    The model itself stays as it is, as others may run it.
    """
    name = "hf_module" if isinstance(model, HfModel) else "encoder"
    holder: nn.Module = getattr(model, name)
    shared = {id(tensor): tensor for tensor in (*holder.parameters(), *holder.buffers())}
    twin = copy.copy(model)
    setattr(twin, name, copy.deepcopy(holder, shared))
    if isinstance(twin, HfModel):
        twin.hf_module.names = module_names(twin.hf_module.module)
    parts = modules(twin)
    for path in parts.keys() & set(paths):
        parts[path].register_forward_hook(_hook(path, on_call), with_kwargs=True)
    return twin


def record(
    model: Model, architecture: Architecture, text: Any, layer: int, **switches: Any
) -> tuple[Run, dict[str, BoxState]]:
    """Run a text; return the run, and the states of the boxes.

    Those of one layer, and those outside of the layers; a box that did not run is missing.

    Args:
        model: the model of that architecture.
        architecture: its boxes.
        text: as in `Model.run`.
        layer: counted from 0.
        switches: as in `Model.run`.

    Raises:
        HeadlightError: as in `Model.run`.
    """
    calls, states = dict[str, BoxState](), dict[str, BoxState]()
    paths = {box.name: [path.format(layer) for path in box.paths] for box in architecture.boxes}

    def on_call(path: str, entering: Tensor, leaving: Tensor) -> None:
        calls[path] = BoxState(entering[0].cpu(), leaving[0].cpu())

    run = hooked(model, [path for group in paths.values() for path in group], on_call).run(text, **switches).cpu()
    for box in architecture.boxes:
        ran = [calls[path] for path in paths[box.name] if path in calls]
        if ran:
            states[box.name] = BoxState(ran[0].entering, ran[-1].leaving)
        elif box.kind == "add" and layer not in switches.get("layers_off", ()):  # such a layer adds nothing
            sources = [architecture.box(name) for name in architecture.sources(box.name)]
            parts = [states[part.name].leaving for part in sources if part and part.lane and part.name in states]
            base = next(part for part in sources if part and not part.lane)
            state = states.get(base.name) if base.place == "layer" else BoxState(run.hidden[layer], run.hidden[layer])
            stream = None if state is None else state.leaving
            if stream is not None and parts and all(part.shape == stream.shape for part in parts):
                states[box.name] = BoxState(stream, sum(parts, stream))
    return run, states


def _hook(path: str, on_call: Callable[[str, Tensor, Tensor], object]) -> Any:
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
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
        inner = _first_tensor(inside)
        if inner is not None:
            return inner
    return None
