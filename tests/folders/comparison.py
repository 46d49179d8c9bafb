"""Comparison of a folder of the corpus, as it is opened, with transformers' own eager pass over it."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mha_core import load_model
from mha_core.errors import HeadlightError
from mha_core.pretrained import attention_hook, offline
from tests.core import pictures, sounds

from . import corpus
from .corpus import TEXTS, Case

ROUNDING = 1e-5  # the largest difference that is none of the model's
WINDOW = 2
INPUTS: dict[str, Any] = {"text": TEXTS, "picture": (pictures.file(),), "sound": (sounds.file(),)}
# names of the projection behind the heads, within the attention or beside it
PROJECTIONS = ("attn_sub_norm", "o_proj", "out_proj", "c_proj", "dense", "o", "out_lin", "proj", "wo", "output.dense",
               "../output.dense", "projection", "../o_proj")  # fmt: skip


@dataclass
class Outcome:
    """Result of a case: "opens", "refused" or "wrong", with its sentence."""

    name: str
    case: Case
    seen: str = ""
    sentence: str = ""
    differences: dict[str, float] = field(default_factory=dict)
    library: bool = False  # transformers itself reads the folder's weights
    seconds: float = 0.0

    @property
    def is_right(self) -> bool:
        """Return whether it is as expected."""
        return self.seen == self.case["expected"] or (self.case["expected"] == "either" and self.seen != "wrong")

    def compare(self, part: str, value: Tensor | None, other: Tensor | None) -> None:
        """Keep the largest difference of a part; raises Difference where the shapes do."""
        if value is None or other is None:
            return
        if value.shape != other.shape:
            raise Difference(f"{part}: {tuple(value.shape)} here, {tuple(other.shape)} in transformers")
        far = 0.0 if torch.equal(value, other) else float((value.double() - other.double()).abs().max())
        self.differences[part] = max(far, self.differences.get(part, 0.0))
        if not far <= ROUNDING:
            raise Difference(f"{part} differ by {far:.2g}")


class Difference(Exception):
    """Something is otherwise than in transformers."""


def judge(name: str, place: Path) -> Outcome:
    """Build a case in an empty place, open it, and compare."""
    outcome, start = Outcome(name, corpus.read(name)), time.perf_counter()
    folder = place / name
    folder.mkdir(parents=True)
    try:
        pristine = corpus.build(folder, outcome.case)
        model = load_model(str(folder), device="cpu")
        outcome.seen = "opens"
        if outcome.case["expected"] == "refused":
            for source in INPUTS[model.reads]:
                model.run(source)  # may be refused here
        elif pristine is not None:
            compare(outcome, model, folder, pristine)
    except HeadlightError as error:
        outcome.seen, outcome.sentence = "refused", str(error).strip().replace(str(folder), "the folder")
        if "\n" in outcome.sentence or not re.search(outcome.case.get("message", ""), outcome.sentence):
            outcome.seen, outcome.sentence = "wrong", f"refused otherwise: {outcome.sentence}"
    except Difference as error:
        outcome.seen, outcome.sentence = "wrong", str(error)
    except Exception as error:  # a row of the table, not the end of the run
        outcome.seen, outcome.sentence = "wrong", f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    finally:
        shutil.rmtree(place, ignore_errors=True)
    outcome.seconds = time.perf_counter() - start
    return outcome


@contextmanager
def plain_eager() -> Iterator[None]:
    """The library's own eager attention."""
    from transformers import AttentionInterface

    AttentionInterface._global_mapping.pop("eager", None)
    try:
        with torch.no_grad():
            yield
    finally:
        attention_hook.register()


def reference(outcome: Outcome, folder: Path, pristine: Path) -> Any:
    """The model as transformers reads the folder; as it saved the same one, where it does not read it."""
    weights = outcome.case["weights"]
    kind = getattr(offline.transformers(), outcome.case.get("reference") or weights["class"])
    for place, changes in ((folder / outcome.case.get("folder", ""), None), (pristine, weights.get("config"))):
        options = {"attn_implementation": "eager", "dtype": torch.float32, "output_loading_info": True}
        try:
            config = corpus.configured(outcome.case, changes)
            model, info = kind.from_pretrained(str(place), config=config, **options)
        except Exception:
            continue
        if not any("pooler" not in name for name in info["missing_keys"]):
            outcome.library = place != pristine
            return model.eval()
    raise Difference("transformers does not read what it saved")


