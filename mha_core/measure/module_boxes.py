"""The architecture of any model, from the modules that one pass calls and the tensors that they exchange."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from ..models.architecture import BRANCH, SIDE, STREAM, Architecture, Axes, Box, count_parameters
from ..models.classifier import Classifier
from ..models.decoder import Decoder
from ..models.encoder_decoder import EncoderDecoder
from ..models.model import Model
from ..models.run import Run
from ..positions import KINDS as POSITIONS
from ..pretrained.hf_model import HfModel
from .box_states import hooked, modules

SAMPLE = "one two three four"
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
    """Place of one layer of a column among the modules; it has one block, or several in turn."""

    blocks: tuple[str, ...]
    attention: str
    cross: str = ""
    is_numbered: bool = True  # the last number of a block is that of the layer

    def block(self, path: str) -> str:
        """Return the block that has a module, "" if none has."""
        return next((block for block in self.blocks if block and f"{path}.".startswith(f"{block}.")), "")

    def child(self, path: str) -> str:
        """Return the part of the block that has a module, with the number behind its name."""
        match = re.match(rf"{re.escape(self.block(path))}\.[^.]+(\.\d+)*", path)
        return match[0] if match else ""

    def template(self, path: str) -> str:
        """Return a path with {} in the place of the layer's number."""
        block = self.block(path)
        return f"{block.rpartition('.')[0]}.{{}}{path[len(block) :]}" if block and self.is_numbered else path


def architecture(model: Model, text: Any = SAMPLE, layer: int = 0) -> Architecture:
    """Return the boxes of a model.

    Args:
        model: of this package, or of transformers.
        text: for one pass, as in `Model.run`, of more than one token.
        layer: the layer whose modules are the boxes.

    Raises:
        Unsupported: the model has no modules, as a recording.
        HeadlightError: as in `Model.run`.
    """
    parts, calls = modules(model), list[_Call]()
    layers = _layers(model, parts, layer)
    containers = tuple(f"{block.rpartition('.')[0]}." for part in layers for block in part.blocks)
    paths = [
        path
        for path, part in parts.items()
        if path and not _is_silent(part)
        if not path.startswith(containers) or any(item.block(path) for item in layers)
    ]
    twin = hooked(model, paths, lambda path, *tensors: calls.append(_Call(path, *(x.cpu() for x in tensors))))
    target = {"target": "12"} if isinstance(model.encoder, EncoderDecoder) else {}  # instead of a translation
    run: Run = twin.for_group(model.groups[-1]).run(text, **target)  # type: ignore[arg-type]
    return _Boxes(model, parts, layers, calls, run.extras.kv_heads).build()


def _is_silent(module: nn.Module) -> bool:
    """Return whether a module is an activation or a dropout, which makes no box of its own."""
    return next(module.parameters(), None) is None and bool(_ACTIVATION.search(type(module).__name__))


def _layers(model: Model, parts: dict[str, nn.Module], layer: int) -> list[_Layer]:
    """Return the layer in each column, the encoder's first."""
    if not isinstance(model, HfModel):
        layers = [_Layer((f"layers.{layer}",), f"layers.{layer}.attention")]
        if isinstance(model.stack, EncoderDecoder):
            blocks = (f"back_layers.{layer}", f"cross_layers.{layer}")
            layers.append(_Layer(blocks, f"{blocks[0]}.attention", f"{blocks[1]}.attention"))
        return layers
    layers, groups = [], model.findings.groups
    for group in [name for name in ("encoder", "decoder") if name in groups]:
        paths = groups[group].paths if model.findings.by_hook else _attention_paths(parts, model.sizes.n_layers)
        split = [path.split(".") for path in paths]
        names = split[min(layer, len(split) - 1)]
        differing = [n for n, name in enumerate(names) if any(other[n : n + 1] != [name] for other in split)]
        numbers = [n for n, name in enumerate(names) if name.isdecimal()] or [len(names) - 1]
        end = differing[-1] if differing else numbers[-1] if len(split) > 1 else numbers[0]
        block = ".".join(names[: end + 1])
        cross = groups["cross"].paths if group == "decoder" and "cross" in groups else ()
        cross_path = next((path for path in cross if path.startswith(f"{block}.")), "")
        layers.append(_Layer((block,), ".".join(names), cross_path, differing == [end] and end in numbers))
    return layers


def _attention_paths(parts: dict[str, nn.Module], count: int) -> list[str]:
    """Return the paths of the attention in the list of that many layers, found by their names."""
    name = next((path for path, part in parts.items() if isinstance(part, nn.ModuleList) and len(part) == count), "")
    return [path for path in parts if re.fullmatch(rf"{re.escape(name)}\.\d+\.[^.]*att[^.]*", path)] or [name]


