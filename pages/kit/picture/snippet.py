"""A picture as Python: the few lines that compute exactly its numbers again with mha_core, without the app.

A visitor's text comes in as a string literal alone, never in a comment; `repr` escapes what is not printed, as line
breaks and the characters that turn the direction of writing round.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from mha_core import IMPLEMENTATIONS, Model
from mha_core.attention.switches import EVERYTHING

from . import foreign, models, pictures
from .next_token import LIKELIEST
from .place import At
from .recordings import RecordedModel
from .settings import Settings
from .sharing import threads_for

MAY_LOOK, MAY_NOT = "#", "."
OWN_RUN = "my-run"  # the folder into which a visitor unpacks the run that was trained in the visit
_USUAL = {name: parameter.default for name, parameter in inspect.signature(Model.run).parameters.items()}


@dataclass(frozen=True)
class CodeCell:
    """A piece of code that stands by itself, and the sentence that says what it does."""

    said: str
    code: str


def snippet(sides: Mapping[str, Settings], at: At) -> str:
    """The code of `cells` as one text.

    Raises:
        HeadlightError: the model is gone.
    """
    return "\n\n".join(cell.code for cell in cells(sides, at)) + "\n"


def cells(sides: Mapping[str, Settings], at: At) -> list[CodeCell]:
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
    place = at.on(model.tokenize(first.text)[0], goes_on=models.goes_on(first.model))
    look = _look(list(sides), place, "columns" if others else "tokens")
    following = [_following(name) for name in sides] if model.own_mask == "causal" else []
    return [_load(first, model), *runs, look, *following]


def _load_recording(model: RecordedModel) -> CodeCell:
    """The file, which is where its owner keeps it; a step is a run of it."""
    lines = ["from mha_core.pretrained.recording_file import read", "", 'recording = read("recording.safetensors")']
    return CodeCell(f"The recording “{model.recording.title}”: give the path of its file.", "\n".join(lines))


def _run_recording(name: str, settings: Settings, model: RecordedModel) -> CodeCell:
    said = f"The maps of one step, kept as `{name}`: `{name}.weights` (layers, heads, queries, keys)."
    return CodeCell(said, f"{name} = recording.run({model.group}, {model.step_of(settings.text)})")


def _load(settings: Settings, model: Model) -> CodeCell:
    """The model, by the name or the folder that it has outside of the app."""
    if isinstance(model, RecordedModel):
        return _load_recording(model)
    name, said = settings.model, "The model. Its weights come with an installed package; nothing is downloaded."
    if name in models.shipped():
        name, said = f"assets/trained/{name}", "The model, a folder of Headlight: run this where `assets` is."
    elif foreign.is_foreign(name):
        return _load_foreign(settings)
    elif name not in models.pretrained():
        name, said = OWN_RUN, f"The model: unpack “The trained model, zip” of Train into the folder {OWN_RUN}."
    given = [_literal(name), *([] if settings.device == "auto" else [f"device={_literal(settings.device)}"])]
    # the pages write a layer in the one form that can do everything; the weights stay the same
    trained_in = model.history.recipe.implementation if model.history else model.sizes.implementation
    kept = IMPLEMENTATIONS[trained_in].can == EVERYTHING
    other = "" if kept else f".as_implementation({_literal(model.sizes.implementation)})"
    return CodeCell(
        said, f"import torch\n\nfrom mha_core import load_model\n\nmodel = load_model({', '.join(given)}){other}"
    )


def _load_foreign(settings: Settings) -> CodeCell:
    """One of this machine: by its id and revision, or a folder, whose path is told to nobody."""
    name, group = foreign.split(settings.model)
    revision = foreign.revision_of(name).get("revision")
    given = _literal(foreign.title(name))
    more = f", revision={_literal(revision)}" if revision else ""
    device = "" if settings.device == "auto" else f", device={_literal(settings.device)}"
    said = "The model, out of this machine’s cache." if revision else "The model: give the path of its folder."
    of = f".of({_literal(group)})" if group else ""
    return CodeCell(
        said, f"import torch\n\nfrom mha_core import load_model\n\nmodel = load_model({given}{more}{device}){of}"
    )


def _run(name: str, settings: Settings, model: Model) -> CodeCell:
    """The pass: the sentence, and every switch that is not as usual."""
    if isinstance(model, RecordedModel):
        return _run_recording(name, settings, model)
    chosen = {key: value for key, value in settings.switches(model).items() if not _is_usual(key, value)}
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
    threads = threads_for(pictures.passed(model, settings.text), models.heads(model))
    set_up = f"torch.set_num_threads({threads})  # as on the page"
    if file:
        set_up = f'from pathlib import Path\n\n{model.reads} = Path("{file}")  # give the path of its file\n{set_up}'
    said = f"One pass, kept as `{name}`: the maps are `{name}.weights` (layers, heads, queries, keys)."
    return CodeCell(said, "\n".join([set_up, *drawn, whole]))


def _look(names: Sequence[str], at: At, keys: str) -> CodeCell:
    """The map in focus, of two sides also their difference, and one row of it in print; `keys`: what it looks at."""
    lines = [
        f"layer, head, query = {at.layer}, {at.head}, {at.row}  # counted from 0",
        *(f"{_map(name, names)} = {name}.weights[layer, head]  # (queries, keys)" for name in names),
        *(line for name in names for line in _printed(name, _map(name, names), keys, first=name == names[0])),
    ]
    if len(names) > 1:
        one, other = (_map(name, names) for name in names)
        lines += [
            f"if {one}.shape == {other}.shape:",
            f'    print(f"largest difference of the two maps: {{({other} - {one}).abs().max():.4f}}")',
        ]
    return CodeCell("The map in focus; the printed row says how much of each token the query takes.", "\n".join(lines))


def _map(name: str, names: Sequence[str]) -> str:
    return "weights" if len(names) == 1 else f"{name}_weights"


def _printed(name: str, weights: str, keys: str, *, first: bool) -> list[str]:
    """Lines that print the row in focus, which of two sentences the second may lack."""
    row = f"{weights}[query]" if first else f"{weights}[min(query, len({name}.tokens) - 1)]"
    return [f"for token, weight in zip({name}.{keys}, {row}):", '    print(f"{weight:.4f}  {token}")']


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


def _is_usual(key: str, value: Any) -> bool:
    return not isinstance(value, Tensor) and bool(value == _USUAL[key])


def _literal(value: Any) -> str:
    """A value as Python writes it: a text, in double quotes where it has none, a number, or a list of pairs."""
    written = repr(list(value) if isinstance(value, tuple) else value)
    plain = isinstance(value, str) and not {"'", '"'} & set(value)
    return f'"{written[1:-1]}"' if plain else written
