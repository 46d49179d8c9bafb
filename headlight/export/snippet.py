"""A picture as Python code: the lines that recompute exactly its numbers with mha_core, without the app.

A user's text appears only as a string literal, never in a comment; `repr` escapes line breaks and the characters that
change the direction of writing.

The Jupyter notebook is written as JSON (nbformat 4.5) by hand: the package nbformat would bring seven others along.
"""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from headlight.link.cursor import Cursor
from headlight.picture import pictures
from headlight.picture.next_token import LIKELIEST
from headlight.picture.settings import Settings
from headlight.queue.slots import threads_for
from headlight.registry import get_source, models
from headlight.registry.recordings import RecordedModel
from mha_core import Model

ALLOWED, BLOCKED = "#", "."
TITLE = """\
# Recompute an attention map

These lines compute the numbers of one picture of Headlight with its core, `mha_core`. Run the cells from top to bottom\
 where it can be imported: with the `.venv` of Headlight's folder, or installed as docs/install.md describes."""
Options = Mapping[str, Any]
NO_OPTIONS: Options = {}
_USUAL = {name: parameter.default for name, parameter in inspect.signature(Model.run).parameters.items()}


@dataclass(frozen=True)
class CodeCell:
    """A code cell and the sentence that explains it."""

    text: str
    code: str


def snippet(sides: Mapping[str, Settings], cursor: Cursor, sampling: Options = NO_OPTIONS) -> str:
    """Return the code of `cells` as one text."""
    return "\n\n".join(cell.code for cell in cells(sides, cursor, sampling)) + "\n"


def notebook(sides: Mapping[str, Settings], cursor: Cursor, sampling: Options = NO_OPTIONS) -> bytes:
    """Return the code of `cells` as a Jupyter notebook, followed by all maps of each side."""
    first = next(iter(sides))
    entries = [_cell("markdown", TITLE)]
    for piece in [*cells(sides, cursor, sampling), *(_maps(name, first) for name in sides)]:
        entries += [_cell("markdown", piece.text), _cell("code", piece.code)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(entries)],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, ensure_ascii=True, indent=1).encode()


def cells(sides: Mapping[str, Settings], cursor: Cursor, sampling: Options = NO_OPTIONS) -> list[CodeCell]:
    """Return cells that load the model, run each side and print the map in focus and the next tokens.

    Args:
        sides: name of the variable → settings of the picture; all of one model on one device.
        cursor: map and row in focus; without a row, the default of the pages.
        sampling: the keywords of `choose` that differ from its defaults; with any, the chosen token is printed too.

    Raises:
        HeadlightError: the model was deleted.
    """
    first = next(iter(sides.values()))
    model = pictures.model_for(first)
    runs = [_run(name, settings, model) for name, settings in sides.items()]
    others = model.has_other_keys if isinstance(model, RecordedModel) else model.group == "cross"
    cursor_on = cursor.resolve(model.tokenize(first.text)[0], is_generative=get_source(first.model).is_generative)
    look = _focus(list(sides), cursor_on, "key_tokens" if others else "tokens")
    following = [_next_tokens(name) for name in sides] if model.own_mask == "causal" else []
    following += [_choice(name, sampling) for name in sides] if following and sampling else []
    return [_load(first, model), *runs, look, *following]


def _load(settings: Settings, model: Model) -> CodeCell:
    """Load the model by its name or folder outside of the app, a recording from its file.

    Paths of the server are left out: they are private.
    """
    if isinstance(model, RecordedModel):
        code = 'from mha_core.pretrained.recording_file import read\n\nrecording = read("recording.safetensors")'
        return CodeCell(f"The recording “{model.recording.title}”; adapt the path of its file.", code)
    source, history = get_source(settings.model), model.history
    name, sentence = source.in_code
    behind = f".for_group({_literal(source.group)})" if source.group else ""
    # the pages run our layers in the one implementation that can do everything, with the same weights
    if history and history.recipe.implementation != model.sizes.implementation:
        behind = f".as_implementation({_literal(model.sizes.implementation)}){behind}"
    options = {"revision": model.facts.get("revision"), "device": settings.device}.items()
    more = [f", {key}={_literal(value)}" for key, value in options if value not in (None, "auto")]
    loaded = f"model = load_model({_literal(name)}{''.join(more)}){behind}"
    return CodeCell(sentence, f"import torch\n\nfrom mha_core import load_model\n\n{loaded}")