def compare(outcome: Outcome, model: Any, folder: Path, pristine: Path) -> None:
    """Compare ids, maps, last states, logits, heads off and masks of every group."""
    other = reference(outcome, folder, pristine)
    notices = " ".join((*model.notices, model.facts.get("left aside", "")))
    require(re.search(outcome.case.get("notice", ""), notices) is not None, f"it tells only {notices!r}")
    texts = [outcome.case["text"]] if "text" in outcome.case else []
    halves = [(load_model(f"{folder}#{half}", device="cpu"), half) for half in outcome.case.get("halves", ())]
    for opened, encoder in [(part, getattr(other, f"{half}_model")) for part, half in halves] or [(model, other)]:
        for group in opened.groups:
            part = opened.for_group(group)
            for source in (*INPUTS[part.reads], *(texts if part.reads == "text" else [])):
                compare_group(outcome, part, source, encoder, folder)


def compare_group(outcome: Outcome, part: Any, source: Any, other: Any, folder: Path) -> None:
    """Compare the passes of a group over one text, picture or sound."""
    has_decoder = len(part.groups) > 1
    target = {"target": TEXTS[1][:13] if part.reads == "text" else [5, 6, 7]} if has_decoder else {}
    run = part.run(source, **target, all_logits=True) if part.reads == "text" else part.run(source, **target)
    if part.reads == "text":
        ids = part.for_group(part.groups[0]).run(source, **target).ids
        if part.groups[0] == "decoder" and has_decoder:  # the encoder has no maps
            ids = tokenizer_ids(source, folder)
        compare_ids(outcome, source, ids, folder)
        inputs = {"input_ids": torch.tensor([ids])}
    else:
        inputs = {other.main_input_name: part.features(source).values}
    if has_decoder:
        inputs["decoder_input_ids"] = torch.tensor([part.for_group(part.groups[1]).run(source, **target).ids])

    def library_pass(kind: Any = other, **more: Any) -> tuple[Tensor, Any, Tensor | None]:
        arguments = inputs if kind is other else {"input_ids": inputs["input_ids"]}
        with plain_eager():
            out = kind(**arguments, output_attentions=True, output_hidden_states=True, return_dict=True, **more)
        maps, states = (
            next((out[n] for n in (f"{prefix}{key}" for prefix in prefixes) if out.get(n) is not None), ())
            for key, prefixes in (
                ("attentions", (f"{part.group}_", "")),
                ("hidden_states", ("encoder_" if part.group == "encoder" else "decoder_", "")),
            )
        )
        rows = [layer[0] for layer in maps if isinstance(layer, Tensor) and _fits(layer, run, part)]
        if not rows:
            raise Difference("transformers returns no maps")
        logits = out.get("logits", out.get("prediction_logits"))
        # behind the layers some families project once more
        last = next((n for n in (-1, -2) if states and states[n].shape[-1] == run.hidden.shape[-1]), None)
        return torch.stack(rows), None if last is None else (last, states[last][0]), logits

    def compare_run(part_name: str, seen: Any, expected: tuple[Tensor, Any, Tensor | None]) -> None:
        n = seen.weights.shape[-2]  # padding behind a sound is not shown
        outcome.compare(f"{part_name}maps", seen.weights, expected[0][..., :n, : seen.weights.shape[-1]])
        if expected[1] is not None:
            outcome.compare(f"{part_name}states", seen.hidden[expected[1][0]], expected[1][1][:n])
        logits = expected[2]
        if seen.logits is not None and logits is not None:
            flat = logits.reshape(-1, logits.shape[-1])
            outcome.compare(f"{part_name}logits", seen.logits, flat[-len(seen.logits) :])

    plain = library_pass()
    compare_run("", run, plain)
    if outcome.case.get("logits") and run.logits is None:
        raise Difference("no logits, though the model has a head")
    more = target | ({"all_logits": True} if part.reads == "text" else {})
    if outcome.case.get("answer") and part.group == "decoder":
        ids = part.run(source).ids
        with plain_eager():
            limit = max(len(ids), 8) + 1
            answer = other.generate(input_ids=inputs["input_ids"], num_beams=1, do_sample=False, max_length=limit)
        ends = other.generation_config.eos_token_id
        own_answer, generated = ([x[0], *(n for n in x[1:] if n != ends)] for x in (ids, answer[0].tolist()))
        require(own_answer == generated, f"its own answer {own_answer[:9]}, by generate {generated[:9]}")
    if "heads" in part.can and run.extras.paths and part.group != "cross":
        off = part.run(source, heads_off=[(0, 1)], **more)
        projection = find_projection(other, run.extras.paths[0])
        if projection is None:
            require(not torch.equal(off.hidden[-1], run.hidden[-1]), "a head that is off changes nothing")
        else:
            width = projection.weight.shape[0 if type(projection).__name__ == "Conv1D" else -1] // run.weights.shape[1]
            first = iter((True,))  # layers may share it
            handle = projection.register_forward_pre_hook(
                lambda _, args: (without_head(args[0], width), *args[1:]) if next(first, False) else None
            )
            compare_run("heads off: ", off, library_pass())
            handle.remove()
    if "mask" in part.can and part.reads == "text" and part.group == part.groups[0]:
        masked = part.run(source, mask=f"window:{WINDOW}", **more)
        rows = torch.arange(run.weights.shape[-2])
        allow = (rows[:, None] - rows).abs() < WINDOW
        if part.own_mask == "causal":
            allow = allow.tril()
        require(not bool(masked.weights[..., ~allow].any()), "a mask lets through what it forbids")
        require(not torch.equal(masked.hidden[-1], run.hidden[-1]), "a mask changes nothing")
        lowest = torch.finfo(torch.float32).min
        try:
            kind = other.get_encoder() if has_decoder else other
            expected = library_pass(kind, attention_mask=torch.where(allow, 0.0, lowest)[None, None])
        except Exception:  # of a family that takes masks of keys alone
            return
        is_dense = bool(run.weights[..., allow].all())  # no window of its own, which the library's mask would replace
        if is_dense and not bool(expected[0][..., ~allow].any()):
            compare_run("masks: ", masked, expected)


