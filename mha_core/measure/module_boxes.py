"""The architecture of any model: of this package's from its stack, of transformers' from the modules that one pass calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from ..models.architecture import BRANCH, SIDE, STREAM, Architecture, Axes, Builder, norm_title, stack_architecture
from ..models.model import Model
from ..pretrained.hf_model import HfModel
from .box_states import hooked

_TITLES = {"mlp": "MLP", "cross-attention": "cross-attention"}
_MLP = re.compile(r"mlp|ffn|feed|ff|inter|output|fc|dense|expert|moe|lin|layer|wi|wo", re.IGNORECASE)
_POSITION = re.compile(r"pos|wpe", re.IGNORECASE)
_ACTIVATIONS = re.compile(r"gelu|silu|relu|swish|tanh|sigmoid|mish|activation", re.IGNORECASE)
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_SILENT = (nn.Dropout, nn.Identity)


@dataclass(frozen=True)
class _Call:
    """A call of a module, or of several that make one box."""

    path: str
    entering: Tensor
    leaving: Tensor
    kind: str = ""
    column: int = 0
    place: str = ""
    child: str = ""  # of its layer


@dataclass(frozen=True)
class _Layer:
    """Where one layer of a column is among the modules."""

    path: str
    container: str
    attention: str
    cross: str
    n_layers: int
    is_numbered: bool  # its path and those of the other layers differ in the last number alone

    def child(self, path: str) -> str:
        """Return the part of the layer that a module is in, with the number behind its name: "mlp", "layer.1"."""
        match = re.match(r"[^.]+(\.\d+)*", path.removeprefix(f"{self.path}."))
        return match[0] if match and path.startswith(f"{self.path}.") else ""

    def template(self, path: str) -> str:
        """Return a path with {} in the place of the layer's number."""
        inside = self.is_numbered and f"{path}.".startswith(f"{self.path}.")
        return f"{self.container}.{{}}{path.removeprefix(self.path)}" if inside else path


def architecture(model: Model, text: Any = "", layer: int = 0) -> Architecture:
    """Return the boxes of a model.

    Args:
        model: of this package, or of transformers.
        text: for one pass of a model of transformers, as in `Model.run`.
        layer: the layer whose modules are the boxes, of a model of transformers.

    Raises:
        Unsupported: the model has no modules, as a recording.
        HeadlightError: as in `Model.run`.
    """
    if not isinstance(model, HfModel):
        return stack_architecture(model.stack)
    layers, calls = _layers(model, layer), list[_Call]()
    others = tuple(f"{own.container}." for own in layers)
    paths = [
        path
        for path, part in model.hf_module.module.named_modules()
        if path and not isinstance(part, _SILENT) and (not path.startswith(others) or _is_in(path, layers))
    ]
    twin = hooked(model, paths, lambda path, *tensors: calls.append(_Call(path, *(x.cpu() for x in tensors))))
    run = twin.for_group(model.groups[-1]).run(text)
    return _Boxes(model, layers, calls, len(run.ids)).build()


def _layers(model: HfModel, layer: int) -> list[_Layer]:
    """Return the layer in each column, the encoder's first."""
    found = []
    for group in ("encoder", "decoder"):
        finding = model.findings.groups.get(group)
        if finding is None:
            continue
        parts = [path.split(".") for path in finding.paths]
        own = parts[min(layer, len(parts) - 1)]
        differing = [n for n in range(len(own)) if any(len(other) <= n or other[n] != own[n] for other in parts)]
        numbers = [n for n, part in enumerate(own) if part.isdecimal()]
        end = max(differing, default=min(numbers, default=0))
        cross = model.findings.groups.get("cross") if group == "decoder" else None
        path = ".".join(own[: end + 1])
        cross_path = next((name for name in cross.paths if name.startswith(f"{path}.")), "") if cross else ""
        container, attention = ".".join(own[:end]), ".".join(own)
        found.append(_Layer(path, container, attention, cross_path, len(parts), len(differing) == 1))
    return found


def _is_in(path: str, layers: Sequence[_Layer]) -> bool:
    return any(f"{path}.".startswith(f"{layer.path}.") for layer in layers)


