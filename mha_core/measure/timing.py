"""Time and memory of implementations, measured side by side with `clock`.

The baseline is nn.MultiheadAttention with per-head maps and the same weights.
"""

import os
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.autograd.profiler import profile

from ..attention import IMPLEMENTATIONS, Weights
from ..attention.base import AttentionLayer
from ..attention.functional import check_heads
from .agreement import BIASES, load_layer


def peak_memory(call: Callable[[], object], device: torch.device | str = "cpu") -> int | None:
    """Return the peak memory of one call in bytes, above what was allocated before; None on mps.

    On the CPU torch's profiler reports every allocation and release of the calling thread; memory that a library takes
    past torch's allocator is not counted. Call it once before, so that one-time set-up is not counted.
    """
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        baseline = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        call()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - baseline
    if device.type != "cpu":
        return None
    with _profiler() as recorded:
        call()
    events = [event for event in recorded.kineto_results.events() if event.name() == "[memory]"]
    allocated = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        allocated += event.nbytes()
        peak = max(peak, allocated)
    return peak


def prepare_profiler() -> None:
    """Set up torch's profiler; call it from the thread that imported torch.

    Without it `peak_memory` works too, but its first call in another thread logs a needless error.
    """
    with _profiler():
        pass


def same_weights(
    d_model: int,
    n_heads: int,
    device: torch.device | str = "cpu",
    names: Sequence[str] = tuple(IMPLEMENTATIONS),
    *,
    biases: str = "all",
) -> tuple[nn.MultiheadAttention, dict[str, AttentionLayer]]:
    """Build nn.MultiheadAttention and the named implementations with a copy of its weights, in eval mode.

    nn.MultiheadAttention has all biases or none: those that `biases`, a key of `agreement.BIASES`, leaves out are 0.

    Raises:
        SizeError: d_model is no multiple of n_heads.
    """
    check_heads("d_model", d_model, n_heads)
    letters = BIASES[biases]
    theirs = nn.MultiheadAttention(d_model, n_heads, bias=bool(letters), batch_first=True, device=device).eval()
    q, k, v = theirs.in_proj_weight.detach().chunk(3)
    parts: list[Tensor | None] = [None] * 4
    if letters:
        parts = [*theirs.in_proj_bias.detach().chunk(3), theirs.out_proj.bias.detach()]
    biases_or_none = [part if letter in letters else None for letter, part in zip("qkvo", parts, strict=True)]
    weights = Weights(q, k, v, theirs.out_proj.weight.detach(), *biases_or_none)
    return theirs, {name: load_layer(name, weights, n_heads, device=device) for name in names}


def forward_pass(layer: nn.Module, x: Tensor, *, maps: bool) -> None:
    """Run x (b, i, d_model) forwards without gradients."""
    with torch.no_grad():
        _out(layer, x, maps)


def training_step(layer: nn.Module, x: Tensor, *, maps: bool) -> None:
    """Run x (b, i, d_model) forwards and backwards, and drop the gradients."""
    torch.autograd.backward(_out(layer, x, maps).square().mean())
    layer.zero_grad()


def _profiler() -> profile:
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # otherwise it logs two lines each time
    return profile(profile_memory=True)


def _out(layer: nn.Module, x: Tensor, maps: bool) -> Tensor:
    if isinstance(layer, nn.MultiheadAttention):
        out: Tensor = layer(x, x, x, need_weights=maps, average_attn_weights=False)[0]
    else:
        out = layer(x, need_weights=maps)[0]
    return out
