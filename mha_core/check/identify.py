"""Find by trying what a signature leaves open: which axis is the batch, and how a mask is written."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import SizeError, Unsupported
from .tap import Tap
from .target import (
    CODES,
    LAYOUTS,
    MAX_COPIED,
    PER_QUERY,
    SHAPES,
    SIZES,
    MaskForm,
    Target,
    change,
    distance,
    roles,
    signature,
    tolerance,
)

QUERY, KEY, OTHER = 4, 2, 5  # the probe blocks KEY for QUERY and leaves it to OTHER


@dataclass(frozen=True)
class Identified:
    """A target whose calls are known, with what trying found amiss."""

    target: Target
    n: int
    batch: int
    mask_fault: str = ""  # "transposed", "leaks" or "ignored"
    leak: float = 0.0
    mask_tried: str = ""  # name of a parameter in which no form blocks a key
    leaking: MaskForm | None = None  # the first form that has an effect
    attends: bool = True
    notices: tuple[str, ...] = ()


def identify(
    function: Callable[..., Any],
    d_model: int,
    n_heads: int,
    *,
    layout: str | None = None,
    mask: str | None = None,
    call: Callable[..., Any] | None = None,
    dtype: torch.dtype = torch.float64,
) -> Identified:
    """Return how to call a module or function, a module as a copy in another format.

    Raises:
        SizeError: the width cannot be split into the heads.
        Unsupported: it cannot be run, or an argument has to be given; the message says which.
    """
    if d_model < 1 or n_heads < 1 or d_model % n_heads:
        raise SizeError(f"d_model={d_model} cannot be split into n_heads={n_heads} equal heads")
    if layout not in (None, *LAYOUTS):
        raise Unsupported(f"layout={layout!r} is unknown; choose from {', '.join(LAYOUTS)}")
    function, dtype, device = _copy(function, dtype)
    names, fixed = ({"x": "x"}, {}) if call else roles(function, d_model, n_heads, mask)
    sizes = {n_heads, d_model, d_model // n_heads}
    n = next(size for size in (7, 9, 11, 13, 15) if size not in sizes)
    batch = next(size for size in (3, 5, 2, 6) if size not in sizes)
    target = Target(function, d_model, n_heads, names, fixed, layout or "bsd", call=call, dtype=dtype, device=device)
    with torch.no_grad():
        target, attends = _with_layout(target, layout, n, batch)
        target, notices = _with_format(target, attends, n)
        if call:
            takes = inspect_names(call)
            by_user = MaskForm("allow", "True attends", "b i j") if "allow" in takes else None
            return Identified(replace(target, mask=by_user), n, batch, notices=notices, attends=attends)
        identified = _with_mask(target, n, batch)
        padding = names.get("padding")
        if padding:
            forms = [MaskForm(padding, code, shape) for shape, code in product(("b j", "b 1 1 j", "j b"), CODES)]
            form = next((form for form in forms if _pads(replace(identified.target, padding=form), n, batch)), None)
            identified = replace(identified, target=replace(identified.target, padding=form))
    return replace(identified, notices=notices, attends=attends)


def inspect_names(call: Callable[..., Any]) -> set[str]:
    """Return the names of the parameters of a call that the user gives."""
    return set(signature(call).parameters)


def _copy(function: Callable[..., Any], dtype: torch.dtype) -> tuple[Callable[..., Any], torch.dtype, torch.device]:
    """Return a copy of a module in a format; a large module and a function as they are."""
    if not isinstance(function, nn.Module):
        return function, dtype, torch.device("cpu")
    numbers = [*function.parameters(), *function.buffers()]
    device = numbers[0].device if numbers else torch.device("cpu")
    floats = [x.dtype for x in numbers if x.is_floating_point()]
    if sum(x.numel() for x in numbers) > MAX_COPIED:
        return function.eval(), floats[0] if floats else torch.float32, device
    dtype = torch.float32 if device.type == "mps" else dtype  # which has no float64
    return copy.deepcopy(function).to(dtype).eval(), dtype, device


def _with_format(target: Target, attends: bool, n: int) -> tuple[Target, tuple[str, ...]]:
    """Use float32 where the weights are computed in it, and say what is unusual in a pass."""
    notices = [] if attends else ["no token moves the output of another: nothing attends here"]
    tap = Tap()
    x = target.draw(n, 1)
    original = x.clone()
    with tap:
        if target.takes_qkv or target.call or target.layout != "bsd":
            target(x)
        else:  # without the copy that other passes make
            target.run({**target.fixed, target.names["x"]: x, **target.positions(x, 0)})
    if not torch.equal(x, original):
        notices.append("it changes its input in place")
    size = n * target.d_model // 4  # of q, k or v, or more; tables of angles are smaller
    results = [operation.result for operation in tap.operations]
    formats = {x.dtype for x in results if x.numel() >= size and x.is_floating_point()}
    if target.dtype == torch.float64 and torch.float32 in formats:
        notices.append("it computes in float32 inside, so that it is measured in float32")
        target = target.with_dtype(torch.float32)
    return target, tuple(notices)


def _with_layout(target: Target, layout: str | None, n: int, batch: int) -> tuple[Target, bool]:
    """Choose the layout in which a token changes others of its text and none of another text; whether one does."""
    is_function = not isinstance(target.function, nn.Module)
    splits = is_function and target.takes_qkv and not set(target.fixed) & set(SIZES) and target.n_heads > 1
    candidates: Sequence[str] = [layout] if layout else (("bhsd", "bsd", "sbd") if splits else ("bsd", "sbd"))
    running: list[Target] = []
    attends = False
    error: Exception | None = None
    for candidate in candidates:
        candidate_target = replace(target, layout=candidate)
        try:
            inside, outside = _reach(candidate_target, n, batch)
        except Exception as caught:  # of a layout that it does not take
            error = error or caught
            continue
        running.append(candidate_target)
        if inside and not outside:
            return candidate_target, True
        attends |= inside or outside
    if running:
        return running[0], attends
    if "indices" in str(error) and "Long" in str(error):
        raise Unsupported("it takes token ids, not vectors; check the attention layer inside it")
    raise Unsupported(
        f"it could not be run on {batch} × {n} × {target.d_model} numbers (b, i, c): {_sentence(error)}; "
        "give layout= or call=lambda m, x, allow: …"
    )


def _sentence(error: Exception | None) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error).strip() else 'no message'}"


def _reach(target: Target, n: int, batch: int) -> tuple[bool, bool]:
    """Return whether a token changes other tokens of its text, and whether it changes other texts."""
    x = target.draw(n, batch)
    out = target(x).out.nan_to_num()
    inside = outside = False
    for token in (0, n - 1):
        moved = (target(change(x, token)).out.nan_to_num() - out).abs().amax(-1) > tolerance(
            target.dtype
        ) * out.abs().max()
        inside |= bool(moved[0].sum() > moved[0, token])
        outside |= bool(moved[1:].any())
    return inside, outside


def _with_mask(target: Target, n: int, batch: int) -> Identified:
    """Find the first form of the mask in which a blocked key does not reach its query and others do."""
    name = target.names.get("mask")
    if name is None:
        return Identified(target, n, batch)
    x = target.draw(n, batch)
    try:
        plain = target(x).out
    except Exception:  # it needs a mask
        plain = None
    leaking: tuple[MaskForm, float] | None = None
    is_inert = True
    limit = tolerance(target.dtype)
    for shapes in (PER_QUERY, [shape for shape in SHAPES if shape not in PER_QUERY]):
        transposed: MaskForm | None = None
        for shape, code in product(shapes, CODES):
            form = MaskForm(name, code, shape)
            candidate = replace(target, mask=form)
            try:
                moved, unmasked, blocked = _blocks(candidate, x, shape in PER_QUERY)
            except Exception:  # it does not take this form
                continue
            if not bool(unmasked.isfinite().all()) or (plain is not None and distance(unmasked, plain) > limit):
                continue
            is_inert &= distance(blocked, unmasked) < limit
            if moved[QUERY] <= limit < moved[OTHER]:
                return Identified(candidate, n, batch)
            if shape in PER_QUERY and transposed is None and _is_transposed(candidate, x):
                transposed = form
            elif distance(blocked, unmasked) > limit and leaking is None:
                leaking = form, moved[QUERY]
        if transposed is not None:
            return Identified(replace(target, mask=transposed), n, batch, "transposed", mask_tried=name)
    if leaking is not None:
        return Identified(target, n, batch, "leaks", leaking[1], name, leaking[0])
    return Identified(target, n, batch, "ignored" if is_inert else "leaks", mask_tried=name)


def _blocks(target: Target, x: Tensor, per_query: bool) -> tuple[list[float], Tensor, Tensor]:
    """Return how far each output moves with a blocked key, and the outputs without and with the block."""
    batch, n = x.shape[:2]
    allow = torch.ones(batch, n, n, dtype=torch.bool, device=x.device)
    unmasked = target(x, allow=allow).out
    if per_query:
        allow[:, QUERY, KEY] = False
    else:
        allow[:, :, KEY] = False
    blocked = target(x, allow=allow).out
    moved = (target(change(x, KEY), allow=allow).out - blocked).abs().amax(-1)[0] / blocked.abs().max()
    moves = [float(number) for number in moved]
    if not per_query:  # no query may read the key, where without a mask one did
        free = (target(change(x, KEY)).out - target(x).out).abs().amax(-1)[0]
        moves[QUERY] = max(number for token, number in enumerate(moves) if token != KEY)
        moves[OTHER] = float(free[OTHER])
    return moves, unmasked, blocked


def _is_transposed(target: Target, x: Tensor) -> bool:
    """Return whether the block of (QUERY, KEY) keeps KEY from reading QUERY."""
    allow = torch.ones(len(x), x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
    allow[:, QUERY, KEY] = False
    blocked = target(x, allow=allow).out
    moved = (target(change(x, QUERY), allow=allow).out - blocked).abs().amax(-1)[0] / blocked.abs().max()
    return bool(moved[KEY] <= tolerance(target.dtype) < moved[OTHER])


def _pads(target: Target, n: int, batch: int) -> bool:
    """Return whether a padded token no longer changes the others."""
    x = target.draw(n, batch)
    real = torch.ones(batch, n, dtype=torch.bool, device=x.device)
    try:
        if distance(target(x, padding=real).out, target(x).out) > tolerance(target.dtype):
            return False
        real[0, n - 1] = False
        out = target(x, padding=real).out
        return distance(target(change(x, n - 1), padding=real).out[0, : n - 1], out[0, : n - 1]) < tolerance(
            target.dtype
        )
    except Exception:  # it does not take this form
        return False
