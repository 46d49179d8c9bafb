"""The architecture of a model as plain data: its boxes in the order of the pass, and the arrows between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from torch import nn

from ..positions import Position
from .block import AttentionBlock
from .classifier import Classifier
from .decoder import Decoder, SwiGLU
from .encoder import Encoder
from .encoder_decoder import EncoderDecoder
from .language_model import LanguageModel
from .stack import Stack
from .vision import VisionTransformer

KINDS = (
    "tokens", "embedding", "positions", "attention", "cross-attention", "add", "norm", "mlp", "pooling", "head",
    "probabilities", "module",
)  # fmt: skip
STREAM, BRANCH, SIDE = range(3)  # lanes of a column: the residual stream, what is added to it, what enters from beside
_ACTS = {"add": "added", "rotate": "turns queries and keys", "bias": "added to the scores"}
Axes = tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class Box:
    """One part of a model.

    Attributes:
        name: unique in its model, as "attention norm".
        kind: one of `KINDS`; "module" is a part of another library that is none of the others.
        title: its name on the screen, "RMSNorm".
        note: its sizes or its variant, in a few words.
        axes: letter and size of each axis of its output; None = the number of tokens of its column.
        paths: the modules that compute it, in order, with {} for the layer; none for an addition or a softmax.
        place: "before" the layers, in each "layer", or "after" them.
        column: 0, or 1 in the decoder of an encoder-decoder.
        lane: `STREAM`, `BRANCH` or `SIDE`.
        parameters: their number in each layer, or once outside of the layers.
    """

    name: str
    kind: str
    title: str
    note: str = ""
    axes: Axes = ()
    paths: tuple[str, ...] = ()
    place: str = "before"
    column: int = 0
    lane: int = STREAM
    parameters: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Architecture:
    """The boxes of a model in the order of its pass, and its arrows.

    Attributes:
        boxes: from the tokens to the output, the layers once.
        arrows: pairs of names, from a box to the one that reads its output; an "add" box has two.
        n_layers: how often the boxes in the "layer" run.
        norm: "pre-norm", "post-norm", or "" where a layer has no norm.
        n_parameters: of the whole model; the boxes have them all.
    """

    boxes: tuple[Box, ...]
    arrows: tuple[tuple[str, str], ...]
    n_layers: int
    norm: str
    n_parameters: int

    def box(self, name: str) -> Box | None:
        """Return the box of that name, None if there is none."""
        return next((box for box in self.boxes if box.name == name), None)

    def sources(self, name: str) -> list[str]:
        """Return the names of the boxes whose output a box reads."""
        return [source for source, target in self.arrows if target == name]


@dataclass
class Builder:
    """Boxes and arrows, appended in the order of the pass.

    Attributes:
        d_model: width of the stream.
        place: of the next boxes.
        column: of the next boxes.
        boxes: so far.
        arrows: so far.
        last: name of the box whose output the next one reads, in each column.
    """

    d_model: int
    place: str = "before"
    column: int = 0
    boxes: list[Box] = field(default_factory=list)
    arrows: list[tuple[str, str]] = field(default_factory=list)
    last: dict[int, str] = field(default_factory=dict)

    def put(
        self, kind: str, title: str, note: str = "", *, name: str = "", axes: Axes | None = None,
        paths: Iterable[str] = (), lane: int = STREAM, source: str = "",
    ) -> str:  # fmt: skip
        """Append a box that reads the last one, or `source`, and return its name."""
        base = ("decoder " if self.column else "") + (name or kind)
        used = {box.name for box in self.boxes}
        name = next(text for n in range(1, 99) if (text := base if n == 1 else f"{base} {n}") not in used)
        shape: Axes = (("i", None), ("c", self.d_model)) if axes is None else axes
        self.boxes.append(Box(name, kind, title, note, shape, tuple(paths), self.place, self.column, lane))
        previous = source or self.last.get(self.column, "")
        if lane != SIDE:
            if previous:
                self.arrows.append((previous, name))
            self.last[self.column] = name
        return name

    def add(self, stream: str, name: str = "") -> None:
        """Append the addition of the last box's output to the stream."""
        total = self.put("add", "add", "to the residual stream", name=name)
        self.arrows.append((stream, total))

    def build(self, module: nn.Module, n_layers: int, norm: str) -> Architecture:
        """Count the parameters of each box, and return the architecture."""
        boxes = count_parameters(module, self.boxes, n_layers)
        total = sum(weight.numel() for weight in module.parameters())
        return Architecture(tuple(boxes), tuple(self.arrows), n_layers, norm, total)


