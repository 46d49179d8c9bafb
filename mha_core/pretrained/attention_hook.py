"""Hook into the attention of transformers' models, to record it and change it.

transformers passes every call to a function of its `AttentionInterface`. No function is registered as "eager", where
each model file's own function is used; `attend` is registered under that name and calls the file's own function. Under
another name four families would compute something else. Without a `Request` in the context it changes nothing.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..errors import Unsupported

EAGER_SUFFIX = "eager_attention_forward"  # suffix of the eager function's name in transformers' model files
SOFTMAX = frozenset((nn.functional.softmax, torch.softmax, Tensor.softmax))
_SUMS = (torch.logsumexp, Tensor.logsumexp)


@dataclass(frozen=True)
class Call:
    """A call of an attention module. Tensors are detached.

    Attributes:
        path: the module's name in its model.
        weights: (b, h, i, j); rows may sum to less than 1.
        kv_heads: number of key/value heads, each shared by h / kv_heads consecutive query heads.
        parts: the recorded parts, out of "q" (b, h, i, d), "k" and "v" (b, kv heads, j, d), "scores" (b, h, i, j) as
            the softmax takes them, "scaling" (), the factor on q kᵀ, "mask" as the model passes it, and "mixed" (b, i,
            h, d).
    """

    path: str
    weights: Tensor
    kv_heads: int
    parts: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass
class Request:
    """Options of one pass: parts to record, and changes to some of its modules.

    Attributes:
        names: the name of each module, by its identity.
        keep: names of parts to record, see `Call`.
        changed: names of the modules that the changes apply to; None = all.
        allow: bool (1, 1|h, i, j), True = may attend; the model's own mask stays.
        heads: bool (layers, h), False = ablated; a layer is the n-th call of a module in `changed`.
        values: bool (1, 1, i, j), False zeroes the weight after the softmax.
        temperature: divides the scores.
        positions: False removes the positions, see `add_position_removal_hook`.
        skipped_modules: names of blocks that hand on their input, see `add_skip_hook`.
        zeroed_modules: names of modules whose output counts as 0, see `add_zero_hook`.
        calls: the recorded calls, in order.
        unprojected: the last hidden state before a projection to another width, if the model has one.
    """

    names: Mapping[int, str]
    record: frozenset[str] = frozenset()
    changed_modules: frozenset[str] | None = None
    allow: Tensor | None = None
    head_mask: Tensor | None = None
    value_mask: Tensor | None = None
    temperature: float = 1.0
    positions: bool = True
    skipped_modules: frozenset[str] = frozenset()
    zeroed_modules: frozenset[str] = frozenset()
    calls: list[Call] = field(default_factory=list)
    next_layer: int = 0
    unprojected: Tensor | None = None


_request: ContextVar[Request | None] = ContextVar("request", default=None)


@contextmanager
def apply_request(request: Request) -> Iterator[list[Call]]:
    """Record and change every attention call of this thread inside the block; yield the list of calls."""
    token = _request.set(request)
    try:
        yield request.calls
    finally:
        _request.reset(token)


def register() -> None:
    """Register `attend` as "eager" in transformers, once per process."""
    from transformers import AttentionInterface

    AttentionInterface.register("eager", attend)


def module_names(model: nn.Module) -> dict[int, str]:
    """Return the name of each module by its identity."""
    return {id(module): name for name, module in model.named_modules()}


def attend(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Call the model file's own eager function, with the changes of the context's request.

    Returns:
        mixed (b, i, h, d), and weights (b, h, i, j).
    """
    eager = eager_function(type(module))  # type: ignore[arg-type]  # a class is hashable
    request = _request.get()
    if request is None:
        return eager(module, query, key, value, *args, **kwargs)
    path = request.names.get(id(module), "")
    if request.changed_modules is not None and path not in request.changed_modules:
        request = Request(request.names, request.record, calls=request.calls)
    layer, request.next_layer = request.next_layer, request.next_layer + 1
    needs_softmax = request.allow is not None or request.temperature != 1 or "scores" in request.record
    with Softmax(request.allow, request.temperature) if needs_softmax else nullcontext() as softmax:
        mixed, weights, *more = eager(module, query, key, value, *args, **kwargs)
    if softmax is not None and softmax.scores is None:
        raise Unsupported(f"{type(module).__name__} computes its weights without a softmax of its scores")
    if request.value_mask is not None:
        mixed = mix(weights * request.value_mask, value)
    if request.head_mask is not None and not bool(request.head_mask[layer].all()):
        mixed = mixed.clone()
        mixed[:, :, ~request.head_mask[layer, : mixed.shape[2]]] = 0
    parts = {"q": query, "k": key, "v": value, "mixed": mixed}
    parts |= {"mask": kwargs.get("attention_mask", args[0] if args else None)}
    parts |= {"scores": softmax.scores if softmax is not None else None}
    parts |= {"scaling": torch.tensor(kwargs.get("scaling") or query.shape[-1] ** -0.5, dtype=torch.float64)}
    recorded = {name: parts[name].detach() for name in request.record if isinstance(parts.get(name), Tensor)}
    request.calls.append(Call(path, weights.detach(), key.shape[1], recorded))
    return mixed, weights, *more


