"""Every model type of the installed transformers, tiny and random: what of its attention can be seen and changed here.

``python -m tests.bench.models [--types bert,gpt2] [--workers 2] [--out docs/models.md]``
"""

from __future__ import annotations

import argparse
import inspect
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from mha_core.pretrained import attention_hook, offline
from tests.core import tiny_models
from tests.folders import saved

PARTS = ("q", "k", "v", "scores", "mask", "mixed")
MAX_SECONDS = 20  # of a processor, for one type
NOT = "not finite"  # said of rows
EQUAL = "equal"  # said of a folder


class TooSlow(BaseException):
    """Of no error that a model's own failure is taken for."""


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
    folder: str = ""


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
    library = offline.transformers()
    # a library whose import is cut short stays broken
    from transformers import AttentionInterface, PreTrainedModel  # noqa: F401
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    try:
        torch.set_num_threads(1)
        names = tiny_models.classes(model_type)
        if not names:
            row.reason = "no class that reads only text, images or sound"
        for name, more in product(names, tiny_models.TRIES):
            if row.kind == name and row.reason.startswith(("ImportError", "TypeError")):
                continue  # other sizes help nothing
            found = _try(Row(model_type, name), library, CONFIG_MAPPING[model_type], more)
            if found.road:
                found.folder = saved_folder(found, more)
                return found
            row = row if row.reason and row.kind == name else found
    except TooSlow:
        row.reason = f"takes more than {MAX_SECONDS} s of processor time"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return row


def saved_folder(row: Row, more: dict[str, Any]) -> str:
    """Whether the type opens as its library saves it, with its tokenizer or processor, or why not."""
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    with tempfile.TemporaryDirectory() as place:
        try:
            far = max(saved.judge(row.model_type, Path(place), row.kind, **more).differences.values(), default=0.0)
            return f"{far:.0e}" if far else EQUAL
        except TooSlow:
            return f"takes more than {MAX_SECONDS} s of processor time"
        except Exception as error:
            return _said(error).replace(place, "the folder")


def _try(row: Row, library: Any, config: Any, more: dict[str, Any]) -> Row:
    try:
        model = tiny_models.build(getattr(library, row.kind), config, **more)
    except Exception as error:
        row.reason = _said(error)
        return row
    takes = set(inspect.signature(model.forward).parameters)
    for wanted in tiny_models.MORE:
        if not row.road and set(wanted) <= takes:
            try:
                _examine(row, model, tiny_models.inputs(model, more=wanted))
            except Exception as error:
                row.reason = row.reason or _said(error)
    return row


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"


def _too_slow(*_: Any) -> None:
    raise TooSlow


