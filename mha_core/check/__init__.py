"""Is this attention right? A check of any module or function that attends, property by property.

from mha_core import check
print(check(MyAttention(64, 4), d_model=64, n_heads=4))
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ..errors import HeadlightError, Unsupported
from . import behaviour, inside, reference
from .finding import FAILS, HOLDS, NOT_APPLICABLE, UNKNOWN, DoesNotApply, Finding
from .identify import identify
from .probe import Probe
from .report import CheckFailure, Report
from .target import LAYOUTS, sentence

__all__ = ["FAILS", "HOLDS", "NOT_APPLICABLE", "UNKNOWN", "CheckFailure", "Finding", "Report", "check"]

PROPERTIES: dict[int, Callable[[Probe], Finding]] = {
    1: inside.row_sums, 2: behaviour.future, 3: behaviour.mask, 4: behaviour.padding, 5: behaviour.batch_mates,
    6: inside.heads, 7: inside.scale, 8: inside.positions, 9: behaviour.cache, 10: inside.groups,
    11: behaviour.dropout, 12: behaviour.empty_row, 13: behaviour.gradients, 14: behaviour.formats,
    15: reference.reference,
}  # fmt: skip
_NEED_ONE_OUTPUT = {4, 5, 9, 15}  # properties that compare passes of two sizes, or another layer
POSITIONS = ("", "none", "absolute", "relative", "rotary", "rotary pairs", "rotary halves")


class _TimeUp(BaseException):
    """A property took longer than its time; not an Exception, so that no handler of the module takes it."""


def check(
    function: Callable[..., Any],
    d_model: int,
    n_heads: int,
    *,
    layout: str | None = None,
    mask: str | None = None,
    mask_true: str = "",
    causal: bool | None = None,
    scale: float | None = None,
    positions: str = "",
    call: Callable[..., Any] | None = None,
    dtype: torch.dtype = torch.float64,
    seconds: float = 20.0,
    properties: Collection[int] = (),
    vectors: Tensor | None = None,
) -> Report:
    """Check whether a module or function computes multi-head attention.

    What the signature does not say is found by trying. A module is copied and left as it was.

    Args:
        function: takes (x), (x, mask), (q, k, v), …; x is (b, i, d_model) or as layout says.
        d_model: the width of the input.
        n_heads: the number of heads.
        layout: "bsd" batch first, "sbd" sequence first, "bhsd" heads already split; default: found by trying.
        mask: the name of the parameter that takes the mask; default: found by name.
        mask_true: what True means in the mask, "attends" or "blocks"; default: found by trying, and reported.
        causal: whether it is meant to be causal by itself; default: found by trying.
        scale: the factor of q · k; default 1 / √d_head.
        positions: what is meant, one of "none", "absolute", "relative", "rotary", "rotary pairs", "rotary halves";
            default: found by trying.
        call: how to call it, for example `lambda m, x, allow: m(x, mask=~allow)`; it returns the output, or the
            output and the weights.
        dtype: the format in which it is measured; float32 tells rounding from faults less sharply.
        seconds: the time that one property may take.
        properties: numbers of the properties to check; default: all.
        vectors: (n, d_model) of a text to measure with; further tokens and texts are random, as all are by default.

    Returns:
        a report with a verdict on each property.

    Raises:
        SizeError: d_model cannot be split into n_heads.
        Unsupported: it cannot be called, or an argument has to be given; the message says which.
    """
    for name, value, allowed in (
        ("mask_true", mask_true, ("", "attends", "blocks")),
        ("positions", positions, POSITIONS),
        ("layout", layout or "", ("", *LAYOUTS)),
    ):
        if value not in allowed:
            raise Unsupported(f"{name}={value!r} is unknown; choose from {', '.join(filter(None, allowed))}")
    _warm_up()
    try:
        with _time(seconds):
            probe = identify(
                function, d_model, n_heads, layout=layout, mask=mask, call=call, dtype=dtype, vectors=vectors
            )
    except _TimeUp:
        raise Unsupported(f"it ran for more than {seconds:g} s on a text of a few tokens") from None
    probe = replace(probe, causal=causal, scale=scale, positions=positions, mask_true=mask_true)
    numbers = [number for number in PROPERTIES if number in (properties or PROPERTIES)]
    findings = [_finding(number, PROPERTIES[number], probe, seconds) for number in numbers]
    return Report(findings, getattr(function, "__name__", type(function).__name__), probe)


def _finding(number: int, property_: Callable[[Probe], Finding], probe: Probe, seconds: float) -> Finding:
    """Return the verdict on one property; whatever the module raises is a sentence."""
    try:
        with _time(seconds), torch.random.fork_rng(devices=[]):
            if number != 14 and not probe.is_finite:
                return Finding(number, UNKNOWN, "its output for random numbers is not finite")
            if number in _NEED_ONE_OUTPUT and probe.target.seed is not None:
                return Finding(number, UNKNOWN, "it is random in evaluation mode: see 11")
            return property_(probe)
    except _TimeUp:
        return Finding(number, UNKNOWN, f"it took longer than {seconds:g} s")
    except DoesNotApply as reason:
        return Finding(number, NOT_APPLICABLE, str(reason))
    except HeadlightError as error:
        return Finding(number, UNKNOWN, str(error))
    except Exception as error:
        return Finding(number, UNKNOWN, f"it raised {sentence(error)}")


@cache
def _warm_up() -> None:
    """Import what torch imports at its first Jacobian: an import that is cut short leaves the library broken."""
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    torch.autograd.grad(x * x, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)
    torch.autograd.gradcheck(lambda y: y * y, x, fast_mode=True)


@contextmanager
def _time(seconds: float) -> Iterator[None]:
    """Raise _TimeUp in this thread after so many seconds."""
    thread = threading.get_ident()
    lock, done = threading.Lock(), False

    def stop() -> None:
        with lock:
            if not done:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_TimeUp))

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            done = True
        timer.cancel()
