"""One encoding of each kind, by the place where it acts."""

from __future__ import annotations

from collections.abc import Callable

from mha_core.positions import ALiBi, Learned, Position, Rotary, Shaw, Sinusoidal, T5Bias

C, H, D = 12, 3, 4
EVERY: dict[str, Callable[[], Position]] = {
    "add Sinusoidal": lambda: Sinusoidal(C),
    "add Learned": lambda: Learned(C, 40),
    "rotate Rotary": lambda: Rotary(D),
    "bias ALiBi": lambda: ALiBi(H),
    "bias ALiBi causal": lambda: ALiBi(H, symmetric=False),
    "bias T5Bias": lambda: T5Bias(H),
    "bias T5Bias causal": lambda: T5Bias(H, causal=True),
    "bias Shaw": lambda: Shaw(D, 5),
}
