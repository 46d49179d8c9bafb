"""Find by trying what a signature leaves open: which axis is the batch, and how a mask is written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import SizeError, Unsupported
from .graph import PassGraph
from .probe import BLOCKED, Probe
from .recorder import Recorder
from .target import (
    CODES,
    NAMES,
    PER_KEY,
    PER_QUERY,
    Answer,
    MaskForm,
    MaskTrial,
    Target,
    distance,
    duplicate,
    is_large,
    kernel,
    roles,
    sentence,
    signature,
)

QUERY, KEY = 3, 2  # the probe blocks KEY for QUERY; they are neighbours, so that a short window leaves the pair


def identify(
    function: Callable[..., Any],
    d_model: int,
    n_heads: int,
    *,
    layout: str | None = None,
    mask: str | None = None,
    call: Callable[..., Any] | None = None,
    dtype: torch.dtype = torch.float64,
    vectors: Tensor | None = None,
) -> Probe:
    """Return how to call a module or function, a module as a copy in another format.

    Raises:
        SizeError: the width cannot be split into the heads.
        Unsupported: it cannot be run, or an argument has to be given; the message says which.
    """
    if d_model < 1 or n_heads < 1 or d_model % n_heads:
        raise SizeError(f"d_model={d_model} cannot be split into n_heads={n_heads} equal heads")
    copied, dtype, device = _copy(function, dtype)
    names, fixed = ({"x": "x"}, {}) if call else roles(copied, d_model, n_heads, mask)
    sizes = {n_heads, d_model, d_model // n_heads}
    n = next(size for size in (7, 9, 11, 13, 15) if size not in sizes)
    batch = next(size for size in (3, 5, 2, 6) if size not in sizes)
    target = Target(copied, d_model, n_heads, names, fixed, call=call, dtype=dtype, device=device, vectors=vectors)
    with torch.no_grad():
        target, attends = _with_layout(target, function, layout, n, batch)
        target, notices = _with_format(target, attends, n)
        if call:
            takes = signature(call).parameters
            by_user = MaskForm("allow", "True attends", "b i j") if "allow" in takes else None
            return Probe(replace(target, mask=by_user), n, batch, attends=attends, notices=notices)
        trial, padding = (_try_mask(target, names.get(role), role, n, batch) for role in ("mask", "padding"))
    form = trial.form if trial is not None and trial.fault in ("", "transposed") else None
    padding_form = padding.form if padding is not None and not padding.fault else None
    target = replace(target, mask=form, padding=padding_form)
    return Probe(target, n, batch, trial, padding, attends=attends, notices=notices)


def _copy(function: Callable[..., Any], dtype: torch.dtype) -> tuple[Callable[..., Any], torch.dtype, torch.device]:
    """Return a copy of a module in a format; a large one keeps its parameters, a function is returned."""
    if not isinstance(function, nn.Module):
        return kernel if function is F.scaled_dot_product_attention else function, dtype, torch.device("cpu")
    numbers = [*function.parameters(), *function.buffers()]
    device = numbers[0].device if numbers else torch.device("cpu")
    floats = [x.dtype for x in numbers if x.is_floating_point()]
    if is_large(function):
        return duplicate(function, shared=True).eval(), floats[0] if floats else torch.float32, device
    dtype = torch.float32 if device.type == "mps" else dtype  # which has no float64
    return duplicate(function).to(dtype).eval(), dtype, device


def _with_format(target: Target, attends: bool, n: int) -> tuple[Target, tuple[str, ...]]:
    """Use float32 where the weights are computed in it, and say what is unusual in a pass."""
    notices = [] if attends else ["no token moves the output of another: nothing attends here"]
    with Recorder() as recorder:
        answer = target(target.draw(n, 1))
    if answer.input_changed:
        notices.append("it changes its input in place")
    if target.keeps_state:
        notices.append("a call changes the next one, so that each is measured on a fresh copy")
    size = n * target.d_model // 4  # of q, k or v, or more; tables of angles are smaller
    results = [o.result for o in recorder.operations if o.result.numel() >= min(size, n * n * target.n_heads)]
    formats = {x.dtype for x in results if x.is_floating_point()}
    if inner := next((half for half in (torch.float16, torch.bfloat16) if half in formats - {target.dtype}), None):
        notices.append(f"it computes in {str(inner)[6:]} inside, so that it is measured less sharply")
        target = replace(target, inner=inner)
    elif target.dtype == torch.float64 and torch.float32 in formats:
        notices.append("it computes in float32 inside, so that it is measured in float32")
        target = target.with_dtype(torch.float32)
    return target, tuple(notices)


def _steady(target: Target, function: Callable[..., Any], x: Tensor) -> Target:
    """Return the target, with a copy for each call if it keeps state or a seed if it is random."""
    outs = [replace(target, seed=seed)(x).out for seed in (0, 0, 1)]
    if distance(outs[0], outs[1]) > target.limit:
        return replace(target, function=_copy(function, target.dtype)[0], keeps_state=True)
    return replace(target, seed=0) if distance(outs[0], outs[2]) > target.limit else target


def _with_layout(
    target: Target, function: Callable[..., Any], layout: str | None, n: int, batch: int
) -> tuple[Target, bool]:
    """Choose the layout in which a token changes others of its text and none of another text; whether one does."""
    is_function = not isinstance(target.function, nn.Module)
    splits = is_function and target.takes_qkv and "n_heads" not in map(NAMES.get, target.fixed) and target.n_heads > 1
    candidates: Sequence[str] = [layout] if layout else (("bhsd", "bsd", "sbd") if splits else ("bsd", "sbd"))
    trials, error = list[tuple[Target, bool, bool]](), None
    for candidate in candidates:
        try:
            trial = _steady(replace(target, layout=candidate), function, target.draw(n, batch))
            trials.append((trial, *_reach(trial, n, batch)))
        except Exception as caught:  # of a layout that it does not take
            error = error or caught
    if trials:
        right = [trial for trial, inside, outside in trials if inside and not outside]
        return [*right, trials[0][0]][0], any(inside or outside for _, inside, outside in trials)
    if "indices" in str(error) and "Long" in str(error):
        raise Unsupported("it takes token ids, not vectors; check the attention layer inside it")
    raise Unsupported(
        f"it could not be run on {batch} × {n} × {target.d_model} numbers (b, i, c): {sentence(error)}; "
        "give layout= or call=lambda m, x, allow: …"
    )


def _reach(target: Target, n: int, batch: int) -> tuple[bool, bool]:
    """Return whether a token changes other tokens of its text, and whether it changes other texts."""
    x, inside, outside = target.draw(n, batch), False, False
    for token in (0, n - 1):
        moved = target.moves(x, token) > target.limit
        inside |= bool(moved[0].sum() > moved[0, token])
        outside |= bool(moved[1:].any())
    return inside, outside


def _try_mask(target: Target, name: str | None, role: str, n: int, batch: int) -> MaskTrial | None:
    """Find the first form of a mask in which a blocked key, and no other, no longer reaches its query."""
    if name is None:
        return None
    x = target.draw(n, batch)
    try:
        plain: Answer | None = target(x)
    except Exception:  # it needs a mask
        plain = None
    trials: dict[str, MaskTrial] = {}
    shapes = [*PER_QUERY, *PER_KEY] if role == "mask" else PER_KEY
    for shape, code in product(shapes, CODES):
        form = MaskForm(name, code, shape)
        if "transposed" in trials and shape not in PER_QUERY and role == "mask":
            break
        try:
            fault, leak = _fault(replace(target, mask=form), x, form, plain)
            fault = "leaks" if not fault and _lowers_scores(target, form, n, batch) else fault
        except Exception:  # it does not take this form
            continue
        trials.setdefault(fault, MaskTrial(name, form, fault, leak))
        if not fault:
            break
    return next((trials[x] for x in ("", "transposed", "leaks", "ignored") if x in trials), MaskTrial(name))


def _lowers_scores(target: Target, form: MaskForm, n: int, batch: int) -> bool:
    """Return whether a mask of 0 that seems to be added changes scores, as (1 − mask) · −10 does."""
    allow = torch.ones(batch, n, n, dtype=torch.bool, device=target.device)
    with contextlib.suppress(Exception), torch.enable_grad():  # of a layer that cannot be looked into
        passes = PassGraph(target, n, batch), PassGraph(replace(target, mask=form), n, batch, allow=allow)
        plain, masked = (graph.scores.detach().clamp_min(-BLOCKED) for graph in passes)
        return form.code.startswith("0 is added") and distance(masked, plain) > target.limit
    return False


def block(x: Tensor, form: MaskForm) -> Tensor:
    """Return a mask (b, i, j) that blocks KEY for QUERY, or for all in a form without queries."""
    allow = torch.ones(len(x), x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
    allow[:, QUERY if form.shape in PER_QUERY else slice(None), KEY] = False
    return allow


def _fault(target: Target, x: Tensor, form: MaskForm, plain: Answer | None) -> tuple[str, float]:
    """Return what is wrong with a mask in a form, and how far a blocked key moves its query."""
    limit, allow = target.limit, block(x, form)
    everything = torch.ones_like(allow)
    unmasked, blocked = target(x, allow=everything).out, target(x, allow=allow).out
    if not bool(unmasked.isfinite().all()) or (plain is not None and distance(unmasked, plain.out) > limit):
        raise Unsupported("a mask of True everywhere changes the output")
    if distance(blocked, unmasked) <= limit:
        return "ignored", 0.0
    free, masked = (target.moves(x, KEY, allow=mask)[0] for mask in (everything, allow))
    others = [token for token in range(x.shape[1]) if token not in (QUERY, KEY)]
    is_free = bool(masked[QUERY] <= limit < free[QUERY])
    if form.shape in PER_QUERY:
        if is_free and torch.equal(masked[others] > limit, free[others] > limit):
            return "", 0.0
        turned = [float(target.moves(x, QUERY, allow=mask)[0, KEY]) for mask in (allow, everything)]
        is_turned = turned[0] <= limit < turned[1]
    else:
        if is_free and bool((masked[others] <= limit).all()):
            return "", 0.0
        is_turned = ((blocked - unmasked).abs().amax((0, 2)) > limit).nonzero().flatten().tolist() == [KEY]
    return "transposed" if is_turned else "leaks", float(masked[QUERY])
