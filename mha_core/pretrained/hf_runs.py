"""Passes of a Hugging Face model, and their results as a `Run` per text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..attention.key_value import KVCache
from ..models.inputs import is_no_mask
from ..models.run import Extras, Run, require_finite, sentence_vector
from ..models.switches import RunSwitches
from . import memory
from .attention_hook import Call
from .block_hooks import BlockPaths
from .hf_module import PassOutput

if TYPE_CHECKING:
    from .hf_model import HfModel


@dataclass(frozen=True)
class Pass:
    """Options of one forward pass, and the data that goes into its runs.

    Attributes:
        switches: changes to the model.
        ends: numbers of special tokens in front of the rows and behind.
        target: int64 (1, n), input of the decoder of an encoder-decoder.
        keep: bool (b, i), False = padding.
        columns: the key tokens, where they differ from the query tokens.
        all_logits: whether the logits of every position are kept.
        extras: the picture or the sound, where the model reads one.
        has_hidden_keys: whether the model has more keys than there are columns.
        record: names of parts to record, see `attention_hook.Call`.
        notices: about these options, to show with the runs.
        more: further arguments of the model's `forward`.
    """

    switches: RunSwitches
    ends: tuple[int, int]
    target: Tensor | None = None
    keep: Tensor | None = None
    columns: list[str] | None = None
    all_logits: bool = False
    extras: Extras = field(default_factory=Extras)
    has_hidden_keys: bool = False
    record: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


def runs(model: HfModel, coded: Sequence[tuple[list[str], list[int]]], ids: Tensor, spec: Pass) -> list[Run]:
    """Run one forward pass over ids (b, i) and return a run per text, without padding.

    Raises:
        DeviceError: the maps do not fit into the free memory.
    """
    length = max(len(own_ids) for _, own_ids in coded)
    map_bytes = model.map_bytes(length, None if spec.columns is None else len(spec.columns)) * len(ids)
    # the maps of every layer, their stacked copy, and the temporaries of one softmax
    needed = 2 * map_bytes + 4 * map_bytes // model.sizes.n_layers
    source = "text" if model.hf_module.family.input_kind == "text" else "input, or choose a smaller model"
    memory.require(needed, f"{length} tokens of {model.name}", f"shorten the {source}")
    result = run_pass(model, ids, spec)
    return [_run(model, text, row, spec, result) for row, text in enumerate(coded)]


def run_new_tokens(
    model: HfModel, ids: Sequence[int], caches: Sequence[KVCache], shift: int, switches: RunSwitches
) -> Run:
    """Run the tokens that are not cached yet, see `Model.run_new_tokens`."""
    length, more = caches[0].length if caches else 0, dict[str, Any](use_cache=bool(caches))
    if length:
        from transformers import DynamicCache

        more["past_key_values"] = DynamicCache([(cache.k, cache.v) for cache in caches])
    if shift:
        more["position_ids"] = torch.arange(length, len(ids), device=model.device)[None] + shift
    parts = (switches.allow, switches.ablate.values)
    allow, values = (None if part is None else part[:, :, length:] for part in parts)
    rows = replace(switches, allow=allow, ablate=switches.ablate._replace(values=values))
    new, spec = list(ids[length:]), Pass(rows, (0, 0), columns=[""] * len(ids), more=more)
    result = run_pass(model, torch.tensor([new]), spec)
    layers = getattr(result.past, "layers", ())
    if len(layers) == len(caches) and all(type(layer).__name__ == "DynamicLayer" for layer in layers):
        for cache, layer in zip(caches, layers, strict=True):  # other layers do not keep all tokens
            cache.k, cache.v = layer.keys, layer.values
    return _run(model, ([""] * len(new), new), 0, spec, result)


def group_calls(model: HfModel, result: PassOutput) -> list[Call]:
    """Return the recorded calls of the model's group."""
    return [call for call in result.calls if call.path in model.group_findings.paths]


def run_pass(model: HfModel, ids: Tensor, spec: Pass) -> PassOutput:
    """Run one forward pass over ids (b, i) with the options of a pass."""
    switches = spec.switches
    tensors = switches.allow, *switches.ablate.attention
    allow, heads, values = (None if tensor is None else tensor.to(model.device) for tensor in tensors)
    blocks = model.findings.blocks.get(model.group, BlockPaths())
    request = model.hf_module.request(
        record=spec.record | {"v"},
        changed_modules=frozenset(model.group_findings.paths),
        allow=None if is_no_mask(switches.mask) else allow,
        head_mask=heads,
        value_mask=values,
        temperature=float(switches.temperature),
        positions=switches.position == "trained",
        skipped_modules=frozenset(blocks.layers[layer] for layer in switches.ablate.layers),
        zeroed_modules=frozenset(blocks.mlps[layer] for layer in switches.ablate.mlps),
    )
    maps_too = not model.findings.by_hook
    return model.hf_module.compute(ids, request, target=spec.target, keep=spec.keep, attentions=maps_too, **spec.more)


def _maps(model: HfModel, result: PassOutput) -> list[Tensor]:
    """Return the maps (b, h, i, j) of every layer of the model's group."""
    finding = model.group_findings
    if model.findings.by_hook:
        return [call.weights for call in group_calls(model, result)]
    maps = result.maps.get(model.group) or result.maps.get("", [])
    return [layer for layer in maps if layer.shape[1] == finding.heads]


def _run(model: HfModel, coded: tuple[list[str], list[int]], row: int, spec: Pass, result: PassOutput) -> Run:
    """Return the run of one text, `row` of the batch."""
    tokens, ids = coded
    finding, logits = model.group_findings, result.logits
    n = len(ids)
    m = n if spec.columns is None else len(spec.columns)
    weights = torch.stack([layer[row, :, :n, :m] for layer in _maps(model, result)])
    hidden = torch.stack([state[row, :n] for state in result.hidden.get(model.group) or result.hidden[""]])
    is_picture = spec.extras.image is not None
    if logits is not None and not is_picture:
        writes = model.hf_module.family.is_generative and model.group != "encoder"
        logits = logits[:, 0 if spec.all_logits else n - 1 : n] if writes else None
    require_finite(model.name, weights, hidden, logits)
    wide = torch.promote_types(model.dtype, torch.float32)  # numpy has no bfloat16
    weights, hidden = weights.to(wide), hidden.to(wide)
    return Run(
        tokens=tokens,
        ids=ids,
        weights=weights,
        hidden=hidden,
        sentence=sentence_vector(hidden[-1]),
        steps=(),
        device=hidden.device,
        notices=model.notices + spec.notices,
        logits=None if logits is None else (logits[row : row + 1] if is_picture else logits[row]).to(wide),
        ends=spec.ends,
        interventions=spec.switches.interventions(tokens, row, spec.columns),
        key_tokens=spec.columns,
        extras=replace(
            spec.extras,
            kv_heads=finding.kv_heads,
            unassigned=(1 - weights.sum(dim=-1)).clamp(min=0) if finding.sinks or spec.has_hidden_keys else None,
            paths=finding.paths if model.findings.by_hook else (),
            values=tuple(call.parts["v"][row, :, :m] for call in group_calls(model, result)),
        ),
    )
