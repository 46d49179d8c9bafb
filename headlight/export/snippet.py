"""A picture as Python: the few lines that compute exactly its numbers again with mha_core, without the app.

A visitor's text comes in as a string literal alone, never in a comment; `repr` escapes what is not printed, as line
breaks and the characters that turn the direction of writing round.

As a Jupyter notebook it is plain JSON (nbformat 4.5), a dozen lines of it; the library of that name is for those who
read notebooks of others, and brings seven packages along.
"""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from headlight.link.place import Cursor
from headlight.picture import pictures
from headlight.picture.next_token import LIKELIEST
from headlight.picture.settings import Settings
from headlight.queue.slots import threads_for
from headlight.registry import models, source_of
from headlight.registry.recordings import RecordedModel
from mha_core import Model

MAY_LOOK, MAY_NOT = "#", "."
TITLE = """\
# An attention map, computed again

These lines compute the numbers of one picture of Headlight with its core, `mha_core`. Run the cells from top to bottom\
 where it can be imported: with the `.venv` of Headlight's folder, or installed as docs/install.md describes."""
_USUAL = {name: parameter.default for name, parameter in inspect.signature(Model.run).parameters.items()}


@dataclass(frozen=True)
class CodeCell:
    """A piece of code that stands by itself, and the sentence that says what it does."""

    said: str
    code: str


def snippet(sides: Mapping[str, Settings], at: Cursor) -> str:
    """The code of `cells` as one text.

    Raises:
        HeadlightError: the model is gone.
    """
    return "\n\n".join(cell.code for cell in cells(sides, at)) + "\n"


def notebook(sides: Mapping[str, Settings], at: Cursor) -> bytes:
    """The same as the file of a notebook that runs from top to bottom, each piece of code below what it does.

    At its end stands every map of each side. `sides`, `at` and what is raised: as of `cells`.
    """
    first = next(iter(sides))
    told = [_cell("markdown", TITLE)]
    for piece in [*cells(sides, at), *(_maps(name, first) for name in sides)]:
        told += [_cell("markdown", piece.said), _cell("code", piece.code)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(told)],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, ensure_ascii=True, indent=1).encode()


def cells(sides: Mapping[str, Settings], at: Cursor) -> list[CodeCell]:
    """Loading, the run of each side, the map in focus, of a decoder what may come next; each needs those before it.

    Args:
        sides: name of the variable → what the picture was asked with; all of one model on one device.
        at: the place in focus; without a row the one that a page chooses.

    Raises:
        HeadlightError: the model is gone.
    """
    first = next(iter(sides.values()))
    model = pictures.model_of(first)
    runs = [_run(name, settings, model) for name, settings in sides.items()]
    others = model.looks_at_others if isinstance(model, RecordedModel) else model.group == "cross"
    place = at.on(model.tokenize(first.text)[0], goes_on=source_of(first.model).is_generative)
    look = _look(list(sides), place, "columns" if others else "tokens")
    following = [_following(name) for name in sides] if model.own_mask == "causal" else []
    return [_load(first, model), *runs, look, *following]


def _load(settings: Settings, model: Model) -> CodeCell:
    """The model, by the name or the folder that it has outside of the app; the path of one is told to nobody.

    Of a recording it is the file, which is where its owner keeps it.
    """
    if isinstance(model, RecordedModel):
        code = 'from mha_core.pretrained.recording_file import read\n\nrecording = read("recording.safetensors")'
        return CodeCell(f"The recording “{model.recording.title}”: give the path of its file.", code)
    source, history = source_of(settings.model), model.history
    name, said = source.in_code
    behind = f".of({_literal(source.group)})" if source.group else ""
    # the pages write a layer of ours in the one form that can do everything; the weights stay the same
    if history and history.recipe.implementation != model.sizes.implementation:
        behind = f".as_implementation({_literal(model.sizes.implementation)}){behind}"
    options = {"revision": model.facts.get("revision"), "device": settings.device}.items()
    more = [f", {key}={_literal(value)}" for key, value in options if value not in (None, "auto")]
    loaded = f"model = load_model({_literal(name)}{''.join(more)}){behind}"
    return CodeCell(said, f"import torch\n\nfrom mha_core import load_model\n\n{loaded}")