def _fits(layer: Tensor, run: Any, part: Any) -> bool:
    """Return whether a layer has as many heads, and for a text as many queries; behind a sound is padding."""
    heads, queries = run.weights.shape[1:3]
    return bool(layer.shape[1] == heads and (part.reads != "text" or layer.shape[2] == queries))


def tokenizer_ids(text: str, folder: Path) -> list[int] | None:
    """Return the ids of AutoTokenizer, or None where it does not read the folder."""
    from transformers import AutoTokenizer

    try:
        ids: list[int] = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)(text)["input_ids"]
    except Exception:  # it does not read what is read here, as odd config.json files
        return None
    return ids


def compare_ids(outcome: Outcome, text: str, ids: list[int] | None, folder: Path) -> None:
    """Compare ids with those of AutoTokenizer, where it reads the folder."""
    expected = tokenizer_ids(text, folder)
    if expected is not None:
        require(ids == expected, f"ids {(ids or [])[:9]} here, {expected[:9]} by AutoTokenizer")
        outcome.differences["ids"] = 0.0


def find_projection(model: Any, path: str) -> Any:
    """Return the linear layer that mixes the heads of the attention at a path."""
    modules = dict(model.named_modules())
    for name in PROJECTIONS:
        inner = f"{path}.{name}" if not name.startswith("../") else f"{path.rpartition('.')[0]}.{name[3:]}"
        layer = next((m for key, m in modules.items() if key == inner or key.endswith(f".{inner}")), None)
        if getattr(layer, "weight", None) is not None:
            return layer
    return None


def without_head(joined: Tensor, width: int) -> Tensor:
    """The joined heads (…, h·d) with head 1 set to 0."""
    changed = joined.clone()
    changed[..., width : 2 * width] = 0
    return changed


def require(holds: bool, otherwise: str) -> None:
    """Raise Difference unless something holds."""
    if not holds:
        raise Difference(otherwise)
