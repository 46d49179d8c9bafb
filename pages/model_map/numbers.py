"""The numbers of each box in this run: vectors, weights, next tokens."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from headlight.ui import sheet
from headlight.ui.numbers import number
from headlight.ui.sheet import Block
from mha_core.measure import measures
from mha_core.models.inputs import position_for
from mha_core.token_text import isolate, quote

from .scene import Scene
from .texts import Facts

N_VALUES = 6  # of a vector, and of the outputs
MAX_TOKENS = 16  # rows of a list
MAX_KEYS = 8  # bars of a row of weights
MISSING = {
    False: "This run is of the {}. Choose another attention above to see the numbers of this box.",
    True: "The model computes this box on the way, or not in this pass; see the numbers of its neighbours.",
}


def blocks(scene: Scene) -> list[Block]:
    """Return the numbers of the box in focus."""
    special = _SPECIAL.get(scene.box.kind) if scene.runs_here else None
    return (special(scene) if special else []) or _before_and_after(scene)


def _before_and_after(scene: Scene) -> list[Block]:
    """Return the vector of the token in focus as the input of the box and as its output."""
    state = scene.state
    if state is None:
        return [sheet.text(MISSING[scene.runs_here].format(scene.model.group))]
    vectors = [("input", scene.at_row(state.entering)), ("output", scene.at_row(state.leaving))]
    rows = [(name, vector) for name, vector in vectors if vector is not None]
    shapes = (" × ".join(f"{size:,}" for size in x.shape) for x in state)
    text = "It reads {} numbers and returns {}, not yet one vector for each token."
    return [_vectors(scene, rows)] if rows else [sheet.text(text.format(*shapes))]


def _vectors(scene: Scene, rows: Sequence[tuple[str, Tensor]]) -> Block:
    """Return the first values of some vectors, and their lengths."""
    head = ["", *map(str, range(N_VALUES)), "…", "length"]
    lines = [
        [name, *(number(float(x), 3) for x in vector[:N_VALUES]), *[""] * max(0, N_VALUES - len(vector)), "",
         number(float(torch.linalg.vector_norm(vector.float())), 3)]
        for name, vector in rows
    ]  # fmt: skip
    widths = " and ".join(dict.fromkeys(f"{len(vector):,}" for _, vector in rows))
    return sheet.table(head, lines, f"{quote(scene.token)}, row {scene.row}: the first values of {widths}.")


def _tokens(scene: Scene) -> list[Block]:
    run = scene.picture.run
    first = max(0, min(scene.row - MAX_TOKENS // 2, len(run.tokens) - MAX_TOKENS))
    places = range(first, min(first + MAX_TOKENS, len(run.tokens)))
    lines = [[str(place), isolate(run.tokens[place]), f"{run.ids[place]:,}"] for place in places]
    cut = f" Rows {first} to {places[-1]} of {len(run.tokens)}." if len(places) < len(run.tokens) else ""
    caption = f"The tokens and their numbers; the row in focus is marked.{cut}"
    return [sheet.table(["row", "token", "number"], lines, caption, {(scene.row - first, -1): "focus"})]


def _positions(scene: Scene) -> list[Block]:
    stack = scene.model.encoder
    if stack is None or scene.box.lane:
        return []
    trained = getattr(stack, "target_position", None) if scene.box.column else None
    position = position_for(stack, scene.picture.settings.position, trained)
    zeros = torch.zeros(1, scene.row + 1, stack.sizes.d_model, device=stack.device)
    return [_vectors(scene, [("added", position.add(zeros)[0, scene.row].cpu())])]


def _attention(scene: Scene) -> list[Block]:
    run = scene.picture.run
    if len(scene.model.groups) > 1 and (scene.box.kind == "cross-attention") != (scene.model.group == "cross"):
        return []
    weights = run.weights[scene.layer, scene.cursor.head, scene.row]
    name = f"{quote(scene.token)} attends to, head {scene.cursor.head} of layer {scene.layer}"
    places = sorted(weights.argsort(descending=True, stable=True)[:MAX_KEYS].tolist())
    labels = [f"{place} {isolate((run.key_tokens or run.tokens)[place])}" for place in places]
    note = f"the {len(places)} largest of {len(weights)}" if len(places) < len(weights) else ""
    return [sheet.bars(name, labels, [float(weights[place]) for place in places], note), *_before_and_after(scene)]


def _add(scene: Scene) -> list[Block]:
    stream, total = (None, None) if scene.state is None else map(scene.at_row, scene.state)
    if stream is None or total is None:
        return []
    added = total - stream
    ratio = float(torch.linalg.vector_norm(added) / torch.linalg.vector_norm(stream).clamp(min=1e-30))
    text = (
        f"What {Facts(scene).part} adds is {number(ratio, 2)} times as long as the stream was. The cosine of the sum "
        f"to the stream before is {number(measures.cosine(total, stream), 3)}; 1 would be the same direction."
    )
    return [_vectors(scene, [("stream", stream), ("+ added", added), ("= sum", total)]), sheet.text(text)]


def _outputs(scene: Scene) -> list[Block]:
    """Return the largest logits, or probabilities, of the last token."""
    logits = scene.picture.run.logits
    if logits is None:
        return []
    is_head, scores = scene.box.kind == "head", logits[-1].double()
    best = torch.topk(scores if is_head else scores.softmax(-1), min(N_VALUES, len(scores)))
    classes = getattr(scene.model, "classes", []) if scene.model.reads == "picture" else []
    names = [classes[n] if classes else scene.model.tokenizer.id_to_token(n) or str(n) for n in best.indices.tolist()]
    rest = number(max(0.0, 1 - math.fsum(best.values.tolist())), 4)
    note = f"the largest of {len(scores):,} scores" if is_head else f"all others together: {rest}"
    return [
        sheet.bars(
            f"{'Logits' if is_head else 'Probabilities'} after the last token", names, best.values.tolist(), note
        )
    ]


_SPECIAL = {
    "tokens": _tokens, "positions": _positions, "attention": _attention, "cross-attention": _attention, "add": _add,
    "head": _outputs, "probabilities": _outputs,
}  # fmt: skip