def _run(name: str, settings: Settings, model: Model) -> CodeCell:
    """The pass: the sentence, and every switch that is not as usual."""
    if isinstance(model, RecordedModel):
        said = f"The maps of one step, kept as `{name}`: `{name}.weights` (layers, heads, queries, keys)."
        return CodeCell(said, f"{name} = recording.run({model.group}, {model.step_of(settings.text)})")
    switches = settings.switches(model).items()
    chosen = {key: value for key, value in switches if isinstance(value, Tensor) or value != _USUAL[key]}
    drawn = [_drawn(f"{name}_{key}", value) for key, value in chosen.items() if isinstance(value, Tensor)]
    written = [
        f"{key}={f'{name}_{key}' if isinstance(value, Tensor) else _literal(value)}" for key, value in chosen.items()
    ]
    file = {"picture": "picture.png", "sound": "sound.wav"}.get(model.reads)
    given = [model.reads if file else _literal(settings.text), *written]
    whole = f"{name} = model.run({', '.join(given)})"
    if len(whole) > 100:
        whole = "\n".join([f"{name} = model.run(", *(f"    {one}," for one in given), ")"])
    # numbers of another count of threads differ in their last digit
    threads = threads_for(pictures.pass_length(model, settings.text), models.heads(model))
    set_up = f"torch.set_num_threads({threads})  # as on the page"
    if file:
        set_up = f'from pathlib import Path\n\n{model.reads} = Path("{file}")  # give the path of its file\n{set_up}'
    said = f"One pass, kept as `{name}`: the maps are `{name}.weights` (layers, heads, queries, keys)."
    return CodeCell(said, "\n".join([set_up, *drawn, whole]))


def _look(names: Sequence[str], at: Cursor, keys: str) -> CodeCell:
    """The map in focus, of two sides also their difference, and one row of it in print; `keys`: what it looks at."""
    lines = [
        f"layer, head, query = {at.layer}, {at.head}, {at.row}  # counted from 0",
        *(f"{_map(name, names)} = {name}.weights[layer, head]  # (queries, keys)" for name in names),
    ]
    for name in names:  # of two sentences the second may lack the row
        row = "query" if name == names[0] else f"min(query, len({name}.tokens) - 1)"
        lines.append(f"for token, weight in zip({name}.{keys}, {_map(name, names)}[{row}]):")
        lines.append('    print(f"{weight:.4f}  {token}")')
    if len(names) > 1:
        one, other = (_map(name, names) for name in names)
        lines += [
            f"if {one}.shape == {other}.shape:",
            f'    print(f"largest difference of the two maps: {{({other} - {one}).abs().max():.4f}}")',
        ]
    return CodeCell("The map in focus; the printed row says how much of each token the query takes.", "\n".join(lines))


def _map(name: str, names: Sequence[str]) -> str:
    return "weights" if len(names) == 1 else f"{name}_weights"


def _following(name: str) -> CodeCell:
    """The likeliest tokens behind the text, of a model that says them."""
    lines = [
        f"chances, ids = {name}.logits[-1].softmax(dim=-1).topk({LIKELIEST})",
        "for chance, token in zip(chances, ids.tolist()):",
        '    print(f"{chance:.4f}  {model.tokenizer.decode([token])!r}")',
    ]
    return CodeCell(f"What `{name}` goes on with: the likeliest tokens and their probabilities.", "\n".join(lines))


def _drawn(name: str, mask: Tensor) -> str:
    """A mask, bool (i, j) or (h, i, j), as a drawing that is read back into a tensor."""
    heads = mask if mask.dim() == 3 else mask[None]
    rows = ["\n".join("".join(MAY_LOOK if may else MAY_NOT for may in row) for row in head) for head in heads.tolist()]
    said = f"# a row is a query, a column a key, {MAY_LOOK} may look" + ("; a block is a head" if len(rows) > 1 else "")
    read = f'[[mark == "{MAY_LOOK}" for mark in row] for row in {{}}.split()]'
    drawing = "\n\n".join(rows)
    tensor = (
        read.format("drawing") if len(rows) == 1 else f'[{read.format("head")} for head in drawing.split("\\n\\n")]'
    )
    return f'{said}\ndrawing = """\\\n{drawing}"""\n{name} = torch.tensor({tensor})\n'


def _literal(value: Any) -> str:
    """A value as Python writes it: a text, in double quotes where it has none, a number, or a list of pairs."""
    written = repr(list(value) if isinstance(value, tuple) else value)
    plain = isinstance(value, str) and not {"'", '"'} & set(value)
    return f'"{written[1:-1]}"' if plain else written


def _maps(name: str, first: str) -> CodeCell:
    """Every head of one side; of two sentences the second may lack the row in focus."""
    row = "query" if name == first else f"min(query, len({name}.tokens) - 1)"
    said = f"Every head of `{name}`, to point at and to choose from; `.save(path)` behind it makes a file."
    return CodeCell(said, f"{name}.show(layer=layer, head=head, row={row})")


def _cell(kind: str, text: str) -> dict[str, Any]:
    own: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True), **own}
