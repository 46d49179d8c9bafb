"""A pass of a foreign model, and what it gave as a `Run` for each text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..models.inputs import no_mask
from ..models.run import Extras, Run, sentence_of
from ..models.switches import RunSwitches
from . import memory
from .attention_hook import Call
from .hf_module import Answer

if TYPE_CHECKING:
    from .hf_model import HfModel


@dataclass(frozen=True)
class Pass:
    """One forward pass: its switches, and what it returns beside the maps.

    Attributes:
        switches: what it does otherwise than its model.
        ends: how many tokens of the model's own are in front of the rows and behind.
        target: int64 (1, n), what a decoder beside an encoder reads.
        keep: bool (b, i), False = padding.
        columns: the tokens that are looked at, where they are others than those that look.
        all_logits: of every position.
        extras: the picture or the sound, where the model reads one.
        is_left_out: the model makes more keys than there are columns.
        record: names of what is to be recorded beside the maps, see `attention_hook.Call`.
    """

    switches: RunSwitches
    ends: tuple[int, int]
    target: Tensor | None = None
    keep: Tensor | None = None
    columns: list[str] | None = None
    all_logits: bool = False
    extras: Extras = field(default_factory=Extras)
    is_left_out: bool = False
    record: frozenset[str] = frozenset()


def runs(model: HfModel, coded: Sequence[tuple[list[str], list[int]]], ids: Tensor, spec: Pass) -> list[Run]:
    """One forward pass over ids (b, i), and a run for each text of `coded`, its rows; the padding is cut off.

    Raises:
        DeviceError: the maps do not fit into the memory that is left.
    """
    longest = max(len(own_ids) for _, own_ids in coded)
    whole = model.needs(longest, None if spec.columns is None else len(spec.columns)) * len(ids)
    # every layer's, and all of them as one; beside them what one softmax takes
    needed = 2 * whole + 4 * whole // model.sizes.n_layers
    what = "text" if model.wrapped.family.reads == "text" else "input, or choose a smaller model"
    memory.require(needed, f"{longest} tokens of {model.name}", f"shorten the {what}")
    found = answer(model, ids, spec)
    return [_run(model, own, row, spec, found) for row, own in enumerate(coded)]


def calls_of(model: HfModel, found: Answer) -> list[Call]:
    """What passed the seam in the model's group."""
    return [call for call in found.calls if call.path in model.known.paths]


def answer(model: HfModel, ids: Tensor, spec: Pass) -> Answer:
    """One forward pass over ids (b, i)."""
    switches = spec.switches
    tensors = switches.allow, *switches.ablate
    allow, heads, values = (None if one is None else one.to(model.device) for one in tensors)
    request = model.wrapped.request(
        keep=spec.record | {"v"},
        changed=frozenset(model.known.paths),
        allow=None if no_mask(switches.mask) else allow,
        heads=heads,
        values=values,
        temperature=float(switches.temperature),
        positions=switches.position == "trained",
    )
    maps_too = not model.findings.by_seam
    return model.wrapped.answer(ids, request, target=spec.target, keep=spec.keep, attentions=maps_too)


def _maps(model: HfModel, found: Answer) -> list[Tensor]:
    """(b, h, i, j) of every layer of the model's group."""
    known = model.known
    if model.findings.by_seam:
        return [call.weights for call in calls_of(model, found)]
    maps = found.maps.get(model.group) or found.maps.get("", [])
    return [one for one in maps if one.shape[1] == known.heads]


def _run(model: HfModel, own: tuple[list[str], list[int]], row: int, spec: Pass, found: Answer) -> Run:
    """The run of one text, `row` of the batch."""
    tokens, ids = own
    known, logits = model.known, found.logits
    n = len(ids)
    m = n if spec.columns is None else len(spec.columns)
    weights = torch.stack([one[row, :, :n, :m] for one in _maps(model, found)])
    hidden = torch.stack([one[row, :n] for one in found.hidden.get(model.group) or found.hidden[""]])
    is_picture = spec.extras.patches is not None
    if logits is not None and not is_picture:
        writes = model.wrapped.family.writes and model.group != "encoder"
        logits = logits[:, 0 if spec.all_logits else n - 1 : n] if writes else None
    return Run(
        tokens=tokens,
        ids=ids,
        weights=weights,
        hidden=hidden,
        sentence=sentence_of(hidden[-1]),
        steps=(),
        device=hidden.device,
        notices=model.notices,
        logits=None if logits is None else logits[row : row + 1] if is_picture else logits[row],
        ends=spec.ends,
        changes=spec.switches.changes(tokens, row, spec.columns),
        columns=spec.columns,
        extras=replace(
            spec.extras,
            kv_heads=known.kv_heads,
            nobody=(1 - weights.sum(dim=-1)).clamp(min=0) if known.sinks or spec.is_left_out else None,
            paths=known.paths if model.findings.by_seam else (),
            values=tuple(call.parts["v"][row, :, :m] for call in calls_of(model, found)),
        ),
    )