def count_parameters(module: nn.Module, boxes: Sequence[Box], n_layers: int) -> list[Box]:
    """Return the boxes with their numbers of parameters; a parameter belongs to the box with the longest path to it.

    Parameters outside of all boxes make a last one of their own.
    """
    counts = [[0] * (n_layers if box.place == "layer" else 1) for box in boxes]
    paths = [(path.split("."), index) for index, box in enumerate(boxes) for path in box.paths]
    paths.sort(key=lambda pair: -len(pair[0]))
    rest = 0
    for name, weight in module.named_parameters():
        parts = name.split(".")
        for path, index in paths:
            pairs = list(zip(path, parts, strict=False))
            if len(path) <= len(parts) and all(a == b or (a == "{}" and b.isdecimal()) for a, b in pairs):
                layer = next((int(b) for a, b in pairs if a == "{}"), 0)
                counts[index][min(layer, len(counts[index]) - 1)] += weight.numel()
                break
        else:
            rest += weight.numel()
    counted = [replace(box, parameters=tuple(own)) for box, own in zip(boxes, counts, strict=True)]
    unused = Box("other", "module", "other parameters", "not in this pass", place="after", parameters=(rest,))
    return [*counted, unused] if rest else counted


def stack_architecture(stack: Stack) -> Architecture:
    """Return the architecture of a stack of this package, read from its modules."""
    sizes, builder = stack.sizes, Builder(stack.sizes.d_model)
    _embed(builder, stack, stack.position)
    builder.place = "layer"
    _block(builder, stack.block(0), "layers.{}", stack.position)
    builder.place = "after"
    if isinstance(stack, EncoderDecoder):
        memory = builder.put("norm", norm_title(stack.norm), name="final norm", paths=["norm"])
        _decoder(builder, stack, memory)
    elif isinstance(stack, Classifier):
        cls = stack.sizes.pooling == "[CLS]"
        _pool(builder, "the row of [CLS]" if cls else "the mean over the tokens")
        _head(builder, stack.sizes.classes, ("connected", "out"), "two linear layers", rows=False)
    elif isinstance(stack, VisionTransformer):
        _pool(builder, "the row of [CLS]")
        builder.put("norm", norm_title(stack.norm), name="final norm", paths=["norm"], axes=(("c", sizes.d_model),))
        _head(builder, stack.sizes.classes, ["out"], rows=False)
    elif isinstance(stack, (LanguageModel, Decoder)):
        builder.put("norm", norm_title(stack.norm), name="final norm", paths=["norm"])
        is_tied = isinstance(stack, Decoder)
        _head(builder, sizes.vocabulary, () if is_tied else ["out"], "tied: the table of the embedding" * is_tied)
    else:
        _pool(builder, "the mean over the tokens, length 1")
    order = "" if not sizes.norm else "post-norm" if sizes.norm_after else "pre-norm"
    return builder.build(stack, sizes.n_layers, order)


def norm_title(module: nn.Module) -> str:
    """Return the kind of a norm: LayerNorm or RMSNorm."""
    return "RMSNorm" if "rms" in type(module).__name__.lower() else "LayerNorm"


def _embed(builder: Builder, stack: Stack, position: Position) -> None:
    sizes, path = stack.sizes, "target_position" if builder.column else "position"
    count: Axes = (("i", None),)
    if isinstance(stack, VisionTransformer):
        patch = stack.sizes.patch
        builder.put("tokens", "patches", f"{patch} × {patch} pixels", axes=(*count, ("c", patch**2)))
        note = f"{patch**2} → {sizes.d_model}"
    else:
        note = f"{sizes.vocabulary:,} × {sizes.d_model}"
        builder.put("tokens", "tokens", f"of {sizes.vocabulary:,}", axes=count)
    own = {"segment": Encoder, "patches": VisionTransformer}
    more = [path for path, kind in own.items() if isinstance(stack, kind)]
    builder.put("embedding", "embedding", note, paths=["words", *more])
    if "add" in position.mechanisms:
        builder.put("positions", "positions", f"{sizes.position}, {_ACTS['add']}", paths=[path])
    if isinstance(stack, Encoder):
        builder.put("norm", norm_title(stack.norm), name="embedding norm", paths=["norm"])


