"""The next row of a foreign model's growing text, with the keys and values of the earlier tokens kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from ..errors import Unsupported
from ..models.inputs import no_mask
from ..models.model import Grown
from .foreign_runs import on

if TYPE_CHECKING:
    from .foreign import ForeignModel


@dataclass
class GrownCache:
    """Keys and values of the first `length` tokens, in the library's own form."""

    cache: Any
    length: int = 0


def grow(model: ForeignModel, ids: Sequence[int], kept: Any, asked: tuple[Any, ...]) -> Grown:
    """The last row of every map, hidden state and logit; the earlier tokens are computed only when they are not kept.

    A model with other layers than attention, or whose maps do not pass the seam, is computed whole each time.
    """
    if not keeps(model):
        run = model.run(
            list(ids), **dict(zip(("mask", "position", "heads_off", "temperature", "values_off"), asked, strict=True))
        )
        if run.logits is None:
            raise Unsupported(f"model {model.name!r} predicts no next token; choose a model that writes")
        return Grown(run.weights[:, :, -1], run.hidden[:, -1], run.logits[0], None)
    if not isinstance(kept, GrownCache) or kept.length >= len(ids):
        from transformers import DynamicCache

        kept = GrownCache(DynamicCache())
    switches = model.switches(len(ids), None, *asked)
    known, device = kept.length, model.device
    allow, values = on(switches.allow, device), on(switches.ablate.values, device)
    request = model.wrapped.request(
        changed=frozenset(model.known(model.group).paths),
        allow=None if allow is None or no_mask(switches.mask) else allow[:, :, known:],
        heads=on(switches.ablate.heads, device),
        values=None if values is None else values[:, :, known:],
        temperature=float(switches.temperature),
        positions=switches.position == "trained",
    )
    found = model.wrapped.answer(torch.tensor([list(ids[known:])], device=device), request, past=kept.cache)
    kept.length = len(ids)
    logits = cast(Tensor, found.logits)  # of a model that writes
    rows = torch.stack([call.weights[0, :, -1] for call in found.calls])
    return Grown(rows, torch.stack([one[0, -1] for one in found.hidden[""]]), logits[0, -1], kept)


def keeps(model: ForeignModel) -> bool:
    """Whether all of its layers are attention through the seam, so that keys and values are all there is to keep."""
    known = model.known(model.group)
    states = getattr(model.wrapped.family.config, "num_hidden_layers", 0)
    return (
        model.findings.by_seam
        and model.wrapped.family.writes
        and not model.findings.left_out
        and model.wrapped.takes("past_key_values")
        and len(set(known.paths)) == len(known.paths) == states
    )
