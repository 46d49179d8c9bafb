"""Attention maps of any torch module, recorded while it runs, in a notebook or around other code.

    from mha_core import watch
    watch(model, x, rows=tokens)              # the last line of a cell: a picture
    with watch() as seen:                     # or around code that runs anyway; its outputs stay unchanged
        model(x)
    seen.recording().save("recording.safetensors")

It records calls of torch's own `scaled_dot_product_attention` and `multi_head_attention_forward`, and a softmax whose
result is multiplied by values.
"""

from __future__ import annotations

import re
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from ..errors import SizeError, Unsupported
from .recordings import MAX_WEIGHTS, Group, Recording
from .softmax_calls import SoftmaxCalls
from .torch_calls import attention_weights, one_text_heads

Tokens = Sequence[str] | None
ALIKE = "There are as many rows as columns, so it cannot be told whose tokens a square map has: it is numbered."
NOTHING = (
    "nothing was seen: watch() reads what runs in this thread through torch's scaled_dot_product_attention or "
    "multi_head_attention_forward, or as torch.softmax followed by a product with the values, not other kernels"
)


class WatchedCall(NamedTuple):
    """A call of attention.

    Attributes:
        path: of the module that made it, within the outermost running module; "" for a bare function.
        weights: (h, i, j), before dropout, of one text of the batch, on the CPU.
        itself: True for self-attention, False for two sequences, None if unknown.
    """

    path: str
    weights: Tensor
    itself: bool | None