class _Boxes:
    """Boxes of the recorded calls of one pass."""

    def __init__(
        self, model: Model, parts: dict[str, nn.Module], layers: list[_Layer], calls: list[_Call], kv_heads: int | None
    ) -> None:
        self.model = model
        self.parts = parts
        self.layers = layers
        self.calls = calls
        self.kv_heads = kv_heads
        self.boxes = list[Box]()
        self.arrows = list[tuple[str, str]]()
        self.last = dict[int, str]()  # column -> name of the box whose output the next one reads
        self.place, self.column = "before", 0  # of the next boxes
        self.order = ""
        paths = (path.split(".") for path in {call.path for call in calls})
        self.parents = {".".join(names[:n]) for names in paths for n in range(1, len(names))}
        self.stem = layers[0].blocks[0].rpartition(".")[0].rpartition(".")[0]  # module around the layers
        self.config = model.hf_module.family.config if isinstance(model, HfModel) else None
        stack = model.encoder
        self.position = next((name for name, kind in POSITIONS.items() if stack and type(stack.position) is kind), "")
        self.acts = stack.position.mechanisms if stack else frozenset[str]()
        self.rotary = next((call.path for call in calls if "rotary" in self._class(call.path)), "")
        if self.rotary:
            self.position, self.acts = "rotary", frozenset(("rotate",))

    def build(self) -> Architecture:
        """Return the architecture."""
        leaves = self._leaves()
        for column, layer in enumerate(self.layers):
            self.column, self.place = column, "before"
            reads = "text" if column else self.model.reads
            note = f"vocabulary {self.model.sizes.vocabulary:,}" if reads == "text" else f"of the {reads}"
            self._append("tokens", "tokens" if reads == "text" else "pieces", note, axes=(("i", None),))
            calls = [call for call in leaves if call.column == column]
            groups = [[*some] for _, some in groupby(calls, key=_box_key)]
            for group in [group for group in groups if group[0].place == "before"]:
                self._put(group, name="embedding norm" if group[0].kind == "norm" else "")
                if group[0].kind == "embedding" and "add" in self.acts:
                    path = "target_position" if column else "position"
                    self._append("positions", "positions", f"{self.position}, added", paths=[path])
            self._put_layer(layer, [group for group in groups if group[0].place == "layer"])
            self.place = "after"
            for group in [group for group in groups if group[0].place == "after"]:
                self._put(group, name="final norm" if group[0].kind == "norm" else "")
        self._put_end()
        cross = [(self.last[0], box.name) for box in self.boxes if box.kind == "cross-attention"]
        self.arrows += cross
        root, n_layers = self.parts[""], self.model.sizes.n_layers
        boxes = count_parameters(root, self.boxes, n_layers)
        total = sum(weight.numel() for weight in root.parameters())
        return Architecture(tuple(boxes), tuple(self.arrows), n_layers, self.order, total)

    def _append(
        self, kind: str, title: str, note: str = "", *, name: str = "", axes: Axes | None = None,
        paths: Iterable[str] = (), lane: int = STREAM,
    ) -> str:  # fmt: skip
        """Append a box that reads the last one, unless it enters from beside, and return its name."""
        base, names = ("decoder " if self.column else "") + (name or kind), {box.name for box in self.boxes}
        name = next(text for n in range(1, 99) if (text := base if n == 1 else f"{base} {n}") not in names)
        shape: Axes = (("i", None), ("c", self.model.sizes.d_model)) if axes is None else axes
        self.boxes.append(Box(name, kind, title, note, shape, tuple(paths), self.place, self.column, lane))
        if lane != SIDE:
            self.arrows += [(self.last[self.column], name)] if self.column in self.last else []
            self.last[self.column] = name
        return name

    def _class(self, path: str) -> str:
        return type(self.parts[path]).__name__.lower()

    def _leaves(self) -> list[_Call]:
        """Return the innermost calls in order, each with its column, place and kind; of shared layers the first."""
        leaves, done, column = list[_Call](), set[str](), 0
        decoder = self.layers[1].blocks[0].rpartition(".")[0].rpartition(".")[0] if len(self.layers) > 1 else ""
        for call in self.calls:
            layer = next((layer for layer in self.layers if layer.block(call.path)), None)
            if layer is not None and layer.block(call.path) in done:
                continue
            if layer is not None and call.path in layer.blocks:
                done.add(call.path)
            if call.path in self.parents or "rotary" in self._class(call.path):
                continue
            if len(self.layers) > 1 and layer is not self.layers[0]:
                is_repeated = any(call.path == other.path for other in leaves)
                is_decoder = layer is self.layers[1] or (decoder and call.path.startswith(f"{decoder}."))
                column = 1 if is_repeated or is_decoder else column
            place = "layer" if layer else "after" if self.layers[column].blocks[0] in done else "before"
            placed = replace(call, column=column, place=place, child=layer.child(call.path) if layer else "")
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
            is_mlp = _MLP.search(f"{call.child.removeprefix(layer.block(call.path))} {self._class(call.child)}")
            return inside or ("norm" if is_norm else sibling or ("mlp" if is_mlp else "module"))
        if call.place == "before" and self.model.reads != "text" and not call.path.startswith(f"{self.stem}."):
            return "embedding"  # of a picture or a sound
        if is_norm:
            return "norm"
        if call.place == "before":
            return "positions" if _POSITION.search(call.path) else "embedding"
        classes = len(getattr(self.model, "classes", ()))
        widths = {self.model.sizes.vocabulary, getattr(self.config, "vocab_size", 0), classes}
        return "head" if call.leaving.shape[-1] in widths else "pooling" if "pool" in call.path else "module"

    def _put(self, calls: Sequence[_Call], merged: _Call | None = None, name: str = "") -> str:
        """Append the box of some calls, which `merged` makes as one, and return its name."""
        first, last = calls[0], merged or calls[-1]
        layer, kind = self.layers[first.column], first.kind
        self.place = first.place
        part = self.parts[first.child or first.path if kind == "module" else first.path]
        titles = {"mlp": "MLP", "norm": "RMSNorm" if "rms" in type(part).__name__.lower() else "LayerNorm"}
        titles["module"] = type(part).__name__
        box_calls = calls if merged is None or merged.path == first.path else [merged]
        paths = [layer.template(call.path) for call in box_calls]
        paths += ["segment"] if kind == "embedding" and hasattr(self.model.encoder, "segment") else []
        note, axes = self._note(calls, part), self._axes(last)
        return self._append(kind, titles.get(kind, kind), note, name=name, axes=axes, paths=dict.fromkeys(paths))

    def _note(self, calls: Sequence[_Call], part: nn.Module) -> str:
        first, sizes, weight = calls[0], self.model.sizes, getattr(part, "weight", None)
        if "attention" in first.kind:
            is_grouped = self.kv_heads not in (None, sizes.n_heads)
            plural, groups = "s" * (sizes.n_heads > 1), f", {self.kv_heads} for k, v" * is_grouped
            return f"{sizes.n_heads} head{plural} × {sizes.d_model // sizes.n_heads}{groups}"
        if first.kind == "mlp":
            inside = {name: item for name, item in self.parts.items() if f"{name}.".startswith(f"{first.child}.")}
            counts = (getattr(self.config, name, None) for name in _EXPERTS)
            experts = next((count for count in counts if isinstance(count, int)), 0)
            if experts and any("expert" in f"{name} {type(item).__name__}".lower() for name, item in inside.items()):
                return f"{experts} experts"
            shapes = [weight.shape for call in calls for weight in self.parts[call.path].parameters()]
            widths = (first.entering.shape[-1], max(map(max, shapes)), calls[-1].leaving.shape[-1])
            kind = f"{type(part).__name__}, " if len(calls) == 1 and not isinstance(part, nn.Linear) else ""
            return kind + " → ".join(f"{width:,}" for width in widths)
        if first.kind in ("embedding", "positions") and isinstance(weight, Tensor):
            return " × ".join(f"{size:,}" for size in weight.shape[:2])
        tables = [item.weight for item in self.parts.values() if isinstance(item, nn.Embedding)]
        is_tied = first.kind == "head" and any(table is weight for table in tables)
        return "tied: the table of the embedding" if is_tied else ""

    def _axes(self, call: _Call) -> Axes:
        """Return letters and sizes of the axes of an output (1, …)."""
        *others, width = call.leaving.shape[call.leaving.dim() > 1 and len(call.leaving) == 1 :]
        block = next((item for item in self.calls if item.path == self.layers[call.column].blocks[0]), call)
        is_counted = others == list(block.entering.shape[-2:-1])
        letters = "i" if len(others) == 1 else "d" * len(others)
        axes = [(letter, None if is_counted else size) for letter, size in zip(letters, others, strict=True)]
        return (*axes, ("v" if call.kind == "head" else "c", width))

    def _put_layer(self, layer: _Layer, groups: list[list[_Call]]) -> None:
        """Append the boxes of a layer, and an addition wherever a tensor is the sum of earlier ones."""
        column = self.column
        ends = [next((call for call in self.calls if call.path == block), None) for block in layer.blocks]
        chain: Chain = [(self.last[column], ends[0].entering if ends[0] else torch.empty(0))]
        kinds = [group[0].kind for group in groups]
        self.order = self.order or ("" if "norm" not in kinds else "pre-norm" if kinds[0] == "norm" else "post-norm")
        for number, group in enumerate(groups):
            merged = self._merged(group)
            chain = self._join(chain, merged.entering)
            reads = next((name for name, x in reversed(chain) if _equal(x, merged.entering)), chain[-1][0])
            self.place, side = "layer", ""
            if group[0].kind == "attention" and self.acts - {"add"}:
                paths = [self.rotary or ("target_position" if column else "position")]
                side = self._append("positions", "positions", self.position, axes=(), paths=paths, lane=SIDE)
            self.last[column] = reads
            others = [[kind for kind in some if kind != "norm"] for some in (kinds[number:], kinds[:number][::-1])]
            order = others if self.order == "pre-norm" else others[::-1]
            name = f"{[*order[0], *order[1], ''][0]} norm" if group[0].kind == "norm" else ""
            chain.append((self._put(group, merged, name), merged.leaving))
            self.arrows += [(side, chain[-1][0])] if side else []
        if ends[-1]:
            self._join(chain, ends[-1].leaving)

    def _merged(self, calls: list[_Call]) -> _Call:
        """Return the call of the part of the layer that has exactly these calls, or the calls as one."""
        path, leaves = calls[0].child, {call.path for call in calls}
        inside = {call.path for call in self.calls if call.path.startswith(f"{path}.")} - self.parents
        outer = next((call for call in self.calls if call.path == path), None)
        if outer is not None and inside <= leaves and all(call.child == path for call in calls):
            return replace(calls[0], path=path, entering=outer.entering, leaving=outer.leaving)
        return replace(calls[0], leaving=calls[-1].leaving)

    def _join(self, chain: Chain, x: Tensor) -> Chain:
        """Append an addition if x is the sum of the last and earlier outputs, and return the chain behind it."""
        *earlier, (_, output) = chain
        if _equal(output, x):
            return chain
        for index, (_, stream) in enumerate(earlier):
            # a second part may read the same stream beside the first, as in GPT-J
            for other, part in [("", torch.zeros(())), *earlier[index + 1 :]]:
                fits = output.numel() == stream.numel() and part.numel() in (1, stream.numel())
                if fits and _equal(stream + output.view_as(stream) + part, x):
                    return self._add([name for name, _ in chain[index:]], other, x)
        return chain

    def _add(self, names: list[str], other: str, x: Tensor) -> Chain:
        """Append the addition of the last of these boxes, and of another one, to the first."""
        base, *branch = names
        self.boxes[:] = [replace(box, lane=BRANCH) if box.name in branch else box for box in self.boxes]
        kinds = [box.kind for box in self.boxes if box.name in branch and box.kind != "norm"]
        self.place, self.last[self.column] = "layer", branch[-1]
        total = self._append("add", "add", "to the residual stream", name=f"{['residual', *kinds][-1]} add")
        self.arrows += [(source, total) for source in (base, other) if source]
        return [(total, x)]

    def _put_end(self) -> None:
        """Append what follows the layers without a module of its own."""
        stack = self.model.encoder
        width: Axes = (("c", self.model.sizes.d_model),)
        if isinstance(stack, Classifier):  # a run stops before its head
            note = "the row of [CLS]" if stack.sizes.pooling == "[CLS]" else "the mean over the tokens"
            self._append("pooling", "pooling", note, axes=width)
            axes: Axes = (("v", stack.sizes.classes),)
            self._append("head", "head", "two linear layers", axes=axes, paths=("connected", "out"))
        elif isinstance(stack, Decoder):
            axes = (("i", 1), ("v", stack.sizes.vocabulary))
            self._append("head", "head", "tied: the table of the embedding", axes=axes)
        elif stack and self.boxes[-1].kind != "head":
            self._append("pooling", "pooling", "the mean over the tokens, length 1", axes=width)
        if self.boxes[-1].kind == "head":
            self._append("probabilities", "probabilities", "softmax", axes=self.boxes[-1].axes[-1:])


def _box_key(call: _Call) -> tuple[str, ...]:
    """Return what consecutive calls of one box have in common."""
    return (call.place, call.kind, {"norm": call.path, "module": call.child}.get(call.kind, ""))


def _equal(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors have the same values, up to rounding and a batch axis."""
    if a.numel() != b.numel() or not a.numel() or not a.is_floating_point() or not b.is_floating_point():
        return False
    scale = float(a.abs().max())
    return torch.allclose(a.flatten().float(), b.flatten().float(), rtol=1e-3, atol=1e-4 * scale)
