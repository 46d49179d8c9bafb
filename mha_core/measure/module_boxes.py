"""The architecture of any model: from its stack, or of transformers' from the modules that one pass calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from ..models.architecture import BRANCH, SIDE, Architecture, Axes, Builder, norm_title, stack_architecture
from ..models.model import Model
from ..pretrained.hf_model import HfModel
from .box_states import hooked

_MLP = re.compile(r"mlp|ffn|feed|ff|inter|output|fc|dense|expert|moe|lin|layer|wi|wo", re.IGNORECASE)
_POSITION = re.compile(r"pos|wpe", re.IGNORECASE)
_ACTIVATION = re.compile(r"gelu|silu|relu|swish|tanh|sigmoid|mish|activation|dropout|identity|droppath", re.IGNORECASE)
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
Chain = list[tuple[str, Tensor]]  # boxes since the last addition, with their outputs


@dataclass(frozen=True)
class _Call:
    """A call of a module: where it stands in the model, and the kind of its box."""

    path: str
    entering: Tensor
    leaving: Tensor
    column: int = 0
    place: str = "before"
    child: str = ""  # part of its layer
    kind: str = ""


@dataclass(frozen=True)
class _Layer:
    """Place of one layer of a column among the modules."""

    path: str
    container: str
    attention: str
    cross: str
    n_layers: int
    is_numbered: bool  # its path and those of the other layers differ in the last number alone

    def has(self, path: str) -> bool:
        """Return whether a module is in this layer, or is the layer."""
        return bool(self.path) and f"{path}.".startswith(f"{self.path}.")

    def child(self, path: str) -> str:
        """Return the part of the layer that a module is in, with the number behind its name: "mlp", "layer.1"."""
        match = re.match(r"[^.]+(\.\d+)*", path.removeprefix(self.path).removeprefix("."))
        return match[0] if match and self.has(path) else ""

    def template(self, path: str) -> str:
        """Return a path with {} in the place of the layer's number."""
        return f"{self.container}.{{}}{path.removeprefix(self.path)}" if self.is_numbered and self.has(path) else path


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
    modules = dict(model.hf_module.module.named_modules())
    layers, calls = _layers(model, modules, layer), list[_Call]()
    containers = tuple(f"{part.container}." for part in layers)
    paths = [
        path
        for path, part in modules.items()
        if path and not _is_silent(part)
        if not path.startswith(containers) or any(part.has(path) for part in layers)
    ]
    twin = hooked(model, paths, lambda path, *tensors: calls.append(_Call(path, *(x.cpu() for x in tensors))))
    twin.for_group(model.groups[-1]).run(text)
    return _Boxes(model, modules, layers, calls).build()


def _is_silent(module: nn.Module) -> bool:
    """Return whether a module is an activation or a dropout, which makes no box of its own."""
    return next(module.parameters(), None) is None and bool(_ACTIVATION.search(type(module).__name__))


def _layers(model: HfModel, modules: dict[str, nn.Module], layer: int) -> list[_Layer]:
    """Return the layer in each column, the encoder's first."""
    layers = []
    for group in ("encoder", "decoder"):
        finding = model.findings.groups.get(group)
        if finding is None:
            continue
        paths = finding.paths if model.findings.by_hook else _attention_paths(modules, len(finding.paths))
        parts = [path.split(".") for path in paths]
        part = parts[min(layer, len(parts) - 1)]
        differing = [n for n in range(len(part)) if any(len(other) <= n or other[n] != part[n] for other in parts)]
        numbers = [n for n, part in enumerate(part) if part.isdecimal()] or [len(part) - 1]
        end = differing[-1] if differing else numbers[-1] if len(parts) > 1 else numbers[0]
        path = ".".join(part[: end + 1])
        cross = model.findings.groups["cross"].paths if group == "decoder" and "cross" in model.findings.groups else ()
        cross_path = next((name for name in cross if name.startswith(f"{path}.")), "")
        is_numbered = differing == [end] and end in numbers
        layers.append(_Layer(path, ".".join(part[:end]), ".".join(part), cross_path, len(parts), is_numbered))
    return layers


