"""Every model type of the installed transformers, tiny and random: what of its attention can be seen and changed here.

``python -m tests.bench.models [--types bert,gpt2] [--workers 2] [--out docs/models.md]``
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from mha_core.pretrained import offline, seam
from tests.core import tiny_models

PARTS = ("q", "k", "v", "scores", "mask", "mixed")
MOST_SECONDS = 40  # for one type


@dataclass
class Row:
    """What was found of one model type."""

    model_type: str
    kind: str = ""
    road: str = ""
    maps: str = ""
    same_output: bool | None = None
    same_maps: str = ""
    rows: str = ""
    heads_off: bool | None = None
    parts: tuple[str, ...] = field(default_factory=tuple)
    reason: str = ""


def outputs(found: Any) -> list[torch.Tensor]:
    """Every tensor of floats that a model gives back, maps and caches aside."""
    if isinstance(found, torch.Tensor):
        return [found] if found.is_floating_point() else []
    if isinstance(found, dict):
        left = {key: value for key, value in found.items() if "attentions" not in key and "past" not in key}
        return [one for value in left.values() for one in outputs(value)]
    return [one for value in found for one in outputs(value)] if isinstance(found, (list, tuple)) else []


def own_maps(found: Any) -> list[torch.Tensor]:
    """The maps that a model hands out itself."""
    names = ("encoder_attentions", "decoder_attentions", "cross_attentions", "attentions")
    return [one for name in names for one in (found.get(name) or ()) if isinstance(one, torch.Tensor)]


def look(model_type: str) -> Row:
    """Tries the classes of a type, each with several tiny descriptions, until one runs."""
    row = Row(model_type)
    signal.signal(signal.SIGALRM, _too_slow)
    signal.alarm(MOST_SECONDS)
    try:
        library = offline.transformers()
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING

        torch.set_num_threads(1)
        names = tiny_models.classes(model_type)
        if not names:
            row.reason = "no class that reads text, pictures or sound alone"
        for name in names:
            kind = getattr(library, name)
            for more in tiny_models.TRIES:
                row = Row(model_type, name)
                try:
                    _examine(row, tiny_models.build(kind, CONFIG_MAPPING[model_type], **more))
                except Exception as error:
                    row.reason = row.reason or f"{type(error).__name__}: {str(error).strip()[:160]}"
                    if "--trace" in sys.argv:
                        traceback.print_exc()
                if row.road:
                    return row
    except TimeoutError:
        row.reason = f"takes more than {MOST_SECONDS} s"
    finally:
        signal.alarm(0)
    return row


def _too_slow(*_: Any) -> None:
    raise TimeoutError


def _examine(row: Row, model: Any) -> None:
    from transformers import AttentionInterface

    given = tiny_models.inputs(model)
    names = seam.names_of(model)

    def run(request: seam.Request | None = None, **more: Any) -> Any:
        torch.manual_seed(0)
        with torch.no_grad():
            if request is None:
                return model(**given, **more)
            with seam.answering(request):
                return model(**given, **more)

    AttentionInterface._global_mapping.pop("eager", None)
    try:
        plain = run()
        try:
            theirs = own_maps(run(output_attentions=True))
        except Exception:
            theirs = []
    finally:
        seam.register()
    request = seam.Request(names, keep=frozenset(PARTS) - {"scores"})
    found = run(request)
    if not request.calls:
        if not theirs:
            row.reason = "gives no maps"
            return
        row.road, row.maps, row.rows = "output_attentions", shapes(theirs), rows_of(theirs)
        row.same_output = True
        return
    row.maps, row.rows = shapes([call.weights for call in request.calls]), rows_of([c.weights for c in request.calls])
    row.same_output = all(map(same, outputs(plain), outputs(found)))
    row.same_maps = compare(theirs, [call.weights for call in request.calls])
    with_scores = seam.Request(names, keep=frozenset(PARTS))
    try:
        run(with_scores)
        kept = set.intersection(*(set(call.parts) for call in with_scores.calls))
    except Exception:
        kept = set.intersection(*(set(call.parts) for call in request.calls))
    row.parts = tuple(part for part in PARTS if part in kept)
    most = max(call.weights.shape[1] for call in request.calls)
    off = seam.Request(names, heads=torch.zeros(len(request.calls), most, dtype=torch.bool))
    changed = run(off)
    row.heads_off = any(not torch.equal(a, b) for a, b in zip(outputs(plain), outputs(changed), strict=True))
    row.road = "seam"


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Bit for bit, what is no number in the same places."""
    return torch.equal(a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(), b.nan_to_num())


def compare(theirs: list[torch.Tensor], ours: list[torch.Tensor]) -> str:
    """How many of the maps that the model hands out are, bit for bit, among those that were recorded."""
    if not theirs:
        return "none handed out"
    left = list(ours)
    same = 0
    for one in theirs:
        at = next((n for n, other in enumerate(left) if other.shape == one.shape and torch.equal(one, other)), None)
        if at is not None:
            del left[at]
            same += 1
    return "all" if same == len(theirs) else f"{same} of {len(theirs)}"


def shapes(maps: list[torch.Tensor]) -> str:
    """ "4 × (4, 72, 72)" of the maps."""
    counts: dict[tuple[int, ...], int] = {}
    for one in maps:
        counts[tuple(one.shape[1:])] = counts.get(tuple(one.shape[1:]), 0) + 1
    return ", ".join(f"{many} × {'×'.join(map(str, shape))}" for shape, many in counts.items())


def rows_of(maps: list[torch.Tensor]) -> str:
    """What the rows sum to."""
    sums = torch.cat([one.float().sum(dim=-1).flatten() for one in maps])
    if not bool(sums.isfinite().all()):
        return "not finite"
    low, high = float(sums.min()), float(sums.max())
    return "1" if low > 1 - 1e-4 and high < 1 + 1e-4 else f"{low:.2f} to {high:.2f}"


def every_type() -> list[str]:
    """All of them, by name."""
    offline.transformers()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    return sorted(CONFIG_MAPPING_NAMES)


def measure(types: Iterable[str], workers: int) -> list[Row]:
    """A row for each type."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), max_tasks_per_child=60) as pool:
        return list(pool.map(_quiet, types, chunksize=4))


def _quiet(model_type: str) -> Row:
    warnings.simplefilter("ignore")
    return look(model_type)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--types", default="")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trace", action="store_true")
    asked = parser.parse_args()
    start = time.monotonic()
    types = asked.types.split(",") if asked.types else every_type()
    rows = [_quiet(one) for one in types] if asked.workers == 0 else measure(types, asked.workers)
    for row in rows:
        print(
            row.model_type,
            row.kind,
            row.road,
            row.maps,
            row.same_output,
            row.same_maps,
            row.rows,
            row.heads_off,
            len(row.parts),
            row.reason,
            sep=" | ",
        )
    print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
