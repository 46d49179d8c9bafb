"""A pass of a foreign model, and what it gave as a `Run` for each text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..models.inputs import no_mask
from ..models.run import Heard, Patches, Run
from ..models.switches import RunSwitches
from . import memory
from .seam import Call
from .wrapped import Answer

if TYPE_CHECKING:
    from .foreign import ForeignModel


@dataclass(frozen=True)
class Pass:
    """What is asked of a pass.

    Attributes:
        switches: what it does otherwise than its model.
        ends: how many tokens of the model's own are in front of the rows and behind.
        target: int64 (1, n), what a decoder beside an encoder reads.
        keep: bool (b, i), False = padding.
        columns: the tokens that are looked at, where they are others than those that look.
        all_logits: of every position.
        patches: the picture, where the model reads one.
        heard: the sound, where the model reads one.
        is_left_out: the model makes more keys than there are columns.
        record: names of what is to be recorded beside the maps, see `seam.Call`.
    """

    switches: RunSwitches
    ends: tuple[int, int]
    target: Tensor | None = None
    keep: Tensor | None = None
    columns: list[str] | None = None
    all_logits: bool = False
    patches: Patches | None = None
    heard: Heard | None = None
    is_left_out: bool = False
    record: frozenset[str] = frozenset()


def runs(model: ForeignModel, coded: Sequence[tuple[list[str], list[int]]], ids: Tensor, asked: Pass) -> list[Run]:
    """One forward pass over ids (b, i), and a run for each text of `coded`, its rows; the padding is cut off.

    Raises:
        DeviceError: the maps do not fit into the memory that is left.
    """
    longest = max(len(own_ids) for _, own_ids in coded)
    whole = model.needs(longest, None if asked.columns is None else len(asked.columns)) * len(ids)
    # every layer's, and all of them as one; beside them what one softmax takes
    needed = 2 * whole + 4 * whole // model.sizes.n_layers
    what = "text" if model.wrapped.family.reads == "text" else "input, or choose a smaller model"
    memory.require(needed, f"{longest} tokens of {model.name}", f"shorten the {what}")
    found = _answer(model, ids, asked)
    maps, states = _maps(model, found), found.hidden.get(model.group) or found.hidden[""]
    values = [call.parts["v"] for call in _calls(model, found)]
    return [
        _run(
            model,
            own,
            row,
            asked,
            found.logits,
            [one[row] for one in maps],
            [one[row] for one in states],
            [one[row] for one in values],
        )
        for row, own in enumerate(coded)
    ]


def call_of_layer(model: ForeignModel, ids: Tensor, asked: Pass, layer: int) -> Call:
    """What passed the seam in one layer of the model's group, in a pass over ids (1, i)."""
    return _calls(model, _answer(model, ids, asked))[layer]


def _calls(model: ForeignModel, found: Answer) -> list[Call]:
    """What passed the seam in the model's group."""
    return [call for call in found.calls if call.path in model.known(model.group).paths]


def _answer(model: ForeignModel, ids: Tensor, asked: Pass) -> Answer:
    switches, device = asked.switches, model.device
    request = model.wrapped.request(
        keep=asked.record | {"v"},
        changed=frozenset(model.known(model.group).paths),
        allow=None if no_mask(switches.mask) else on(switches.allow, device),
        heads=on(switches.ablate.heads, device),
        values=on(switches.ablate.values, device),
        temperature=float(switches.temperature),
        positions=switches.position == "trained",
    )
    return model.wrapped.answer(
        ids.to(device),
        request,
        target=on(asked.target, device),
        keep=on(asked.keep, device),
        attentions=not model.findings.by_seam,
    )


def _maps(model: ForeignModel, found: Answer) -> list[Tensor]:
    """(b, h, i, j) of every layer of the model's group."""
    known = model.known(model.group)
    if model.findings.by_seam:
        return [call.weights for call in _calls(model, found)]
    maps = found.maps.get(model.group) or found.maps.get("", [])
    return [one for one in maps if one.shape[1] == known.heads]


def _run(
    model: ForeignModel,
    own: tuple[list[str], list[int]],
    row: int,
    asked: Pass,
    logits: Tensor | None,
    maps: list[Tensor],
    states: list[Tensor],
    values: list[Tensor],
) -> Run:
    tokens, ids = own
    known = model.known(model.group)
    n = len(ids)
    m = n if asked.columns is None else len(asked.columns)
    weights = torch.stack([one[:, :n, :m] for one in maps])
    hidden = torch.stack([one[:n] for one in states])
    if logits is not None and asked.patches is None:
        writes = model.wrapped.family.writes and model.group != "encoder"
        logits = logits[:, 0 if asked.all_logits else n - 1 : n] if writes else None
    return Run(
        tokens=tokens,
        ids=ids,
        weights=weights,
        hidden=hidden,
        sentence=torch.nn.functional.normalize(hidden[-1].mean(dim=0), dim=0),
        steps=(),
        device=hidden.device,
        notices=model.notices,
        logits=None if logits is None else logits[row : row + 1] if asked.patches else logits[row],
        kv_heads=known.kv_heads,
        ends=asked.ends,
        changes=asked.switches.changes(tokens, row, asked.columns),
        columns=asked.columns,
        nobody=(1 - weights.sum(dim=-1)).clamp(min=0) if known.sinks or asked.is_left_out else None,
        values=tuple(one[:, :m] for one in values),
        paths=known.paths if model.findings.by_seam else (),
        patches=asked.patches,
        heard=asked.heard,
    )


def on(tensor: Tensor | None, device: torch.device) -> Tensor | None:
    """The tensor there, if there is one."""
    return None if tensor is None else tensor.to(device)