def _examine(row: Row, model: Any, given: dict[str, Any]) -> None:
    from transformers import AttentionInterface

    names = attention_hook.module_names(model)

    def run(request: attention_hook.Request | None = None, **more: Any) -> Any:
        torch.manual_seed(0)
        with torch.no_grad():
            if request is None:
                return model(**given, **more)
            with attention_hook.apply_request(request):
                return model(**given, **more)

    AttentionInterface._global_mapping.pop("eager", None)
    try:
        plain = run()
        try:
            theirs = own_maps(run(output_attentions=True))
        except Exception:
            theirs = []
    finally:
        attention_hook.register()
    request = attention_hook.Request(names, record=frozenset(PARTS) - {"scores"})
    found = run(request)
    if not request.calls:
        if not theirs:
            row.reason = "returns no maps"
            return
        row.road, row.maps, row.rows = "output_attentions", shapes(theirs), rows_of(theirs)
        row.same_output = True
        return
    row.maps, row.rows = shapes([call.weights for call in request.calls]), rows_of([c.weights for c in request.calls])
    row.same_output = all(map(same, outputs(plain), outputs(found)))
    row.same_maps = compare(theirs, [call.weights for call in request.calls])
    with_scores = attention_hook.Request(names, record=frozenset(PARTS))
    try:
        run(with_scores)
        kept = set.intersection(*(set(call.parts) for call in with_scores.calls))
    except Exception:
        kept = set.intersection(*(set(call.parts) for call in request.calls))
    row.parts = tuple(part for part in PARTS if part in kept)
    most = max(call.weights.shape[1] for call in request.calls)
    off = attention_hook.Request(names, head_mask=torch.zeros(len(request.calls), most, dtype=torch.bool))
    changed = run(off)
    row.heads_off = not all(map(same, outputs(plain), outputs(changed)))
    row.road, row.reason = "seam", ""


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Bit for bit, what is no number in the same places."""
    return torch.equal(a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(), b.nan_to_num())


def compare(theirs: list[torch.Tensor], ours: list[torch.Tensor]) -> str:
    """How many of the maps that the model hands out are, bit for bit, among those that were recorded."""
    if not theirs:
        return "none returned"
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
    counts = Counter(tuple(one.shape[1:]) for one in maps)
    return ", ".join(f"{many} × {'×'.join(map(str, shape))}" for shape, many in counts.items())


def rows_of(maps: list[torch.Tensor]) -> str:
    """What the rows sum to."""
    sums = torch.cat([one.float().sum(dim=-1).flatten() for one in maps])
    if not bool(sums.isfinite().all()):
        return NOT
    low, high = (f"{float(sum_):.2f}" for sum_ in (sums.min(), sums.max()))
    return "1" if low == high == "1.00" else f"{low} to {high}"


def every_type() -> list[str]:
    """All of them, by name."""
    offline.transformers()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    return sorted(CONFIG_MAPPING)


def _quiet(model_type: str) -> Row:
    warnings.simplefilter("ignore")
    try:
        return look(model_type)
    except Exception as error:
        return Row(model_type, reason=_said(error))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--types", default="")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    start = time.monotonic()
    types = asked.types.split(",") if asked.types else every_type()
    rows = []
    with get_context("spawn").Pool(asked.workers, maxtasksperchild=80) as pool:
        for row in pool.imap(_quiet, types):
            rows.append(row)
            print(*astuple(row), sep=" | ", flush=True)
    seconds = time.monotonic() - start
    print(f"{seconds:.0f} s", file=sys.stderr)
    if asked.out:
        asked.out.write_text(report(rows, seconds), encoding="utf-8")


def report(rows: list[Row], seconds: float) -> str:
    """Write docs/models.md."""
    spent = sum(resource.getrusage(whose)[0] for whose in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    shown = [row for row in rows if row.road]
    seam_rows = [row for row in shown if row.road == "seam"]
    exact = [row for row in seam_rows if row.same_output and row.heads_off and row.rows != NOT]
    opened = [row for row in shown if opens(row)]
    refused: dict[str, list[str]] = {}
    closed: dict[str, list[str]] = {}
    for row in shown:
        if row not in opened:
            closed.setdefault(row.folder.replace(row.model_type, "…").partition(", not a text")[0], []).append(
                row.model_type
            )
    for row in rows:
        if not row.road:
            refused.setdefault(row.reason.partition(":")[0], []).append(row.model_type)
    return f"""# Model types of transformers

Which attention maps Headlight records of each model type of transformers. Written by `make models` in \
{seconds / 60:.0f} minutes, {spent / 60:.0f} of processor time: transformers {offline.transformers().__version__}, \
torch {torch.__version__.split("+")[0]}, {datetime.now(UTC):%Y-%m-%d}.

Each of the {len(rows)} model types, made tiny with random weights, reads {tiny_models.READ} tokens and, where it has \
a decoder too, writes {tiny_models.WRITTEN}; windows have {tiny_models.WINDOW}; images and sounds are noise. \
{len(seam_rows)} types run with Headlight's attention function: in {len(exact)} of them the output is bit-equal to \
that of plain eager attention, ablating every head changes it, and all maps are finite. \
{len(shown) - len(seam_rows)} more types only return their own maps.

- *maps*: number × heads × queries × keys
- *returned*: how many of the maps that the model itself returns are among the recorded ones, bit for bit
- *row sums*: the sum of a row of weights
- *ablated*: what ablating every head does to the output
- *folder*: `load_model` opens a folder of the library's own `save_pretrained`, model, tokenizer and processor: ids, \
maps, states and logits are equal to those of transformers' own pass over it, or differ by that much

| type | class | maps | output | returned | row sums | ablated | also recorded | folder |
|---|---|---|---|---|---|---|---|---|
{chr(10).join(map(_line, shown))}

{len(opened)} of {len(shown)} open from such a folder. The others:

| why | types |
|---|---|
{chr(10).join(f"| {why} | {len(types)}: {', '.join(types)} |" for why, types in sorted(closed.items()))}

No maps were recorded of {len(rows) - len(shown)} types, many because no tiny model of them could be made:

| why | types |
|---|---|
{chr(10).join(f"| {why} | {len(types)}: {', '.join(types)} |" for why, types in sorted(refused.items()))}
"""


def opens(row: Row) -> bool:
    """Return whether the saved folder of a type opened, equal or to a difference."""
    return row.folder == EQUAL or row.folder[:1].isdigit()


def _line(row: Row) -> str:
    cells = (row.model_type, row.kind, row.maps, "bit-equal" if row.same_output else "differs", row.same_maps, row.rows)
    heads = "changes it" if row.heads_off else "no change"
    if row.road != "seam":
        cells, heads = (*cells[:3], "", "only these", row.rows), ""
    folder = row.folder if opens(row) else ""
    return f"| {' | '.join((*cells, heads, ', '.join(row.parts), folder))} |"


if __name__ == "__main__":
    main()