def _run(name: str, settings: Settings, model: Model) -> CodeCell:
    """Run the model on the sentence, with every switch that differs from its default."""
    if isinstance(model, RecordedModel):
        sentence = f"The maps of one step, kept as `{name}`: `{name}.weights` (layers, heads, queries, keys)."
        return CodeCell(sentence, f"{name} = recording.run({model.group}, {model.step_number(settings.text)})")
    switches = settings.switches(model).items()
    changed = {key: value for key, value in switches if isinstance(value, Tensor) or value != _USUAL[key]}
    masks = [_mask_code(f"{name}_{key}", value) for key, value in changed.items() if isinstance(value, Tensor)]
    keywords = [
        f"{key}={f'{name}_{key}' if isinstance(value, Tensor) else _literal(value)}" for key, value in changed.items()
    ]
    file = {"picture": "picture.png", "sound": "sound.wav"}.get(model.reads)
    arguments = [model.reads if file else _literal(settings.text), *keywords]
    call = f"{name} = model.run({', '.join(arguments)})"
    if len(call) > 100:
        call = "\n".join([f"{name} = model.run(", *(f"    {argument}," for argument in arguments), ")"])
    # numbers of another count of threads differ in their last digit
    threads = threads_for(pictures.pass_length(model, settings.text), models.count_heads(model))
    set_up = f"torch.set_num_threads({threads})  # as on the page"
    if file:
        set_up = f'from pathlib import Path\n\n{model.reads} = Path("{file}")  # adapt the path of its file\n{set_up}'
    sentence = f"One pass, kept as `{name}`: the maps are `{name}.weights` (layers, heads, queries, keys)."
    return CodeCell(sentence, "\n".join([set_up, *masks, call]))


def _focus(names: Sequence[str], cursor: Cursor, keys: str) -> CodeCell:
    """Print a row of the map in focus; of two sides, the difference too. `keys` names the run's key tokens."""
    lines = [
        f"layer, head, query = {cursor.layer}, {cursor.head}, {cursor.row}  # counted from 0",
        *(f"{_map(name, names)} = {name}.weights[layer, head]  # (queries, keys)" for name in names),
    ]
    for name in names:  # of two sentences the second may lack the row
        row = "query" if name == names[0] else f"min(query, len({name}.tokens) - 1)"
        lines.append(f"for token, weight in zip({name}.{keys}, {_map(name, names)}[{row}]):")
        lines.append('    print(f"{weight:.4f}  {token}")')
    if len(names) > 1:
        left, right = (_map(name, names) for name in names)
        lines += [
            f"if {left}.shape == {right}.shape:",
            f'    print(f"largest difference of the two maps: {{({right} - {left}).abs().max():.4f}}")',
        ]
    return CodeCell("The map in focus; the printed row lists the weight of each key for the query.", "\n".join(lines))


def _map(name: str, names: Sequence[str]) -> str:
    return "weights" if len(names) == 1 else f"{name}_weights"


def _next_tokens(name: str) -> CodeCell:
    """Print the most probable next tokens."""
    lines = [
        f"chances, ids = {name}.logits[-1].softmax(dim=-1).topk({LIKELIEST})",
        "for chance, token in zip(chances, ids.tolist()):",
        '    print(f"{chance:.4f}  {model.tokenizer.decode([token])!r}")',
    ]
    return CodeCell(f"The most probable next tokens of `{name}`, with their probabilities.", "\n".join(lines))


def _choice(name: str, sampling: Options) -> CodeCell:
    """Choose the next token; the draw depends on the length of the text, so that each step has its own."""
    options = [f"{key}={value!r}" for key, value in sampling.items()]
    arguments = [f"{name}.logits[-1]", *options, f"place=len({name}.ids)", "suppressed_ids=model.suppressed_ids"]
    lines = [
        "from mha_core.models.sampling import choose",
        "",
        f"token = choose({', '.join(arguments)})",
        "print(repr(model.tokenizer.decode([token])))",
    ]
    return CodeCell(f"The next token of `{name}` with these options of sampling.", "\n".join(lines))


def _mask_code(name: str, mask: Tensor) -> str:
    """Return code that draws a mask, bool (i, j) or (h, i, j), and reads the drawing into a tensor."""
    heads = mask if mask.dim() == 3 else mask[None]
    rows = ["\n".join("".join(ALLOWED if may else BLOCKED for may in row) for row in head) for head in heads.tolist()]
    comment = f"# row: query, column: key, {ALLOWED}: may look" + ("; a block is a head" if len(rows) > 1 else "")
    read = f'[[mark == "{ALLOWED}" for mark in row] for row in {{}}.split()]'
    drawing = "\n\n".join(rows)
    tensor = (
        read.format("drawing") if len(rows) == 1 else f'[{read.format("head")} for head in drawing.split("\\n\\n")]'
    )
    return f'{comment}\ndrawing = """\\\n{drawing}"""\n{name} = torch.tensor({tensor})\n'


def _literal(value: Any) -> str:
    """Return the Python literal of a text, a number or pairs; texts without quotes in double ones."""
    text = repr(list(value) if isinstance(value, tuple) else value)
    plain = isinstance(value, str) and not {"'", '"'} & set(value)
    return f'"{text[1:-1]}"' if plain else text


def _maps(name: str, first: str) -> CodeCell:
    """Show every head of one side; the second of two sentences may lack the row in focus."""
    row = "query" if name == first else f"min(query, len({name}.tokens) - 1)"
    sentence = f"All heads of `{name}` as an interactive view; add `.save(path)` to write it to a file."
    return CodeCell(sentence, f"{name}.show(layer=layer, head=head, row={row})")


def _cell(kind: str, text: str) -> dict[str, Any]:
    extra: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True), **extra}
