"""How fast is it here? `python -m mha_core.benchmark [--quick] [--threads N]` prints medians and ratios.

All candidates of one line run in one interleaved, shuffled, warmed-up series, so that whatever else the machine does
falls on all alike. The yardstick is nn.MultiheadAttention with per-head maps and the same weights.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from .attention import IMPLEMENTATIONS, Weights
from .attention.base import AttentionLayer
from .errors import Unsupported
from .model import Model
from .pretrained import load_model, read_with_transformers
from .trace import Trace, no_trace

__all__ = ["forward", "interleaved", "machine", "maps_of_minilm", "same_weights", "text_of", "tracing", "training"]

Candidates = Mapping[str, Callable[[], object]]
Medians = dict[str, float]


def interleaved(
    candidates: Candidates, rounds: int, *, warm_up: int = 2, seed: int = 0, device: torch.device | str = "cpu"
) -> Medians:
    """Median seconds of each candidate, in the order given.

    Every round calls each candidate once, in a freshly shuffled order; `warm_up` rounds before are not counted. On a
    GPU the clock is read only when the device has finished.
    """
    order, shuffle = list(candidates), random.Random(seed)
    on_gpu = torch.device(device).type != "cpu"
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for number in range(-warm_up, rounds):
        shuffle.shuffle(order)
        for name in order:
            if on_gpu:
                torch.accelerator.synchronize(device)
            start = time.perf_counter()
            candidates[name]()
            if on_gpu:
                torch.accelerator.synchronize(device)
            if number >= 0:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def machine() -> str:
    """The processor if its name is known, torch's version, and the threads in use."""
    names = [platform.processor(), platform.machine()]
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")] + names
    name = next((name for name in names if name), "unknown processor")
    return f"{name}, torch {torch.__version__}, {torch.get_num_threads()} threads"


def same_weights(
    d_model: int, n_heads: int, device: torch.device | str = "cpu"
) -> tuple[nn.MultiheadAttention, dict[str, AttentionLayer]]:
    """nn.MultiheadAttention, and every implementation with a copy of its weights."""
    theirs = nn.MultiheadAttention(d_model, n_heads, batch_first=True, device=device)
    q, k, v = theirs.in_proj_weight.detach().chunk(3)
    q_bias, k_bias, v_bias = theirs.in_proj_bias.detach().chunk(3)
    out = theirs.out_proj
    weights = Weights(q, k, v, out.weight.detach(), q_bias, k_bias, v_bias, out.bias.detach())
    return theirs, {name: kind(d_model, n_heads).to(device).load(weights) for name, kind in IMPLEMENTATIONS.items()}


def forward(
    n: int, rounds: int, *, d_model: int = 384, n_heads: int = 12, device: torch.device | str = "cpu"
) -> Medians:
    """One sentence of n tokens without gradients: "torch" and every implementation, with and without maps."""
    theirs, ours = same_weights(d_model, n_heads, device)
    x = torch.randn(1, n, d_model, device=device)
    candidates: dict[str, Callable[[], object]] = {}
    for name, layer in ours.items():
        candidates[f"{name}, maps"] = partial(layer.eval(), x)
        candidates[f"{name}, no maps"] = partial(layer, x, need_weights=False)
    theirs.eval()
    candidates["torch"] = lambda: theirs(x, x, x, need_weights=True, average_attn_weights=False)
    with torch.no_grad():
        return interleaved(candidates, rounds, device=device)


def training(
    rounds: int, *, b: int = 32, n: int = 400, d_model: int = 64, n_heads: int = 8, device: torch.device | str = "cpu"
) -> Medians:
    """Forward and backward of one batch: "torch" and every implementation, with and without maps."""
    theirs, ours = same_weights(d_model, n_heads, device)
    x = torch.randn(b, n, d_model, device=device)

    def step(module: nn.Module, run: Callable[[Tensor], tuple[Tensor, Tensor | None]]) -> None:
        module.zero_grad()
        torch.autograd.backward(run(x)[0].square().mean())

    candidates: dict[str, Callable[[], object]] = {}
    for name, layer in ours.items():
        candidates[f"{name}, maps"] = partial(step, layer, layer)
        candidates[f"{name}, no maps"] = partial(step, layer, partial(layer, need_weights=False))
    candidates["torch"] = lambda: step(theirs, lambda x: theirs(x, x, x, average_attn_weights=False))
    return interleaved(candidates, rounds, device=device)