class Watcher(TorchFunctionMode):
    """Context manager that records attention; displays its recording as the last line of a cell.

    Attributes:
        maps: every call, in order.
        unseen: paths of modules named attention that ran without a recorded call.
    """

    def __init__(self, module: nn.Module | None = None, batch: int = 0) -> None:
        super().__init__()
        self.maps: list[WatchedCall] = []
        self.unseen: list[str] = []
        self._module = module
        self._batch = batch
        self._names: dict[nn.Module, str] = {}
        self._running: list[tuple[nn.Module, int]] = []  # with the number of calls recorded before each
        self._thread = 0
        self._contexts = ExitStack()
        self._softmaxes = SoftmaxCalls()

    def recording(
        self, *, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None, title: str = ""
    ) -> Recording:
        """Return the recorded maps in groups of layers with one shape.

        Args:
            rows: the query tokens; the key tokens too where both are one sequence.
            columns: the key tokens where they differ. An axis that neither fits is numbered.
            title: of the recording.

        Raises:
            Unsupported: nothing was recorded.
            SizeError: rows or columns fit no map.
            HeadlightError: a token is no string, or the maps hold NaN.
        """
        if not self.maps:
            raise Unsupported(NOTHING + (f", as that of {self.unseen[0]} may" if self.unseen else ""))
        return _group(self.maps, self.unseen, rows, columns, title or "Watched")

    def _repr_html_(self) -> str:
        return self.recording()._repr_html_()

    def __enter__(self) -> Self:
        self._thread = threading.get_ident()
        self._contexts.callback(register_module_forward_pre_hook(self._on_module_start).remove)
        self._contexts.callback(register_module_forward_hook(self._on_module_end, always_call=True).remove)
        if "torch._dynamo" in sys.modules:  # compiled functions run as plain Python, so that their calls are recorded
            self._contexts.enter_context(torch.compiler.set_stance("force_eager"))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._contexts.close()
        self._running.clear()
        self._softmaxes.clear()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if self._module is None or any(running is self._module for running, _ in self._running):
            answer = attention_weights(func, args, kwargs or {}, self._batch, self._check)
            if (computed := self._softmaxes.weights(func, args, kwargs or {}, out)) is not None:
                self._check(computed[0].numel() if computed.dim() > 3 else computed.numel())
                answer = one_text_heads(computed.detach(), self._batch), None
            if answer is not None:
                weights, itself = answer
                square = weights.shape[-2] == weights.shape[-1]
                self.maps.append(WatchedCall(self._path, weights.cpu(), itself if square else False))
        return out

    def _check(self, more: int) -> None:
        """Raise a SizeError before the stored weights exceed the limit."""
        total = sum(call.weights.numel() for call in self.maps) + more
        if total > MAX_WEIGHTS:
            size = f"these are {total:,} weights, at most {MAX_WEIGHTS:,} are watched"
            raise SizeError(f"{size}; give one shorter text, or watch a part: watch(model.layers[0])")

    @property
    def _path(self) -> str:
        """Name of the running module within the outermost one."""
        return self._names.get(self._running[-1][0], "") if self._running else ""

    def _on_module_start(self, module: nn.Module, _: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        if not self._running:
            self._names = {part: name.replace("_orig_mod.", "") for name, part in module.named_modules()}
        self._running.append((module, len(self.maps)))

    def _on_module_end(self, module: nn.Module, *_: Any) -> None:
        if threading.get_ident() != self._thread or not self._running:
            return
        path, kind = self._path, type(module).__name__
        n_calls = self._running.pop()[1]
        if self._module is None and "attention" in kind.lower() and len(self.maps) == n_calls:
            self.unseen.append(path or kind)


def watch(
    module: nn.Module | None = None,
    *inputs: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    batch: int = 0,
    title: str = "",
    **keywords: Any,
) -> Any:
    """Record the attention maps of a module that runs; its outputs stay bit-equal.

    With inputs it runs the module on them, without gradients, and returns a `Recording`, which a notebook displays.
    Without inputs it returns a `Watcher`, a context manager; with a module it records only what is computed in that
    module. Not recorded: kernels of other libraries, and other threads. Compiled modules run as plain Python, and so
    do encoder layers for which torch has a fused kernel without maps (see `torch.backends.mha`).

    Args:
        module: any module.
        *inputs: its arguments.
        rows: as in `Watcher.recording`.
        columns: as in `Watcher.recording`.
        batch: index of the recorded text in the batch.
        title: as in `Watcher.recording`.
        **keywords: its keyword arguments.

    Raises:
        Unsupported: nothing was recorded.
        SizeError: too many weights, no such text in the batch, or tokens that fit no map.
        HeadlightError: a token is no string, or the maps hold NaN.
    """
    if module is None or not (inputs or keywords):
        return Watcher(module, batch)
    module = getattr(module, "_orig_mod", module)  # the module before torch.compile
    with torch.no_grad(), Watcher(batch=batch) as watcher:
        module(*inputs, **keywords)
    return watcher.recording(rows=rows, columns=columns, title=title or f"{type(module).__name__}, watched")


def _group(maps: Sequence[WatchedCall], unseen: Sequence[str], rows: Tokens, columns: Tokens, title: str) -> Recording:
    """Group calls by module path, ignoring numbers, and by shape, in the order of their first call.

    Raises:
        SizeError: rows or columns fit no map.
    """
    layers: dict[tuple[str, object, bool], list[WatchedCall]] = {}
    for call in maps:
        place = re.sub(r"(?<![^._])\d+(?![^.])", "*", call.path)  # layers.layer_0.attn1 -> layers.layer_*.attn1
        layers.setdefault((place, call.weights.shape, call.itself is False), []).append(call)
    places = Counter(place for place, *_ in layers)
    groups, notices = list[Group](), list[str]()
    for (place, _, crosses), calls in layers.items():
        heads, i, j = calls[0].weights.shape
        name = place or "attention"
        if places[place] > 1:
            name += f", {heads} heads of {i} × {j}{', two sequences' * (crosses and i == j)}"
        alike = not crosses and rows is not None and columns is not None and len(rows) == len(columns) == i
        if alike:
            notices.append(ALIKE)
        row_tokens = _numbers(i) if alike else _fitting_tokens(i, rows, columns)
        key_tokens = _fitting_tokens(j, columns, rows) if crosses else None
        stacked = torch.stack([call.weights.float() for call in calls])[None]
        groups.append(Group(name, tuple(call.path for call in calls), row_tokens, key_tokens, stacked))
    for name, tokens in (("rows", rows), ("columns", columns)):
        sizes = dict.fromkeys(group.maps.shape[-2:] for group in groups)
        if tokens is not None and not any(len(tokens) in size for size in sizes):
            shapes = ", ".join(f"{i} × {j}" for i, j in sizes)
            raise SizeError(f"{name} has {len(tokens)} tokens, the maps have {shapes}; give one name per input token")
    if unseen:
        notices.append(f"{len(unseen)} modules called attention ran unseen, as {unseen[0]}.")
    return Recording(tuple(groups), (0,), title, tuple(dict.fromkeys(notices)))


def _fitting_tokens(count: int, *choices: Tokens) -> list[str]:
    """Return the first of the token lists with this length, or numbers."""
    return next((list(tokens) for tokens in choices if tokens is not None and len(tokens) == count), _numbers(count))


def _numbers(count: int) -> list[str]:
    return list(map(str, range(count)))
