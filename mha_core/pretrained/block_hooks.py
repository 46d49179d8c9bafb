"""Hooks by which passes of a Hugging Face model leave out an MLP or a whole layer.

A layer is the module of a list that contains one attention. Its MLP is found by structure, beside the attention: one
module, or two linear ones as in BERT, where the residual is added inside the second. Its last linear module gives what
is added to the residual stream; experts give it as the module that holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import Unsupported
from . import attention_hook
from .hf_module import HfModule, PassOutput

NO_LAYERS = "its layers are not separate modules that hand on hidden states, so none can be ablated"
NO_MLPS = "it is not clear which module beside the attention is the MLP of each layer, so none can be ablated"
LISTS = (nn.ModuleList, nn.Sequential)


@dataclass(frozen=True)
class BlockPaths:
    """Names of the modules of a group's layers, in order; empty where they are not known.

    Attributes:
        layers: the blocks.
        mlps: the modules whose output is what an MLP adds.
    """

    layers: tuple[str, ...] = ()
    mlps: tuple[str, ...] = ()


def add_block_hooks(
    model: HfModule,
    groups: Mapping[str, Sequence[str]],
    outputs: Mapping[str, str],
    plain: PassOutput,
    run: Callable[..., PassOutput],
) -> tuple[dict[str, BlockPaths], dict[str, str]]:
    """Register hooks on the blocks and MLPs of a model; return their names by group, and reasons without them.

    Args:
        model: the model.
        groups: paths of the attention of each layer, by group.
        outputs: path of an attention -> name of the module with its matrix Wᵒ.
        plain: output of a pass over a sample without changes.
        run: runs the same sample with changes, see `attention_hook.Request`.
    """
    paths = {path for layers in groups.values() for path in layers}
    attention = paths | {outputs[path] for path in paths if path in outputs}
    blocks = {group: _blocks(model.module, layers) for group, layers in groups.items()}
    every_block = {path for layers in blocks.values() for path in layers}
    for path in every_block:
        attention_hook.add_skip_hook(model.module.get_submodule(path), path)
    if not all(blocks.values()) or not _hand_on(run, blocks):
        return dict.fromkeys(groups, BlockPaths()), {"layers": NO_LAYERS, "mlps": NO_MLPS}
    order = _linear_order(model.module, run)
    mlps = {path: _mlp(model.module, path, attention, order) for path in every_block}
    for name in filter(None, mlps.values()):
        attention_hook.add_zero_hook(model.module.get_submodule(name), name)
    modules = {group: BlockPaths(layers, tuple(mlps[path] for path in layers)) for group, layers in blocks.items()}
    if all(mlps.values()) and _add_to_the_stream(plain, run, modules):
        return modules, {}
    return {group: BlockPaths(layers) for group, layers in blocks.items()}, {"mlps": NO_MLPS}


def _blocks(model: nn.Module, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the outermost items of lists that contain one attention each; () if there are none."""
    for depth in range(1, min(path.count(".") for path in paths) + 1):
        items = tuple(".".join(path.split(".")[: depth + 1]) for path in paths)
        are_items = all(isinstance(model.get_submodule(item.rpartition(".")[0]), LISTS) for item in items)
        if are_items and len(set(items)) == len(paths) and not set(items) & set(paths):
            return items
    return ()


def _hand_on(run: Callable[..., PassOutput], blocks: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether a pass without these layers hands on the embeddings to the last one."""
    try:
        skipped = run(skipped_modules=frozenset(path for layers in blocks.values() for path in layers))
    except Unsupported:
        return False
    states = ((skipped.hidden.get(group, skipped.hidden.get("", [])), layers) for group, layers in blocks.items())
    # the last state may be normed; a hybrid model has states of other layers too
    return all(
        len(hidden) != len(layers) + 1 or all(torch.equal(state, hidden[0]) for state in hidden[:-1])
        for hidden, layers in states
    )


def _linear_order(model: nn.Module, run: Callable[..., PassOutput]) -> dict[str, int]:
    """Return the names of the linear modules in the order of their last calls, each with its output width."""
    from transformers.pytorch_utils import Conv1D

    order: dict[str, int] = {}

    def make_hook(name: str) -> Any:
        def hook(linear: nn.Module, args: Any, output: Any) -> None:
            order.pop(name, None)
            if isinstance(output, Tensor):  # a router returns more
                order[name] = output.shape[-1]

        return hook

    linears = [(name, part) for name, part in model.named_modules() if isinstance(part, nn.Linear | Conv1D)]
    hooks = [part.register_forward_hook(make_hook(name)) for name, part in linears]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return order


def _mlp(model: nn.Module, block: str, attention: set[str], order: dict[str, int]) -> str:
    """Return the name of the module whose output is what the block's MLP adds; "" if it is not clear."""
    parts = {name: _matrices(model.get_submodule(name)) for name in _pieces(model, block)}
    pieces = [
        name for name in parts if parts[name] and not any(f"{path}.".startswith(f"{name}.") for path in attention)
    ]
    shapes = [sorted(shape) for name in pieces for shape in parts[name]]
    if len(pieces) == len(shapes) == 2 and shapes[0] == shapes[1]:
        pieces = pieces[1:]  # the second of two linear modules
    if len(pieces) != 1:
        return ""
    inside = [name for name, _ in model.get_submodule(pieces[0]).named_modules(prefix=pieces[0])]
    with_experts = (name for name in inside if any(map(_is_expert, model.get_submodule(name).named_children())))
    linear = next((name for name in reversed(order) if name in inside), "")
    width = max((order[name] for name in order if f"{name}.".startswith(f"{block}.") and name in attention), default=0)
    return next(with_experts, linear if order.get(linear) == width else "")


def _pieces(model: nn.Module, name: str) -> list[str]:
    """Return the names of a module's children, of lists those of their items."""
    children = [(f"{name}.{child}", part) for child, part in model.get_submodule(name).named_children()]
    return [piece for path, part in children for piece in (_pieces(model, path) if type(part) is LISTS[0] else [path])]


def _matrices(module: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(weight.shape) for weight in module.parameters() if weight.dim() > 1]


def _is_expert(child: tuple[str, nn.Module]) -> bool:
    return "expert" in child[0].lower() or "expert" in type(child[1]).__name__.lower()


def _add_to_the_stream(plain: PassOutput, run: Callable[..., PassOutput], modules: Mapping[str, BlockPaths]) -> bool:
    """Return whether a pass without the MLPs keeps its first map and tells the tokens apart, but differs."""
    ablated = run(zeroed_modules=frozenset(name for paths in modules.values() for name in paths.mlps))
    keeps_map = torch.equal(plain.calls[0].weights, ablated.calls[0].weights)
    states = [state for hidden in ablated.hidden.values() for state in hidden]
    keeps_tokens = all(bool((state - state[:, :1]).any()) for state in states)
    return keeps_map and keeps_tokens and not torch.equal(plain.last, ablated.last)