def _block(
    builder: Builder, block: AttentionBlock, path: str, position: Position | None, kind: str = "attention",
    memory: str = "",
) -> None:  # fmt: skip
    """Append the boxes of one block."""
    attention, stream = block.attention, builder.last[builder.column]
    lane = BRANCH if block.residual else STREAM
    has_norm = not isinstance(block.attention_norm, nn.Identity)
    norm = {"name": f"{kind} norm", "paths": [f"{path}.attention_norm"]}

    def put_norm(lane: int, norm: dict[str, object]) -> None:
        title = norm_title(block.attention_norm)
        builder.put("norm", title, name=str(norm["name"]), paths=norm["paths"], lane=lane)  # type: ignore[arg-type]

    if has_norm and not block.norm_after:
        put_norm(lane, norm)
    acts = sorted((position.mechanisms if position else frozenset()) - {"add"})
    beside = ""
    if acts:
        note = " and ".join(_ACTS[place] for place in acts)
        side_path = "target_position" if builder.column else "position"
        beside = builder.put("positions", "positions", note, paths=[side_path], axes=(), lane=SIDE)
    groups = f", {attention.n_kv_heads} for keys and values" if attention.n_kv_heads < attention.n_heads else ""
    heads = f"{attention.n_heads} heads × {attention.d_model // attention.n_heads}{groups}"
    name = builder.put(kind, kind, heads, paths=[f"{path}.attention"], lane=lane)
    builder.arrows += [(source, name) for source in (beside, memory) if source]
    if block.residual:
        builder.add(stream, f"{kind} add")
    if has_norm and block.norm_after:
        put_norm(STREAM, norm)
    if block.feed_forward is None:
        return
    stream, norm = builder.last[builder.column], {"name": "mlp norm", "paths": [f"{path}.feed_forward.0"]}
    if has_norm and not block.norm_after:
        put_norm(lane, norm)
    builder.put("mlp", "MLP", _mlp_note(block.feed_forward), paths=[f"{path}.feed_forward"], lane=lane)
    if block.residual:
        builder.add(stream, "mlp add")
    if has_norm and block.norm_after:
        put_norm(STREAM, {"name": "mlp norm", "paths": [f"{path}.output_norm"]})


def _mlp_note(network: nn.Sequential) -> str:
    inner = next((part for part in network if isinstance(part, SwiGLU)), None)
    if inner is not None:
        width, d_model = inner.up.weight.shape
        return f"SwiGLU, {d_model:,} → {width:,} → {d_model:,}"
    first = next(part for part in network if isinstance(part, nn.Linear))
    return f"GELU, {first.in_features:,} → {first.out_features:,} → {first.in_features:,}"


def _decoder(builder: Builder, stack: EncoderDecoder, memory: str) -> None:
    """Append the second column of an encoder-decoder."""
    builder.column, builder.place = 1, "before"
    _embed(builder, stack, stack.target_position)
    builder.place = "layer"
    blocks = (next(iter(layers)) for layers in (stack.back_layers, stack.cross_layers))
    own, cross = (block for block in blocks if isinstance(block, AttentionBlock))
    _block(builder, own, "back_layers.{}", stack.target_position)
    _block(builder, cross, "cross_layers.{}", None, "cross-attention", memory)
    builder.place = "after"
    builder.put("norm", norm_title(stack.out_norm), name="final norm", paths=["out_norm"])
    _head(builder, stack.sizes.vocabulary, ["out"])


def _pool(builder: Builder, note: str) -> None:
    builder.put("pooling", "pooling", note, axes=(("c", builder.d_model),))


def _head(builder: Builder, width: int, paths: Iterable[str], note: str = "", *, rows: bool = True) -> None:
    axes: Axes = (("v", width),)
    builder.put("head", "head", note or f"{builder.d_model} → {width:,}", paths=paths, axes=(("i", None), *axes)[not rows :])
    builder.put("probabilities", "probabilities", "softmax", axes=axes)
