"""The code of each box: the source of the function that ran."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from torch import nn

from headlight.picture import next_token
from headlight.picture.step_source import ROOT
from headlight.ui import sheet
from headlight.ui.sheet import Block
from mha_core.models.block import AttentionBlock
from mha_core.models.decoder import SwiGLU
from mha_core.models.inputs import position_for
from mha_core.models.run import sentence_vector
from mha_core.models.stack import Stack
from mha_core.pretrained.hf_model import HfModel

from .scene import Scene

MAX_LINES = 60
_PLACES = ("add", "rotate", "bias")


def blocks(scene: Scene) -> list[Block]:
    """Return the source of the function that computed the box in focus, with the lines of the box marked."""
    stack, box = scene.model.encoder, scene.box
    if stack is not None:
        return _excerpt(*_own(scene, stack))
    if isinstance(scene.model, HfModel) and box.paths:
        modules = dict(scene.model.hf_module.module.named_modules())
        path = box.paths[0].format(scene.layer)
        if path in modules:
            return _excerpt(type(modules[path]).forward)
    return [sheet.text("This box is no module of its own: the function of the layer computes it on the way.")]


def _own(scene: Scene, stack: Stack) -> tuple[Callable[..., Any], str]:
    """Return the function behind a box of this package, and a text in the lines that are the box's own."""
    box, kind = scene.box, scene.box.kind
    path = box.paths[0].format(scene.layer) if box.paths else ""
    if kind == "tokens":
        return (type(stack).embed, "unfold") if box.title == "patches" else (type(scene.model).tokenize, "encode")
    if kind == "positions":
        trained = getattr(stack, "target_position", None) if box.column else None
        position = position_for(stack, scene.picture.settings.position, trained)
        place = next((name for name in _PLACES if name in position.mechanisms), "add")
        return getattr(type(position), place), "return"
    if kind == "embedding" or box.name.endswith("embedding norm"):
        return type(stack).embed, "norm" if kind == "norm" else "self.words("
    if kind in ("attention", "cross-attention"):
        return type(stack.get_submodule(path)).attend, "weights"  # type: ignore[attr-defined, return-value]
    if kind == "add":
        return AttentionBlock.forward, "x + ff_out" if "mlp" in box.name else "+ attended"
    if kind == "mlp":
        gated = next((part for part in stack.get_submodule(path).modules() if isinstance(part, SwiGLU)), None)
        return (SwiGLU.forward, "return") if gated else (AttentionBlock.forward, "feed_forward(x)")
    if kind == "norm" and box.place == "layer":
        return type(stack.get_submodule(path)).forward, "return"
    if kind == "pooling" and "length 1" in box.note:
        return sentence_vector, "return"
    if kind == "probabilities" and scene.picture.run.logits is not None:
        return next_token.next_probabilities, "softmax"
    to_logits: Any = getattr(type(stack), "to_logits", type(stack).next_token)
    needles = {"pooling": "pooled" if "mean" in box.note else "[:, 0]", "norm": "norm(", "head": "return"}
    return to_logits, needles.get(kind, "logits")


def _excerpt(function: Callable[..., Any], needle: str = "") -> list[Block]:
    """Return the lines of a function without its docstring, those with the needle marked."""
    origin, lines = _source(inspect.unwrap(function))
    if not lines:
        return [sheet.text("Its source is not on this machine.")]
    marks = [index for index, line in enumerate(lines) if needle and needle in line]
    return [sheet.text(f"This code ran: {origin}.", muted=True), sheet.code(lines, marks)]


@lru_cache(maxsize=512)
def _source(function: Callable[..., Any]) -> tuple[str, tuple[str, ...]]:
    """Return file and name of a function, and its lines without the docstring; no lines without a source."""
    try:
        source, start = inspect.getsourcelines(function)
        file = Path(inspect.getsourcefile(function) or "")
    except (OSError, TypeError):
        return "", ()
    lines = textwrap.dedent("".join(source)).rstrip().splitlines()
    node = ast.parse("\n".join(lines)).body[0]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
        doc = node.body[0]
        del lines[doc.lineno - 1 : doc.end_lineno]
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"# … {len(lines) - MAX_LINES} more lines"]
    place = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else "/".join(file.parts[-2:])
    return f"{place}, from line {start}, {function.__qualname__}", tuple(lines)


def module_class(module: nn.Module) -> str:
    """Return the name of a module's class."""
    return type(module).__name__
