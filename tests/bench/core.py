"""Medians and ratios of this machine: `python -m tests.bench.core [--quick] [--threads N]`.

All candidates of one line run in one series of `timing.calls`. The yardstick is nn.MultiheadAttention with per-head
maps and the same weights.
"""

import argparse
import os
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from mha_core.attention import IMPLEMENTATIONS
from mha_core.clock import describe_machine
from mha_core.errors import Unsupported
from mha_core.measure.reference import read_with_transformers
from mha_core.measure.timing import forward_pass, peak_memory, same_weights, training_step
from mha_core.models.classifier import Classifier, ClassifierSizes
from mha_core.models.model import Model
from mha_core.pretrained import load_model
from mha_core.trace import Trace, no_trace
from tests.bench.medians import median_times

Medians = dict[str, float]
CLASSIFIERS = ("torch", "naive", "efficient", "fused")  # those of the long post, and ours


def forward(
    n: int, rounds: int, *, d_model: int = 384, n_heads: int = 12, device: torch.device | str = "cpu"
) -> Medians:
    """One sentence of n tokens without gradients: "torch" and every implementation, with and without maps."""
    x = torch.randn(1, n, d_model, device=device)
    return median_times(_candidates(forward_pass, x, n_heads), rounds, device=device)


def training(
    rounds: int, *, b: int = 32, n: int = 400, d_model: int = 64, n_heads: int = 8, device: torch.device | str = "cpu"
) -> Medians:
    """Forward and backward of one batch: "torch" and every implementation, with and without maps."""
    x = torch.randn(b, n, d_model, device=device)
    return median_times(_candidates(training_step, x, n_heads), rounds, device=device)


def memory(
    *, b: int = 32, n: int = 400, d_model: int = 64, n_heads: int = 8, device: torch.device | str = "cpu"
) -> dict[str, int | None]:
    """The most bytes that a training step holds at a time: "torch" and every implementation, with and without maps."""
    x, peaks = torch.randn(b, n, d_model, device=device), {}
    for name, step in _candidates(training_step, x, n_heads).items():
        step()
        peaks[name] = peak_memory(step, device)
    return peaks


def classifying(
    rounds: int, *, b: int = 32, n: int = 512, d_model: int = 64, n_heads: int = 8, device: torch.device | str = "cpu"
) -> Medians:
    """A training step of the long post's classifier, whose layer computes the row that is read, "one row", or all."""
    ids = torch.randint(4, 1000, (b, n), device=device)
    keep, candidates = torch.ones_like(ids, dtype=torch.bool), dict[str, Callable[[], None]]()
    for name in CLASSIFIERS:
        for rows in ("one row", "all rows"):
            sizes = ClassifierSizes(1000, d_model, n_heads, 1, n, name, all_rows=rows == "all rows", classes=5)
            classifier = Classifier(sizes).to(device)
            for parameter in classifier.parameters():
                torch.nn.init.normal_(parameter, std=0.1)
            candidates[f"{name}, {rows}"] = partial(_classify, classifier, ids, keep)
    return median_times(candidates, rounds, warm_up=1, device=device)


def _classify(classifier: Classifier, ids: Tensor, keep: Tensor) -> None:
    classifier.zero_grad()
    torch.autograd.backward(classifier.logits(ids, keep, mask_padding=False).square().sum())


def _candidates(call: Callable[..., None], x: Tensor, n_heads: int) -> dict[str, Callable[[], None]]:
    """`call` on x (b, i, d_model) for "torch", with maps, and for every implementation with and without them."""
    theirs, ours = same_weights(x.shape[-1], n_heads, x.device)
    candidates: dict[str, Callable[[], None]] = {}
    for name, layer in ours.items():
        candidates[f"{name}, maps"] = partial(call, layer, x, maps=True)
        candidates[f"{name}, no maps"] = partial(call, layer, x, maps=False)
    return {**candidates, "torch": partial(call, theirs, x, maps=True)}


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

    return median_times({"headlight": lambda: model.run(text), "transformers": transformers}, rounds)


def tracing(n: int, rounds: int, *, d_model: int = 384, n_heads: int = 12) -> Medians:
    """A fused pass with tracing "on" and "off", and "no-ops": what the calls of an empty trace cost in one pass."""
    layer, x, calls = IMPLEMENTATIONS["fused"](d_model, n_heads).eval(), torch.randn(1, n, d_model), 0

    def counting(name: str, value: Tensor, axes: str, expression: str = "", of: tuple[str, ...] = ()) -> None:
        nonlocal calls
        calls += 1

    with torch.no_grad():
        layer(x, trace=counting)
        times = median_times({"off": lambda: layer(x), "on": lambda: layer(x, trace=Trace())}, rounds)
    start = time.perf_counter()
    for _ in range(10_000):
        no_trace("scores", x, "b h i j", "q kᵀ / √d_head")
    return {**times, "no-ops": (time.perf_counter() - start) / 10_000 * calls}


def _print(what: str, ours: float, theirs: float, unit: str = "ms") -> None:
    scale = {"ms": 1e3, "µs": 1e6, "MB": 1e-6}[unit]
    print(f"{what:<52}{ours * scale:>10.2f}{theirs * scale:>10.2f} {unit}{ours / theirs:>8.3f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Measures and prints all lines; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.core", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the rounds and the smaller sizes")
    parser.add_argument("--threads", type=int, help="threads that torch may use; default: as torch chooses")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads or torch.get_num_threads())
    os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}  # figures, no reports
    few = 5 if options.quick else 1
    torch.manual_seed(0)
    maps, no_maps = ([f"{name}, {kind}" for name in IMPLEMENTATIONS] for kind in ("maps", "no maps"))
    print(describe_machine())
    print(f"{'medians':<52}{'ours':>10}{'theirs':>10}{'ratio':>11}")
    for n in (64, 256) if options.quick else (64, 128, 256, 512, 1024):
        times = forward(n, max(8, 20_000 // n // few))
        for name in maps + (no_maps if n >= 256 else []):
            _print(f"forward d 384 h 12 n {n}  {name}", times[name], times["torch"])
    times = training(max(3, 15 // few))
    for name in maps + no_maps:
        _print(f"training step b 32 n 400 d 64 h 8  {name}", times[name], times["torch"])
    peaks = memory()
    for name in maps + no_maps:
        ours, theirs = peaks[name], peaks["torch"]
        if ours and theirs:
            _print(f"peak memory of that step  {name}", ours, theirs, "MB")
    times = classifying(max(3, 9 // few))
    for name in CLASSIFIERS:
        one, every = times[f"{name}, one row"], times[f"{name}, all rows"]
        _print(f"classifier's step b 32 n 512, one row / all  {name}", one, every)
    model = load_model("minilm", device="cpu")
    for n in (16, 128) if options.quick else (16, 64, 128, 256, 512):
        times = maps_of_minilm(model, n, max(7, 3_000 // n // few))
        _print(f"72 maps of MiniLM, transformers eager, n {n}", times["headlight"], times["transformers"])
    for n in (16, 128):
        times = tracing(n, max(50, 1000 // few))
        _print(f"tracing on against off, d 384 h 12 n {n}", times["on"], times["off"], "µs")
        _print(f"tracing off: the empty calls against a pass, n {n}", times["no-ops"], times["off"], "µs")


if __name__ == "__main__":
    main()
