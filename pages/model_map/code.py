"""The code of each box: the source of the function that ran."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from torch import nn

from headlight.picture import next_token
from headlight.picture.step_source import ROOT
from headlight.ui import sheet
from headlight.ui.sheet import Block
from mha_core.measure.box_states import modules
from mha_core.models.block import AttentionBlock
from mha_core.models.inputs import position_for
from mha_core.models.run import sentence_vector

from .scene import Scene

MAX_LINES = 60


def blocks(scene: Scene) -> list[Block]:
    """Return the source of the function that computed the box in focus, with the lines of the box marked."""
    box, boxes = scene.box, scene.plan.boxes
    function, mark = _function(scene) if scene.model.encoder is not None else (None, "")
    layer_paths = [path for part in boxes if part.place == box.place == "layer" for path in part.paths]
    paths = [path.format(scene.layer) for path in box.paths or layer_paths]
    if function is None and paths:
        function = getattr(type(modules(scene.model)[_common(paths)]), "forward")  # noqa: B009 - not that of an instance
    place, lines = _source(inspect.unwrap(function)) if function else ("", ())
    if not lines or function is nn.Module.forward:
        return [sheet.text("This box is no module of its own: the model computes it on the way.")]
    marks = [index for index, line in enumerate(lines) if mark and mark in line]
    return [sheet.text(f"This code ran: {place}.", muted=True), sheet.code(lines, marks)]


def _function(scene: Scene) -> tuple[Callable[..., Any] | None, str]:
    """Return the function of a box, None for its module's, and a text in the lines of the box."""
    stack, box, model = scene.model.stack, scene.box, scene.model
    trained = getattr(stack, "target_position", None) if box.column else None
    position = type(position_for(stack, scene.picture.settings.position, trained))
    to_logits = getattr(type(stack), "to_logits", type(stack).next_token)
    in_block = {"attention add": "+ attended", "cross-attention add": "+ attended", "mlp add": "x + ff_out"}
    match box.kind:
        case "tokens":
            return type(model).tokenize, "encode"
        case "embedding":
            return type(stack).embed, "self.words("
        case "positions":
            place = next((name for name in ("add", "rotate", "bias") if name in position.mechanisms), "add")
            return getattr(position, place), "return"
        case "attention" | "cross-attention":
            return type(stack.get_submodule(box.paths[0].format(scene.layer))).attend, ""  # type: ignore[attr-defined]
        case "add":
            return AttentionBlock.forward, in_block[box.name.removeprefix("decoder ")]
        case "mlp" if len(box.paths) > 1:
            return AttentionBlock.forward, "feed_forward(x)"
        case "pooling" if "length 1" in box.note:
            return sentence_vector, "return"
        case "probabilities" if scene.picture.run.logits is not None:
            return next_token.next_probabilities, "softmax"
        case "head" | "pooling" | "probabilities":
            return to_logits, "pooled" if box.kind == "pooling" else "return"
    return None, ""


def _common(paths: Sequence[str]) -> str:
    """Return the path of the innermost module that contains all of these."""
    columns = zip(*(path.split(".") for path in paths), strict=False)
    return ".".join(names[0] for names in takewhile(lambda names: len(set(names)) == 1, columns))


@lru_cache(maxsize=512)
def _source(function: Callable[..., Any]) -> tuple[str, tuple[str, ...]]:
    """Return file and name of a function, and its lines without the docstring; no lines without a source."""
    try:
        source, start = inspect.getsourcelines(function)
        file = Path((inspect.getsourcefile(function) or "").rpartition("site-packages/")[2])
    except (OSError, TypeError):
        return "", ()
    lines = textwrap.dedent("".join(source)).rstrip().splitlines()
    node = ast.parse("\n".join(lines)).body[0]
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
        del lines[node.body[0].lineno - 1 : node.body[0].end_lineno]
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"# … {len(lines) - MAX_LINES} more lines"]
    place = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
    return f"{place.as_posix()}, from line {start}, {function.__qualname__}", tuple(lines)