def mix(weights: Tensor, value: Tensor) -> Tensor:
    """Return weights (b, h, i, j) · value (b, kv heads, j, d) as mixed (b, i, h, d)."""
    shared = weights.shape[1] // value.shape[1]
    repeated = value if shared == 1 else value.repeat_interleave(shared, dim=1)
    return (weights.to(repeated.dtype) @ repeated).transpose(1, 2)


class Softmax(TorchFunctionMode):
    """Torch function mode in which softmax takes masked and divided scores.

    At the softmax every form of mask has become scores: those below half of the smallest number are forbidden. A column
    more than the mask has is an attention sink, open to all. A row without any key gets weights of 0.
    """

    def __init__(self, allow: Tensor | None, temperature: float) -> None:
        super().__init__()
        self.allow = allow
        self.temperature = temperature
        self.scores: Tensor | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in SOFTMAX and func not in _SUMS:
            return func(*args, **(kwargs or {}))
        scores, *more = args
        if self.allow is None and self.temperature == 1:
            self.scores = scores if func in SOFTMAX else self.scores
            return func(*args, **(kwargs or {}))
        blocked = scores <= torch.finfo(scores.dtype).min / 2
        if self.allow is not None:
            sinks = scores.shape[-1] - self.allow.shape[-1]
            if sinks not in (0, 1) or scores.shape[-2] != self.allow.shape[-2]:
                raise Unsupported(f"a mask {tuple(self.allow.shape)} does not fit scores {tuple(scores.shape)}")
            blocked = blocked | ~nn.functional.pad(self.allow, (0, sinks), value=True)
        changed = (scores / self.temperature).masked_fill(blocked, -torch.inf)
        weights = func(changed, *more, **(kwargs or {}))
        if func in _SUMS:  # by which a sink scales the output
            return weights
        self.scores = changed
        return weights.masked_fill(blocked.all(dim=-1, keepdim=True), 0)


def add_position_removal_hook(module: nn.Module, neutral: Callable[[Any], Any]) -> None:
    """Replace a module's output by `neutral` of it in passes whose request removes positions."""

    def hook(module: nn.Module, args: Any, output: Any) -> Any:
        request = _request.get()
        return output if request is None or request.positions else neutral(output)

    module.register_forward_hook(hook)


def add_skip_hook(module: nn.Module, name: str) -> None:
    """Let a block hand on its input in passes whose request skips it; its attention is still computed.

    The hook comes before those by which transformers collects hidden states.
    """

    def hook(module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        request = _request.get()
        if request is None or name not in request.skipped_modules:
            return output
        entering = args[0] if args else kwargs.get("hidden_states")
        leaving = output[0] if isinstance(output, tuple) else output
        if not isinstance(entering, Tensor) or not isinstance(leaving, Tensor) or entering.shape != leaving.shape:
            raise Unsupported(f"{name} does not hand on one hidden state")
        return (entering, *output[1:]) if isinstance(output, tuple) else entering

    module.register_forward_hook(hook, prepend=True, with_kwargs=True)


def add_zero_hook(module: nn.Module, name: str) -> None:
    """Set a module's output, the first of several, to 0 in passes whose request zeroes it."""

    def hook(module: nn.Module, args: Any, output: Any) -> Any:
        request = _request.get()
        if request is None or name not in request.zeroed_modules:
            return output
        return (torch.zeros_like(output[0]), *output[1:]) if isinstance(output, tuple) else torch.zeros_like(output)

    module.register_forward_hook(hook, prepend=True)


def add_projection_hook(module: nn.Module) -> None:
    """Keep the input of a projection of the last hidden state, in every pass with a request."""

    def hook(module: nn.Module, args: Any) -> None:
        if (request := _request.get()) is not None:
            request.unprojected = args[0].detach()

    module.register_forward_pre_hook(hook)


@cache
def eager_function(kind: type[nn.Module]) -> Callable[..., Any]:
    """Return the eager function that a class or one of its bases passes to the interface.

    Raises:
        Unsupported: it names none.
    """
    for base in kind.__mro__:
        for method in vars(base).values():
            plain = inspect.unwrap(method) if inspect.isfunction(method) else None
            for name in plain.__code__.co_names if plain is not None else ():
                if name.endswith(EAGER_SUFFIX):
                    function: Callable[..., Any] = getattr(sys.modules[base.__module__], name)
                    return function
    raise Unsupported(f"{kind.__name__} names no eager function of its own")
