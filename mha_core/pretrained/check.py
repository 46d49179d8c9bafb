"""Checks of a Hugging Face model on loading: its maps, and the changes that it supports.

The model runs on a few tokens to verify shapes and row sums, that maps times values give the attention output, that a
mask and a temperature change the maps correctly, and that ablating heads, MLPs and layers changes the output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import HeadlightError, Unsupported
from ..models.model import EVERYTHING
from . import attention_hook
from .answer import MAX_TOKENS
from .attention_hook import Call, mix
from .block_hooks import BlockPaths, add_block_hooks
from .hf_module import HfModule, PassOutput

BY_TRANSFORMERS = "{} returns its maps, but computes them outside the attention hook, so they cannot be changed"
NO_TEXT = "this model reads {}s, no sentences"
NO_STEPS = "its layers are computed by transformers, without a trace of their steps"
NO_BATCH = "an encoder-decoder is run one text at a time here"
NO_OUTPUT = "its heads have no output matrix of their own, so their contributions are not known"
NO_PLACE = "its positions are not in a separate module, so they cannot be removed"
# name suffixes of modules with positional encodings
TABLES = ("position_embeddings", "embed_positions", "wpe", "position_embedding", "pos_embed", "pos_emb",
          "positions_embed", "positional_embedding")  # fmt: skip
BIASES = ("relative_attention_bias",)
PROJECTIONS = ("project_out",)  # of the last hidden state to the width of the embeddings


@dataclass(frozen=True)
class GroupFindings:
    """Findings about one kind of attention in a model: encoder, decoder or cross.

    Attributes:
        paths: module names of its layers, in order; a module may occur twice.
        heads: heads per layer.
        kv_heads: key/value heads per layer.
        own_mask: "causal" where no row has weight on a later token.
        sinks: whether the model itself makes rows sum to less than 1.
    """

    paths: tuple[str, ...]
    heads: int
    kv_heads: int
    own_mask: str
    sinks: bool


@dataclass(frozen=True)
class Findings:
    """Results of the checks of a model.

    Attributes:
        by_hook: whether its maps come through the hook; else the model returns them itself.
        groups: by name, in order.
        blocks: modules of the layers of each group.
        outputs: path of an attention -> name of the module with its matrix Wᵒ, see `output_matrix`.
        mechanisms: how its positions act, as `Position.mechanisms`.
        can: as in `Model`.
        reasons: as in `Model`.
        n_skipped: layers whose maps have another shape than most.
        output_shift: relative change of the output with all heads ablated; None where heads cannot be ablated.
    """

    by_hook: bool
    groups: dict[str, GroupFindings]
    blocks: dict[str, BlockPaths]
    outputs: dict[str, str]
    mechanisms: frozenset[str]
    can: frozenset[str]
    reasons: dict[str, str]
    n_skipped: int
    output_shift: float | None
    d_model: int


def examine(model: HfModule, ids: Tensor, target: Tensor | None, length: int) -> Findings:
    """Check a model on sample input.

    Args:
        model: the model.
        ids: (1, i), or features of a picture or a sound.
        target: ids (1, n) of another length for the decoder of an encoder-decoder.
        length: number of tokens of `ids`, or of the picture or sound.

    Raises:
        Unsupported: it has no maps of tokens on tokens, or they are not softmax weights.
    """
    acts = add_position_hooks(model.module)

    def run(**changes: Any) -> PassOutput:
        return model.compute(ids, model.request(**changes), target=target)

    request = model.request(record=frozenset(("v", "mixed")))
    with _output_matrices(model.module, request.calls) as outputs:
        plain = model.compute(ids, request, target=target)
    by_hook = bool(plain.calls)
    reported = plain if by_hook else model.compute(ids, model.request(), target=target, attentions=True)
    calls = plain.calls if by_hook else [Call(group, maps, 0) for group, some in reported.maps.items() for maps in some]
    lengths = length, 0 if target is None else target.shape[1]
    sorted_calls = _sort_calls(calls, lengths, by_hook)
    name = model.family.config.model_type
    if not sorted_calls:
        raise Unsupported(f"{name} returns no attention maps over tokens; choose a model with standard attention")
    groups = {group: _check_group(some, group) for group, some in sorted_calls.items()}
    reasons = {"steps": NO_STEPS}
    output_shift, blocks = None, dict[str, BlockPaths]()
    if not by_hook:
        lacks = ("mask", "heads", "mlps", "layers", "temperature", "values", "lengths")
        reasons |= dict.fromkeys(lacks, BY_TRANSFORMERS.format(name))
    else:
        for group, finding in groups.items():
            reasons |= _check_changes(run, plain, group, finding, sorted_calls[group])
            output_shift = _measure_output_shift(plain, run, finding) if output_shift is None else output_shift
        paths = {group: finding.paths for group, finding in groups.items()}
        blocks, without_blocks = add_block_hooks(model, paths, outputs, plain, run)
        reasons |= without_blocks
        if any(path not in outputs for finding in groups.values() for path in finding.paths):
            reasons["lengths"] = NO_OUTPUT
        if not output_shift:
            reasons["heads"] = "its output is the same with all heads off"
    reasons |= _check_positions(run, plain, acts)
    reads = model.family.input_kind
    if reads != "text":
        reasons["text"] = NO_TEXT.format(reads)
    if target is not None or reads != "text" or not model.accepts("attention_mask"):
        reasons["batch"] = NO_BATCH if target is not None else "it supports no padding; run one text at a time"
    can = EVERYTHING - reasons.keys()
    states = [some for some in plain.hidden.values() if some]
    if not states:
        raise Unsupported(f"{name} returns no hidden states")
    if any(len({state.shape for state in some}) > 1 for some in states):
        raise Unsupported(f"the hidden states of this {name} have different shapes; choose a model of one width")
    if target is not None and (model.answer or model.is_headless):
        model.greedy(ids, MAX_TOKENS, max_time=0)  # its first token
    n_skipped = len(calls) - sum(len(finding.paths) for finding in groups.values())
    width = states[-1][-1].shape[-1]
    return Findings(by_hook, groups, blocks, outputs, acts, can, reasons, n_skipped, output_shift, width)


def _sort_calls(calls: list[Call], lengths: tuple[int, int], by_hook: bool) -> dict[str, list[Call]]:
    """Group the calls whose maps are tokens on tokens by kind; keep the most common shape of each."""
    n_source, n_target = lengths
    kinds = {(n_source, n_source): "encoder", (n_target, n_target): "decoder", (n_target, n_source): "cross"}
    groups: dict[str, list[Call]] = {}
    for call in calls:
        sizes = list(call.weights.shape)
        group = kinds.get((sizes[-2], sizes[-1])) if len(sizes) == 4 else None
        if group is not None:
            groups.setdefault(group if n_target else "", []).append(call)
    if not n_target and groups:
        single = groups.pop("")
        groups = {"decoder" if _causal(single) else "encoder": single}
    for group, some in groups.items():
        shape = Counter(call.weights.shape for call in some).most_common(1)[0][0]
        groups[group] = [call for call in some if call.weights.shape == shape]
    return {group: groups[group] for group in ("encoder", "decoder", "cross") if group in groups}


def _causal(calls: list[Call]) -> bool:
    return all(not bool(call.weights.triu(1).any()) for call in calls)


def _check_group(calls: list[Call], group: str) -> GroupFindings:
    weights = torch.stack([call.weights.cpu().double() for call in calls])
    rows = weights.sum(dim=-1)
    margin = tolerance(calls[0].weights.dtype)
    if not bool(weights.isfinite().all()) or bool((weights < 0).any()) or bool((rows > 1 + margin).any()):
        raise Unsupported("its maps are not softmax weights: rows sum to more than 1, or are not finite")
    first = calls[0]
    heads = first.weights.shape[1]
    own_mask = "causal" if group == "decoder" and _causal(calls) else "none"
    paths = tuple(call.path for call in calls)
    return GroupFindings(paths, heads, first.kv_heads or heads, own_mask, bool((rows < 1 - margin).any()))


def tolerance(dtype: torch.dtype) -> float:
    """Return the rounding error allowed in the sum of a row."""
    return 8 * float(torch.finfo(dtype).eps) if dtype.itemsize < 4 else 1e-5


def _check_changes(
    run: Callable[..., PassOutput], plain: PassOutput, group: str, finding: GroupFindings, calls: list[Call]
) -> dict[str, str]:
    """Return the reasons why mask, temperature or values of a group cannot be changed."""
    reasons: dict[str, str] = {}
    atol = 1e-4 if calls[0].weights.dtype.itemsize >= 4 else 0.05
    first = calls[0].weights
    i, j = first.shape[-2:]
    allow = torch.ones(1, 1, i, j, dtype=torch.bool, device=first.device)
    allow[..., 1::2] = False
    try:
        changed = run(changed_modules=frozenset(finding.paths), allow=allow, temperature=2.0)
        weights = next(call.weights for call in changed.calls if call.path == calls[0].path)
        # softmax(s / 2) is √softmax(s), rescaled to a sum of 1
        rest = (1 - first.sum(dim=-1, keepdim=True)).clamp(min=0).sqrt() if finding.sinks else 0
        expected = first.sqrt() * allow
        row_sums = expected.sum(dim=-1, keepdim=True) + rest
        expected = torch.where(row_sums > 0, expected / row_sums, 0)
        if not torch.allclose(weights.float(), expected.float(), atol=atol):
            raise Unsupported("its weights are not the softmax of its scores alone")
    except Unsupported as error:
        reasons |= dict.fromkeys(("mask", "temperature"), str(error))
    matches = (
        torch.allclose(mix(call.weights, call.parts["v"]).float(), call.parts["mixed"].float(), atol=atol, rtol=atol)
        for call in calls
    )
    if not all(matches):
        reasons["values"] = "its attention output is not just its maps times the values"
    return reasons


def _zero_angles(scaling: float) -> Callable[[Any], Any]:
    def neutral(output: Any) -> Any:
        if isinstance(output, Tensor):  # complex numbers of length `scaling`
            return torch.full_like(output, scaling)
        if isinstance(output, dict):
            return {name: neutral(value) for name, value in output.items()}
        cos, sin = output
        return torch.full_like(cos, scaling), torch.zeros_like(sin)

    return neutral


def add_position_hooks(model: nn.Module) -> frozenset[str]:
    """Register hooks by which passes can run without positions; return the places where positions act.

    Without positions the output of the hooked modules is neutral: rows of zeros, a bias of zero, or angles of 0.
    """
    acts = set[str]()
    for name, module in model.named_modules():
        last = name.rpartition(".")[2]
        if last in TABLES:
            acts.add("add")
            attention_hook.add_position_removal_hook(module, torch.zeros_like)
        elif last in BIASES:
            acts.add("bias")
            attention_hook.add_position_removal_hook(module, torch.zeros_like)
        elif last in PROJECTIONS:
            attention_hook.add_projection_hook(module)
        elif "RotaryEmbedding" in type(module).__name__:
            acts.add("rotate")
            attention_hook.add_position_removal_hook(module, _zero_angles(getattr(module, "attention_scaling", 1.0)))
    return frozenset(acts)


def _measure_output_shift(plain: PassOutput, run: Callable[..., PassOutput], finding: GroupFindings) -> float:
    layers = len(finding.paths)
    off = torch.zeros(layers, finding.heads, dtype=torch.bool, device=plain.last.device)
    ablated = run(changed_modules=frozenset(finding.paths), head_mask=off)
    return float((ablated.last - plain.last).float().norm() / plain.last.float().norm())


def _check_positions(run: Callable[..., PassOutput], plain: PassOutput, acts: frozenset[str]) -> Mapping[str, str]:
    if not acts:
        return {"positions": NO_PLACE}
    try:
        if not torch.equal(run(positions=False).last, plain.last):
            return {}
    except (HeadlightError, RuntimeError, TypeError, ValueError):
        pass
    return {"positions": NO_PLACE}


@contextmanager
def _output_matrices(module: nn.Module, calls: list[Call]) -> Iterator[dict[str, str]]:
    """Yield a dict that maps the path of each attention to the linear module with its matrix Wᵒ.

    That is the first linear module whose input is the attention's "mixed" (b, i, h, d), its heads concatenated.

    Args:
        module: the model.
        calls: the list that a pass inside the block appends its calls to, with "mixed" recorded.
    """
    from transformers.pytorch_utils import Conv1D

    names: dict[str, str] = {}

    def make_hook(name: str) -> Any:
        def hook(linear: nn.Module, args: tuple[Any, ...]) -> None:
            call = calls[-1] if calls else None
            if call is None or call.path in names or not args or not isinstance(args[0], Tensor):
                return
            mixed = call.parts["mixed"].flatten(2)
            if args[0].numel() == mixed.numel() and torch.equal(args[0].reshape(-1), mixed.reshape(-1)):
                names[call.path] = name

        return hook

    linears = [(name, part) for name, part in module.named_modules() if isinstance(part, nn.Linear | Conv1D)]
    hooks = [linear.register_forward_pre_hook(make_hook(name)) for name, linear in linears]
    try:
        yield names
    finally:
        for hook in hooks:
            hook.remove()


def output_matrix(linear: nn.Module) -> Tensor:
    """Return the weight of an output projection as (h·d, c); its bias belongs to no head."""
    weight = linear.get_parameter("weight")
    return weight.T if isinstance(linear, nn.Linear) else weight  # Conv1D stores its transpose
