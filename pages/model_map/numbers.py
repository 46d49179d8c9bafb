"""The numbers of each box in this run: the vector of the token in focus before and after, weights, next tokens."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from headlight.registry import models
from headlight.ui import sheet
from headlight.ui.numbers import number
from headlight.ui.sheet import Block
from mha_core.measure import measures
from mha_core.models.inputs import position_for
from mha_core.token_text import isolate, quote

from . import stories
from .scene import Scene

SHOWN = 6  # values of a vector
MAX_TOKENS = 16  # rows of a list
PAIRS = 4  # of channels that a rotation turns


def blocks(scene: Scene) -> list[Block]:
    """Return the numbers of the box in focus."""
    special = _SPECIAL.get(scene.box.kind)
    found = special(scene) if special else []
    return found or _before_and_after(scene)


def _before_and_after(scene: Scene) -> list[Block]:
    """Return the vector of the token in focus before the box and behind it."""
    state = scene.state
    if state is None:
        return [sheet.text(stories.missing(scene))]
    rows = [("before", scene.at_row(state.entering)), ("after", scene.at_row(state.leaving))]
    rows = [(name, vector) for name, vector in rows if vector.is_floating_point() and vector.dim() == 1]
    return [_vectors(scene, rows)]


def _vectors(scene: Scene, rows: Sequence[tuple[str, Tensor]], note: str = "") -> Block:
    """Return the first values of some vectors, and their lengths."""
    head = ["", *map(str, range(SHOWN)), "…", "length"]
    lines = [
        [name, *(number(float(x), 3) for x in vector[:SHOWN]), *[""] * max(0, SHOWN - len(vector)), "",
         number(float(torch.linalg.vector_norm(vector.float())), 3)]
        for name, vector in rows
    ]  # fmt: skip
    widths = " and ".join(dict.fromkeys(f"{len(vector):,}" for _, vector in rows))
    caption = f"{quote(scene.token)}, row {scene.row}: the first values of {widths}, counted from 0. {note}"
    return sheet.table(head, lines, caption.strip())


def _tokens(scene: Scene) -> list[Block]:
    run = scene.picture.run
    if not scene.runs_here:
        return []
    first = max(0, min(scene.row - MAX_TOKENS // 2, len(run.tokens) - MAX_TOKENS))
    places = range(first, min(first + MAX_TOKENS, len(run.tokens)))
    lines = [[str(place), isolate(run.tokens[place]), f"{run.ids[place]:,}"] for place in places]
    cut = f" Rows {first} to {places[-1]} of {len(run.tokens)}." if len(places) < len(run.tokens) else ""
    caption = f"The tokens with their numbers in the vocabulary; the row in focus is marked.{cut}"
    return [sheet.table(["row", "token", "number"], lines, caption, {(scene.row - first, -1): "focus"})]


def _positions(scene: Scene) -> list[Block]:
    stack = scene.model.encoder
    if stack is None or not scene.runs_here:
        return []
    trained = getattr(stack, "target_position", None) if scene.box.column else None
    position, row = position_for(stack, scene.picture.settings.position, trained), scene.row
    if scene.box.lane == 0:
        added = position.add(torch.zeros(1, row + 1, stack.sizes.d_model, device=stack.device))[0, row].cpu()
        return [_vectors(scene, [("added", added)])]
    d_head = stack.sizes.d_model // stack.sizes.n_heads
    if "rotate" in position.mechanisms:
        unit = torch.zeros(1, 1, row + 1, d_head, device=stack.device)
        unit[..., : d_head // 2] = 1
        turned = position.rotate(unit, unit)[0][0, 0, row].cpu()
        angles = torch.rad2deg(torch.atan2(turned[d_head // 2 :], turned[: d_head // 2]))
        lines = [[f"{m} and {m + d_head // 2}", f"{number(float(angle), 1)}°"] for m, angle in enumerate(angles[:PAIRS])]
        caption = f"{quote(scene.token)}, row {row}: the angle by which each pair of channels is turned, up to whole turns."
        return [sheet.table(["pair of channels", "angle"], lines, caption)]
    if "bias" in position.mechanisms:
        q = torch.zeros(1, stack.sizes.n_heads, row + 1, d_head, device=stack.device)
        bias = position.bias(q, scene.lengths[scene.box.column])
        if bias is not None:
            values = bias.expand(1, stack.sizes.n_heads, -1, -1)[0, scene.cursor.head, row].cpu()
            return [_weights(scene, values, f"Added to the scores of head {scene.cursor.head}")]
    return [sheet.text("With these settings the model has no positions.")]


def _attention(scene: Scene) -> list[Block]:
    run, is_cross = scene.picture.run, scene.box.kind == "cross-attention"
    if not scene.runs_here or (len(scene.model.groups) > 1 and is_cross != (scene.model.group == "cross")):
        return []
    weights = run.weights[scene.layer, scene.cursor.head, scene.row]
    name = f"{quote(scene.token)} attends to, head {scene.cursor.head} of layer {scene.layer}"
    return [_weights(scene, weights, name), *_before_and_after(scene)]


def _weights(scene: Scene, values: Tensor, name: str) -> Block:
    """Return the largest values of a row over the keys as bars."""
    keys = scene.picture.run.key_tokens or scene.picture.run.tokens
    order = values.abs().argsort(descending=True, stable=True)[:MAX_TOKENS // 2].tolist()
    labels = [f"{place} {isolate(keys[place])}" for place in sorted(order)]
    note = f"the {len(order)} largest of {len(values)}" if len(order) < len(values) else ""
    return sheet.bars(name, labels, [float(values[place]) for place in sorted(order)], note, scale=None)


def _add(scene: Scene) -> list[Block]:
    state = scene.state
    if state is None:
        return []
    stream, total = scene.at_row(state.entering), scene.at_row(state.leaving)
    added, part = total - stream, scene.source_kind()
    cosine = measures.cosine(total, stream)
    ratio = float(torch.linalg.vector_norm(added) / torch.linalg.vector_norm(stream).clamp(min=1e-30))
    text = (
        f"What {part} adds is {number(ratio, 2)} times as long as the stream was. The sum still points almost the same "
        if cosine > 0.9
        else f"What {part} adds is {number(ratio, 2)} times as long as the stream was, and it turns the sum the more "
    )
    end = "way" if cosine > 0.9 else "aside"
    rows = [("stream", stream), ("+ added", added), ("= sum", total)]
    return [_vectors(scene, rows), sheet.text(f"{text}{end}: its cosine to the stream is {number(cosine, 3)}.")]


def _pooling(scene: Scene) -> list[Block]:
    if scene.model.encoder is None or "mean over the tokens, length 1" not in scene.box.note:
        return []
    return [_vectors(scene, [("sentence", scene.picture.run.sentence)], "This vector is of the whole sentence.")]


def _head(scene: Scene) -> list[Block]:
    logits = scene.picture.run.logits
    if logits is None or not scene.runs_here:
        return _probabilities(scene)
    best = torch.topk(logits[-1].float(), min(6, logits.shape[-1]))
    names = [_label(scene, index) for index in best.indices.tolist()]
    note = f"the largest of {logits.shape[-1]:,} scores, before the softmax"
    return [sheet.bars("Logits", names, best.values.tolist(), note, decimals=3)]


def _probabilities(scene: Scene) -> list[Block]:
    run = scene.picture.run
    if not scene.runs_here:
        return []
    if run.logits is not None:
        chances = run.logits[-1].double().softmax(-1)
        best = torch.topk(chances, min(6, len(chances)))
        names = [_label(scene, index) for index in best.indices.tolist()]
        rest = max(0.0, 1 - math.fsum(best.values.tolist()))
        note = f"all others together: {number(rest, 4)}" if len(chances) > len(names) else ""
        return [sheet.bars("Probabilities", names, best.values.tolist(), note, scale=1.0)]
    answers = models.answer(scene.model, run)
    return [sheet.table(["class", "probability"], [line.rsplit(" ", 1) for line in answers])] if answers else []


def _label(scene: Scene, index: int) -> str:
    classes = getattr(scene.model, "classes", [])
    if scene.model.reads == "picture" and index < len(classes):
        return str(classes[index])
    return scene.model.tokenizer.id_to_token(index) or str(index)


_SPECIAL = {
    "tokens": _tokens, "positions": _positions, "attention": _attention, "cross-attention": _attention, "add": _add,
    "pooling": _pooling, "head": _head, "probabilities": _probabilities,
}  # fmt: skip