class _Boxes:
    """Boxes of the recorded calls of one pass."""

    def __init__(self, model: HfModel, layers: list[_Layer], calls: list[_Call], length: int) -> None:
        self.model = model
        self.layers = layers
        self.calls = calls
        self.length = length
        self.modules = dict(model.hf_module.module.named_modules())
        self.builder = Builder(model.sizes.d_model)
        self.order = ""
        self.rotary = False

    def build(self) -> Architecture:
        """Return the architecture."""
        parents = {call.path.rpartition(".")[0] for call in self.calls}
        parents |= {".".join(path.split(".")[:n]) for path in parents for n in range(1, path.count(".") + 1)}
        leaves = self._places([call for call in self.calls if call.path not in parents])
        self.rotary = any("rotary" in type(self.modules[call.path]).__name__.lower() for call in leaves)
        leaves = [call for call in leaves if "rotary" not in type(self.modules[call.path]).__name__.lower()]
        for column in range(len(self.layers)):
            self.builder.column = column
            self.builder.place = "before"
            self._put_tokens(column)
            groups = groupby(
                (call for call in leaves if call.column == column),
                key=lambda call: (call.place, call.kind, call.child if call.kind == "module" else ""),
            )
            boxes = [[*calls] for _, calls in groups]
            inside = [calls for calls in boxes if calls[0].place == "layer"]
            for calls in boxes:
                if calls[0].place == "before":
                    self._put(calls)
            self._put_layer(self.layers[column], inside)
            for calls in boxes:
                if calls[0].place == "after":
                    self._put(calls)
        if any(box.kind == "head" for box in self.builder.boxes[-1:]):
            self.builder.put("probabilities", "probabilities", "softmax", axes=self.builder.boxes[-1].axes[-1:])
        return self.builder.build(self.model.hf_module.module, self.layers[0].n_layers, self.order)

    def _places(self, leaves: list[_Call]) -> list[_Call]:
        """Return the calls with their column, place and kind."""
        placed, column, seen = list[_Call](), 0, set[str]()
        for call in leaves:
            if isinstance(self.modules[call.path], nn.Module) and self._is_silent(call.path):
                continue
            if len(self.layers) > 1 and (call.path in seen or _is_in(call.path, self.layers[1:])):
                column = 1
            elif len(self.layers) > 1 and call.path.split(".")[0].startswith("decoder"):
                column = 1
            seen.add(call.path)
            layer = self.layers[column]
            inside = call.path.startswith(f"{layer.path}.")
            if inside:
                placed = [replace(c, place=c.place or "before") if c.column == column else c for c in placed]
            place = "layer" if inside else "after" if any(c.place == "layer" and c.column == column for c in placed) else ""
            placed.append(replace(call, column=column, place=place, child=layer.child(call.path)))
        placed = [replace(call, place=call.place or "before") for call in placed]
        return [replace(call, kind=self._kind(call)) for call in placed]

    def _is_silent(self, path: str) -> bool:
        module = self.modules[path]
        return not any(True for _ in module.parameters()) and bool(_ACTIVATIONS.search(type(module).__name__))

    def _kind(self, call: _Call) -> str:
        name, layer = type(self.modules[call.path]).__name__.lower(), self.layers[call.column]
        if call.place == "layer":
            for kind, path in (("attention", layer.attention), ("cross-attention", layer.cross)):
                if path and f"{call.path}.".startswith(f"{path}."):
                    return kind
            if "norm" in name:
                return "norm"
            for kind, path in (("attention", layer.attention), ("cross-attention", layer.cross)):
                if path and call.child == layer.child(path):
                    return kind
            return "mlp" if _MLP.search(f"{call.child} {type(self.modules[f'{layer.path}.{call.child}']).__name__}") else "module"
        if "norm" in name:
            return "norm"
        if call.place == "before":
            return "positions" if _POSITION.search(call.path) else "embedding"
        widths = {self.model.sizes.vocabulary, len(self.model.classes)}
        return "head" if call.leaving.shape[-1] in widths else "pooling" if "pool" in call.path else "module"

    def _put_tokens(self, column: int) -> None:
        vocabulary, count = self.model.hf_module.vocabulary, self.length if column else None
        reads = self.model.reads if column == 0 else "text"
        note = f"vocabulary {vocabulary:,}" if reads == "text" else f"of the {reads}"
        self.builder.put("tokens", "tokens" if reads == "text" else "pieces", note, axes=(("i", count),))

    def _put(self, calls: Sequence[_Call], name: str = "") -> str:
        """Append the box of some calls and return its name."""
        first, last = calls[0], calls[-1]
        layer, kind = self.layers[first.column], first.kind
        self.builder.place = first.place
        title = _TITLES.get(kind, kind)
        module = self.modules[first.path]
        if kind == "norm":
            title = norm_title(module)
        elif kind == "module":
            title = type(self.modules.get(f"{layer.path}.{first.child}", module)).__name__
        paths = dict.fromkeys(layer.template(call.path) for call in calls)
        return self.builder.put(kind, title, self._note(calls), name=name, axes=self._axes(last), paths=paths)

    def _note(self, calls: Sequence[_Call]) -> str:
        first, kind = calls[0], calls[0].kind
        sizes, layer = self.model.sizes, self.layers[first.column]
        if kind in ("attention", "cross-attention"):
            return f"{sizes.n_heads} head{'s' * (sizes.n_heads > 1)} × {sizes.d_model // sizes.n_heads}"
        if kind == "mlp":
            config = self.model.hf_module.family.config
            experts = next((getattr(config, name) for name in _EXPERTS if isinstance(getattr(config, name, 0), int) and getattr(config, name, 0)), 0)
            parts = [self.modules[call.path] for call in calls]
            is_mixture = experts and any("expert" in f"{name} {type(part).__name__}".lower() for name, part in self.modules.items() if name.startswith(f"{layer.path}.{first.child}"))
            widths = [call.leaving.shape[-1] for call in calls[:1]]
            return f"{experts} experts" if is_mixture else f"{calls[0].entering.shape[-1]:,} → {widths[0]:,} → {calls[-1].leaving.shape[-1]:,}" if parts else ""
        if kind == "embedding":
            weight = getattr(self.modules[first.path], "weight", None)
            return " × ".join(f"{size:,}" for size in weight.shape) if isinstance(weight, Tensor) else ""
        return ""

    def _axes(self, call: _Call) -> Axes:
        """Return letters and sizes of the axes of an output (1, …)."""
        shape = call.leaving.shape[1:] if call.leaving.dim() > 2 or len(call.leaving) == 1 else call.leaving.shape
        width = "v" if call.kind == "head" else "c"
        n = next(iter(shape), 0)
        if len(shape) == 2:
            return (("i", None if not call.column and n == self.model_length else n), (width, shape[-1]))
        return tuple(("d", size) for size in shape[:-1]) + ((width, shape[-1]),) if shape else ()

    @property
    def model_length(self) -> int:
        """The number of tokens that enter the first layer."""
        return next((call.entering.shape[-2] for call in self.calls if call.path == self.layers[0].path), self.length)

    def _put_layer(self, layer: _Layer, groups: list[list[_Call]]) -> None:
        """Append the boxes of a layer, and an addition wherever a tensor is the sum of two earlier ones."""
        whole = next((call for call in reversed(self.calls) if call.path == layer.path), None)
        builder, column = self.builder, self.builder.column
        chain = [(builder.last[column], whole.entering if whole else torch.empty(0))]
        for calls in groups:
            merged = self._merged(layer, calls)
            chain = self._joined(chain, merged.entering, calls[0].kind)
            previous = next((name for name, x in reversed(chain) if _same(x, merged.entering)), chain[-1][0])
            self._put_side(calls[0])
            builder.last[column] = previous
            kind = calls[0].kind
            name = self._put([merged] if merged.path != calls[0].path else calls, f"{kind} norm" if kind == "norm" else "")
            chain.append((name, merged.leaving))
        if whole is not None:
            self._joined(chain, whole.leaving, "end")

    def _put_side(self, call: _Call) -> None:
        if self.rotary and call.kind == "attention":
            self.builder.place = "layer"
            name = self.builder.put("positions", "positions", "rotary", axes=(), lane=SIDE)
            target = ("decoder " if call.column else "") + "attention"
            self.builder.arrows.append((name, target))

    def _merged(self, layer: _Layer, calls: list[_Call]) -> _Call:
        """Return the call of the part of the layer that has exactly these calls, or the calls as one."""
        child = f"{layer.path}.{calls[0].child}"
        inside = {call.path for call in self.calls if call.path.startswith(f"{child}.") and not self._is_silent(call.path)}
        own = next((call for call in self.calls if call.path == child), None)
        leaves = {path for path in inside if not any(other.startswith(f"{path}.") for other in inside)}
        if own is not None and leaves <= {call.path for call in calls} and calls[0].child == calls[-1].child:
            return replace(calls[0], path=child, entering=own.entering, leaving=own.leaving)
        return replace(calls[0], leaving=calls[-1].leaving)

    def _joined(self, chain: list[tuple[str, Tensor]], x: Tensor, _kind: str) -> list[tuple[str, Tensor]]:
        """Append an addition if x is the sum of the last output and an earlier one, and return the chain after it."""
        *earlier, (last, output) = chain
        builder, lanes = self.builder, {name: STREAM for name, _ in chain[1:]}
        if _same(output, x) or not earlier:
            self._set_lanes(lanes)
            return chain
        for index, (base, stream) in enumerate(earlier):
            if output.shape == stream.shape and _same(stream + output, x):
                part = next(box for box in reversed(builder.boxes) if box.name == last)
                what = next((box.kind for box in reversed(builder.boxes) if box.name in dict(chain[index + 1 :]) and box.kind != "norm"), part.kind)
                self._set_lanes({name: BRANCH for name, _ in chain[index + 1 :]} | {name: STREAM for name, _ in chain[1 : index + 1]})
                norms = [name for name, _ in chain if name.endswith("norm") or " norm" in name]
                self.order = self.order or ("pre-norm" if norms and index == 0 and chain[1][0] in norms else "post-norm" if norms else "")
                builder.last[builder.column] = last
                builder.place = "layer"
                builder.add(base, f"{what} add")
                return [(builder.last[builder.column], x)]
        return chain

    def _set_lanes(self, lanes: dict[str, int]) -> None:
        boxes = self.builder.boxes
        boxes[:] = [replace(box, lane=lanes[box.name]) if box.name in lanes else box for box in boxes]


def _same(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors have the same values, up to rounding and a batch axis."""
    if a.numel() != b.numel() or not a.is_floating_point() or not b.is_floating_point():
        return False
    scale = float(a.abs().max()) if a.numel() else 0.0
    return torch.allclose(a.flatten().float(), b.flatten().float(), rtol=1e-3, atol=1e-4 * scale)
