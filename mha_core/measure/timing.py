"""Time and memory of implementations that stand side by side (`clock`).

The yardstick is nn.MultiheadAttention with per-head maps and the same weights.
"""

import os
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.autograd.profiler import profile

from ..attention import IMPLEMENTATIONS, Weights
from ..attention.base import AttentionLayer
from ..attention.functional import check_heads
from .agreement import BIASES, loaded


def peak_memory(call: Callable[[], object], device: torch.device | str = "cpu") -> int | None:
    """The most bytes that one call held at a time, over what was there before; None where nobody counts (mps).

    On the CPU torch's profiler tells every allocation and release of the calling thread; what a library takes past
    torch's allocator is not in it. Call it once before, so that what is set up only once is not counted.
    """
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        call()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    if device.type != "cpu":
        return None
    with _profiler() as recorded:
        call()
    events = [event for event in recorded.kineto_results.events() if event.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


def prepare_profiler() -> None:
    """Sets torch's profiler up, to be called by the thread that imported torch.

    Without it `peak_memory` works too, but the first time in another thread writes a needless error into the log.
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
    """nn.MultiheadAttention, and the named implementations with a copy of its weights; all in eval mode.

    `biases`: a key of `agreement.BIASES`. nn.MultiheadAttention has all of them or none: those to be left out are 0.

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
    own = [part if letter in letters else None for letter, part in zip("qkvo", parts, strict=True)]
    weights = Weights(q, k, v, theirs.out_proj.weight.detach(), *own)
    return theirs, {name: loaded(name, weights, n_heads, device=device) for name in names}


def forward_pass(layer: nn.Module, x: Tensor, *, maps: bool) -> None:
    """One pass of x (b, i, d_model) without gradients, through an implementation or nn.MultiheadAttention."""
    with torch.no_grad():
        _out(layer, x, maps)


def training_step(layer: nn.Module, x: Tensor, *, maps: bool) -> None:
    """One pass of x (b, i, d_model) forwards and backwards; the gradients are dropped again."""
    torch.autograd.backward(_out(layer, x, maps).square().mean())
    layer.zero_grad()


def _profiler() -> profile:
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # otherwise it writes two lines to the log each time
    return profile(profile_memory=True)


def _out(layer: nn.Module, x: Tensor, maps: bool) -> Tensor:
    if isinstance(layer, nn.MultiheadAttention):
        out: Tensor = layer(x, x, x, need_weights=maps, average_attn_weights=False)[0]
    else:
        out = layer(x, need_weights=maps)[0]
    return out