def _attention_paths(modules: dict[str, nn.Module], count: int) -> list[str]:
    """Return the paths of the attention in the list of that many layers, found by their names."""
    name = next((path for path, part in modules.items() if isinstance(part, nn.ModuleList) and len(part) == count), "")
    inside = [path for path in modules if re.fullmatch(rf"{re.escape(name)}\.\d+\.[^.]*att[^.]*", path)]
    return inside or [name]


class _Boxes:
    """Boxes of the recorded calls of one pass."""

    def __init__(
        self,
        model: HfModel,
        modules: dict[str, nn.Module],
        layers: list[_Layer],
        calls: list[_Call],
    ) -> None:
        self.model = model
        self.modules = modules
        self.layers = layers
        self.calls = calls
        self.builder = Builder(model.sizes.d_model)
        self.order = ""
        inner = (path.split(".") for path in {call.path for call in calls})
        self.parents = {".".join(parts[:n]) for parts in inner for n in range(1, len(parts))}
        self.stem = layers[0].container.rpartition(".")[0]  # of the encoder, around its layers
        self.rotary = any("rotary" in self._class(call.path) for call in calls)

    def build(self) -> Architecture:
        """Return the architecture."""
        leaves = self._leaves()
        for column, layer in enumerate(self.layers):
            self.builder.column, self.builder.place = column, "before"
            self._put_tokens(column)
            part = [call for call in leaves if call.column == column]
            groups = [[*calls] for _, calls in groupby(part, key=_box_key)]
            for calls in groups:
                if calls[0].place == "before":
                    self._put(calls, name="embedding norm" if calls[0].kind == "norm" else "")
            self._put_layer(layer, [calls for calls in groups if calls[0].place == "layer"])
            for calls in groups:
                if calls[0].place == "after":
                    self._put(calls, name="final norm" if calls[0].kind == "norm" else "")
        last = self.builder.boxes[-1]
        if last.kind == "head":
            self.builder.put("probabilities", "probabilities", "softmax", axes=last.axes[-1:])
        self._connect_memory()
        return self.builder.build(self.model.hf_module.module, self.layers[0].n_layers, self.order)

    def _class(self, path: str) -> str:
        return type(self.modules[path]).__name__.lower()

    def _leaves(self) -> list[_Call]:
        """Return the innermost calls in order, each with its column, place and kind; of shared layers the first."""
        leaves, done, column = list[_Call](), set[str](), 0
        decoder = self.layers[1].container.rpartition(".")[0] if len(self.layers) > 1 else ""
        for call in self.calls:
            layer = next((part for part in self.layers if part.has(call.path)), None)
            if layer is not None and layer.path in done:
                continue
            if layer is not None and call.path == layer.path:
                done.add(layer.path)
            if call.path in self.parents or "rotary" in self._class(call.path):
                continue
            if len(self.layers) > 1 and layer is not self.layers[0]:
                is_repeated = any(call.path == other.path for other in leaves)
                is_decoder = layer is self.layers[1] or (decoder and call.path.startswith(f"{decoder}."))
                column = 1 if is_repeated or is_decoder else column
            place = "layer" if layer else "after" if self.layers[column].path in done else "before"
            child = layer.child(call.path) if layer else ""
            placed = replace(call, column=column, place=place, child=child)
            leaves.append(replace(placed, kind=self._kind(placed)))
        return leaves

    def _kind(self, call: _Call) -> str:
        name, layer = self._class(call.path), self.layers[call.column]
        is_norm = "norm" in name and "weight" not in name
        if call.place == "layer":
            pairs = (("attention", layer.attention), ("cross-attention", layer.cross))
            attentions = [(kind, path) for kind, path in pairs if path]
            inside = next((kind for kind, path in attentions if f"{call.path}.".startswith(f"{path}.")), "")
            sibling = next((kind for kind, path in attentions if call.child == layer.child(path)), "")
            part = f"{call.child} {self._class(f'{layer.path}.{call.child}')}"
            return inside or ("norm" if is_norm else sibling or ("mlp" if _MLP.search(part) else "module"))
        if call.place == "before" and self.model.reads != "text" and not call.path.startswith(f"{self.stem}."):
            return "embedding"  # of a picture or a sound
        if is_norm:
            return "norm"
        if call.place == "before":
            return "positions" if _POSITION.search(call.path) else "embedding"
        config = self.model.hf_module.family.config
        widths = {self.model.hf_module.vocabulary, getattr(config, "vocab_size", 0), len(self.model.classes)}
        return "head" if call.leaving.shape[-1] in widths else "pooling" if "pool" in call.path else "module"

    def _put_tokens(self, column: int) -> None:
        reads = "text" if column else self.model.reads
        note = f"vocabulary {self.model.hf_module.vocabulary:,}" if reads == "text" else f"of the {reads}"
        self.builder.put("tokens", "tokens" if reads == "text" else "pieces", note, axes=(("i", None),))

    def _put(self, calls: Sequence[_Call], outer: _Call | None = None, name: str = "") -> str:
        """Append the box of some calls, which `whole` makes as one, and return its name."""
        first, last = calls[0], outer or calls[-1]
        layer, kind = self.layers[first.column], first.kind
        self.builder.place = first.place
        module = self.modules[first.path]
        titles = {"mlp": "MLP", "norm": norm_title(module)}
        if kind == "module":
            titles[kind] = type(self.modules[f"{layer.path}.{first.child}"] if first.child else module).__name__
        axes = calls if outer is None or outer.path == first.path else [outer]
        paths = dict.fromkeys(layer.template(call.path) for call in axes)
        note = self._note(calls)
        return self.builder.put(kind, titles.get(kind, kind), note, name=name, axes=self._axes(last), paths=paths)

    def _note(self, calls: Sequence[_Call]) -> str:
        first, module, sizes = calls[0], self.modules[calls[0].path], self.model.sizes
        weight = getattr(module, "weight", None)
        if first.kind in ("attention", "cross-attention"):
            return f"{sizes.n_heads} head{'s' * (sizes.n_heads > 1)} × {sizes.d_model // sizes.n_heads}"
        if first.kind == "mlp":
            experts = self._experts(f"{self.layers[first.column].path}.{first.child}")
            widths = (first.entering.shape[-1], first.leaving.shape[-1], calls[-1].leaving.shape[-1])
            return f"{experts} experts" if experts else " → ".join(f"{width:,}" for width in widths)
        if first.kind in ("embedding", "positions") and isinstance(weight, Tensor):
            return " × ".join(f"{size:,}" for size in weight.shape[:2])
        tables = (part.weight for part in self.modules.values() if isinstance(part, nn.Embedding))
        is_tied = first.kind == "head" and any(table is weight for table in tables)
        return "tied: the table of the embedding" if is_tied else ""

    def _experts(self, path: str) -> int:
        """Return the number of experts in a part of a layer, 0 without any."""
        inside = (f"{name} {self._class(name)}" for name in self.modules if f"{name}.".startswith(f"{path}."))
        if not any("expert" in text for text in inside):
            return 0
        config = self.model.hf_module.family.config
        return next((count for name in _EXPERTS if isinstance(count := getattr(config, name, None), int)), 0)

    def _axes(self, call: _Call) -> Axes:
        """Return letters and sizes of the axes of an output (1, …)."""
        *others, width = call.leaving.shape[call.leaving.dim() > 1 and len(call.leaving) == 1 :]
        layer = next((part for part in self.calls if part.path == self.layers[call.column].path), call)
        is_counted = others == list(layer.entering.shape[-2:-1])
        letters = "i" if len(others) == 1 else "d" * len(others)
        axes = [(letter, None if is_counted else size) for letter, size in zip(letters, others, strict=True)]
        return (*axes, ("v" if call.kind == "head" else "c", width))

    def _put_layer(self, layer: _Layer, groups: list[list[_Call]]) -> None:
        """Append the boxes of a layer, and an addition wherever a tensor is the sum of two earlier ones."""
        outer = next((call for call in self.calls if call.path == layer.path), None)
        builder, column = self.builder, self.builder.column
        chain = [(builder.last[column], outer.entering if outer else torch.empty(0))]
        kinds = [calls[0].kind for calls in groups]
        self.order = self.order or ("" if "norm" not in kinds else "pre-norm" if kinds[0] == "norm" else "post-norm")
        for number, calls in enumerate(groups):
            merged = self._merged(layer, calls)
            chain = self._joined(chain, merged.entering)
            source = next((name for name, x in reversed(chain) if _equal(x, merged.entering)), chain[-1][0])
            if self.rotary and calls[0].kind == "attention":
                builder.place = "layer"
                sibling = builder.put("positions", "positions", "rotary", axes=(), lane=SIDE)
                builder.arrows.append((sibling, "decoder attention" if column else "attention"))
            builder.last[column] = source
            previous, following = [kind for kind in kinds[:number][::-1] if kind != "norm"], kinds[number:]
            following = [kind for kind in following if kind != "norm"]
            part = next(iter([*following, *previous] if self.order == "pre-norm" else [*previous, *following]), "")
            chain.append((self._put(calls, merged, f"{part} norm" if calls[0].kind == "norm" else ""), merged.leaving))
        if outer is not None:
            self._joined(chain, outer.leaving)

    def _merged(self, layer: _Layer, calls: list[_Call]) -> _Call:
        """Return the call of the part of the layer that has exactly these calls, or the calls as one."""
        path, part = f"{layer.path}.{calls[0].child}", {call.path for call in calls}
        inside = {call.path for call in self.calls if call.path.startswith(f"{path}.")} - self.parents
        outer = next((call for call in self.calls if call.path == path), None)
        if outer is not None and inside <= part and {call.child for call in calls} == {calls[0].child}:
            return replace(calls[0], path=path, entering=outer.entering, leaving=outer.leaving)
        return replace(calls[0], leaving=calls[-1].leaving)

    def _joined(self, chain: Chain, x: Tensor) -> Chain:
        """Append an addition if x is the sum of the last and earlier outputs, and return the chain behind it."""
        *earlier, (_, output) = chain
        if _equal(output, x):
            return chain
        for index, (_, stream) in enumerate(earlier):
            others: Iterable[tuple[str, Tensor | None]] = (("", None), *earlier[index + 1 :])
            for other, more in others:  # a second part may read the same stream beside the first, as in GPT-J
                if _equal(_sum(stream, output, more), x):
                    return self._add([name for name, _ in chain[index:]], other, x)
        return chain

    def _add(self, names: list[str], other: str, x: Tensor) -> Chain:
        """Append the addition of the last of these boxes, and of another one, to the first."""
        builder, (base, *branch) = self.builder, names
        boxes = [replace(box, lane=BRANCH) if box.name in branch else box for box in builder.boxes]
        parts = [box.kind for box in boxes if box.name in branch and box.kind != "norm"]
        builder.boxes[:] = boxes
        builder.place, builder.last[builder.column] = "layer", branch[-1]
        builder.add(base, f"{parts[-1] if parts else 'residual'} add")
        total = builder.last[builder.column]
        builder.arrows += [(other, total)] if other else []
        return [(total, x)]

    def _connect_memory(self) -> None:
        """Let the cross-attention of a decoder read the last box of the encoder."""
        cross = next((box.name for box in self.builder.boxes if box.kind == "cross-attention"), "")
        if cross:
            self.builder.arrows.append((self.builder.last[0], cross))


def _box_key(call: _Call) -> tuple[str, ...]:
    """Return what consecutive calls of one box have in common."""
    part = {"norm": call.path, "module": call.child}.get(call.kind, "")
    return (call.place, call.kind, part)


def _sum(stream: Tensor, output: Tensor, other: Tensor | None) -> Tensor:
    parts = [part for part in (output, other) if part is not None]
    if any(part.numel() != stream.numel() or not part.is_floating_point() for part in parts):
        return torch.empty(0)
    return stream + sum(part.view_as(stream) for part in parts)


def _equal(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors have the same values, up to rounding and a batch axis."""
    if a.numel() != b.numel() or not a.numel() or not a.is_floating_point() or not b.is_floating_point():
        return False
    scale = float(a.abs().max())
    return torch.allclose(a.flatten().float(), b.flatten().float(), rtol=1e-3, atol=1e-4 * scale)