def text_of(tokens: int) -> str:
    """A text of that many tokens, special tokens included, in words that are one token each."""
    words = ["the", "animal", "crossed", "a", "street", "because", "it", "was", "too", "tired"]
    return " ".join(words[place % len(words)] for place in range(tokens - 2))


def maps_of_minilm(model: Model, tokens: int, rounds: int) -> Medians:
    """All 72 maps and 7 states of a text: "headlight" against "transformers" (eager), same files, same tokenizer.

    Raises:
        Unsupported: the model was not read from a folder.
    """
    if model.folder is None:
        raise Unsupported(f"model {model.name!r} was not read from a folder, so transformers has nothing to read")
    text, reference = text_of(tokens), read_with_transformers(model.folder, model.dtype)

    def transformers() -> object:
        with torch.no_grad():
            out = reference(torch.tensor([model.tokenize(text)[1]]), output_attentions=True, output_hidden_states=True)
        return torch.cat(out.attentions), torch.cat(out.hidden_states)

    return interleaved({"headlight": lambda: model.run(text), "transformers": transformers}, rounds)


def tracing(n: int, rounds: int, *, d_model: int = 384, n_heads: int = 12) -> Medians:
    """A fused pass with tracing "on" and "off", and "no-ops": what the calls of an empty trace cost in one pass."""
    layer, x, calls = IMPLEMENTATIONS["fused"](d_model, n_heads).eval(), torch.randn(1, n, d_model), 0

    def counting(name: str, value: Tensor, axes: str, expression: str = "") -> None:
        nonlocal calls
        calls += 1

    with torch.no_grad():
        layer(x, trace=counting)
        times = interleaved({"off": lambda: layer(x), "on": lambda: layer(x, trace=Trace())}, rounds)
    start = time.perf_counter()
    for _ in range(10_000):
        no_trace("scores", x, "b h i j", "q kᵀ / √d_head")
    return {**times, "no-ops": (time.perf_counter() - start) / 10_000 * calls}


def _line(what: str, own: float, other: float, unit: str = "ms") -> str:
    scale = {"ms": 1e3, "µs": 1e6}[unit]
    return f"{what:<52}{own * scale:>10.2f}{other * scale:>10.2f} {unit}{own / other:>8.3f}"


def main(arguments: list[str] | None = None) -> None:
    """Measures and prints all lines; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.benchmark", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the rounds and the smaller sizes")
    parser.add_argument("--threads", type=int, help="threads that torch may use; default: as torch chooses")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads or torch.get_num_threads())
    os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}  # figures, no reports
    few = 5 if options.quick else 1
    torch.manual_seed(0)
    maps, no_maps = ([f"{name}, {kind}" for name in IMPLEMENTATIONS] for kind in ("maps", "no maps"))
    print(machine())
    print(f"{'medians':<52}{'ours':>10}{'theirs':>10}{'ratio':>11}")
    for n in (64, 256) if options.quick else (64, 128, 256, 512, 1024):
        times = forward(n, max(8, 20_000 // n // few))
        for name in maps + (no_maps if n >= 256 else []):
            print(_line(f"forward d 384 h 12 n {n}  {name}", times[name], times["torch"]), flush=True)
    times = training(max(3, 15 // few))
    for name in maps + no_maps:
        print(_line(f"training step b 32 n 400 d 64 h 8  {name}", times[name], times["torch"]), flush=True)
    model = load_model("minilm", device="cpu")
    for n in (16, 128) if options.quick else (16, 64, 128, 256, 512):
        times = maps_of_minilm(model, n, max(7, 3_000 // n // few))
        print(
            _line(f"72 maps of MiniLM, transformers eager, n {n}", times["headlight"], times["transformers"]),
            flush=True,
        )
    for n in (16, 128):
        times = tracing(n, max(50, 1000 // few))
        print(_line(f"tracing on against off, d 384 h 12 n {n}", times["on"], times["off"], "µs"))
        print(
            _line(f"tracing off: the empty calls against a pass, n {n}", times["no-ops"], times["off"], "µs"),
            flush=True,
        )


if __name__ == "__main__":
    main()
