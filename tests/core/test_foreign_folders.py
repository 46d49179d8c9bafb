"""Folders as a stranger could send them: each is refused in a sentence, runs nothing, reads nothing outside, and hangs
nothing.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mha_core import load_model
from mha_core.errors import HeadlightError, Unsupported, WeightsFileError
from mha_core.pretrained import folders, hub, memory, offline, open_folder

from .tiny_models import check_refusals, edit

CONFIG, WEIGHTS, TOKENIZER, SETTINGS = "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"


@pytest.fixture
def folder(loaded: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A good one, to be spoilt; no socket can be opened while it is read."""
    shutil.copytree(loaded("llama").folder, tmp_path / "model")
    monkeypatch.setattr(socket, "socket", _no_socket)
    monkeypatch.setattr(socket, "create_connection", _no_socket)
    return tmp_path / "model"


def _no_socket(*_: Any, **__: Any) -> None:
    raise AssertionError("something asked the network")


class Trap:
    def __reduce__(self) -> Any:
        return os.abort, ()


Spoil = Callable[[Path], object]


def code(folder: Path) -> None:
    edit(folder / CONFIG, model_type="own", auto_map={"AutoModelForCausalLM": "own.Own"})
    (folder / "own.py").write_text("import os; os.abort()")


def a_file_elsewhere(folder: Path) -> None:
    (folder / TOKENIZER).unlink()
    (folder / "vocab.json").write_text("{}")
    edit(folder / SETTINGS, vocab_file="/etc/passwd")


def pickle_only(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))


def a_link_out(folder: Path) -> None:
    shutil.move(folder / CONFIG, folder.parent / CONFIG)
    (folder / CONFIG).symlink_to(folder.parent / CONFIG)


def a_pipe(folder: Path) -> None:
    (folder / CONFIG).unlink()
    os.mkfifo(folder / CONFIG)


def a_huge_description(folder: Path) -> None:
    with (folder / CONFIG).open("wb") as opened:
        opened.truncate(2**40)


def shards(name: str) -> Spoil:
    def make(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"t0": name}}))

    return make


def holding(data: bytes, name: str = WEIGHTS) -> Spoil:
    return lambda folder: (folder / name).write_bytes(data)


def described(name: str = CONFIG, **changes: Any) -> Spoil:
    return lambda folder: edit(folder / name, **changes)


def without_tensors(folder: Path) -> None:
    found = load_file(folder / WEIGHTS)
    save_file({name: one.clone() for name, one in found.items() if "layers.1" not in name}, folder / WEIGHTS)


def tokenized(**changes: Any) -> Spoil:
    return described(TOKENIZER, **changes)


GROWING = {"type": "Replace", "pattern": {"String": "a"}, "content": 10 * "a"}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
TEMPLATE = {"type": "TemplateProcessing", "single": 2000 * [{"SpecialToken": {"id": "x", "type_id": 0}}], "pair": [],
            "special_tokens": {"x": {"id": "x", "ids": 2000 * [1], "tokens": 2000 * ["a"]}}}  # fmt: skip


CASES: list[tuple[str, Spoil, str]] = [
    ("a text that grows", tokenized(normalizer={"type": "Sequence", "normalizers": 9 * [GROWING]}),
        r"impossible sizes: 1e\+09 times the length of a text"),
    ("bytes of bytes", tokenized(pre_tokenizer={"type": "Sequence", "pretokenizers": 40 * [BYTES]}),
        r"times the length of a text, at most 4,096"),
    ("a table that lies", tokenized(normalizer={"type": "Precompiled", "precompiled_charsmap": "/////w=="}),
        r"inf times the length"),
    ("a template of millions", tokenized(post_processor=TEMPLATE), r"4e\+06 tokens of a template"),
    ("a panic", tokenized(normalizer={"type": "Precompiled", "precompiled_charsmap": "CAAAAP//////////Dv4="}),
        r"cannot read the tokenizer: PanicException"),
    ("added tokens", described("added_tokens.json", **{f"<{number}>": 320 + number for number in range(100_001)}),
        r"added_tokens\.json has impossible sizes: 100,001 tokens in one entry"),
    ("code", code, r"config\.json asks for code of its own \(auto_map\), which is not run; remove the entry"),
    ("code at depth", described(text_config={"inner": [{"auto_map": {"AutoConfig": "evil/code--own.Own"}}]}),
        r"code of its own \(auto_map\)"),
    ("a kernel", described(sub={"_attn_implementation_internal": "evil/kernel"}),
        r"asks for a kernel \(_attn_implementation_internal\)"),
    ("a file elsewhere", a_file_elsewhere, r"names a file outside the folder \(vocab_file\)"),
    ("pickle", pickle_only, r"only as pickle .* choose a revision with model\.safetensors"),
    ("a link to a description", a_link_out, r"config\.json is a link out of the folder"),
    ("a pipe", a_pipe, r"config\.json is not a regular file"),
    ("a terabyte", a_huge_description, r"more than 8388608 bytes"),
    ("tensors", lambda f: save_file({str(n): torch.ones(0) for n in range(50_001)}, f / WEIGHTS), "than 50,000 tens"),
    ("deep", holding(b'{"a":' * 5000 + b"1" + b"}" * 5000, CONFIG), r"RecursionError|nested deeper"),
    ("shards outside", shards("../../x.safetensors"), r"does not list the files"),
    ("missing shards", shards("model-00001-of-00002.safetensors"), r"it is missing"),
    ("a header of an exabyte", holding((2**60).to_bytes(8, "little") + b"{}"), r"header of 1,152,921,504,606,846,976"),
    ("data beyond the file", holding((66).to_bytes(8, "little") + json.dumps(
        {"x": {"dtype": "F32", "shape": [9], "data_offsets": [0, 10**15]}}).encode().ljust(66)), r"header is damaged"),
    ("a petabyte", described(vocab_size=2**39, hidden_size=2**11), r"describes .* numbers, the weights are"),
    ("layers", described(num_hidden_layers=10**9), r"num_hidden_layers=1,000,000,000, at most 256 is read"),
    ("no type", described(model_type=None, architectures=None), r"names no model_type"),
    ("an unknown type", described(model_type="evil"), r"model_type='evil' is not a model type"),
    ("quantised", described(quantization_config={"quant_method": "bitsandbytes"}), r"is quantised"),
    ("other sizes", described(hidden_size=48), r"do not fit config\.json"),
    ("lacking tensors", without_tensors, r"the weights lack 9 tensors of LlamaForCausalLM, as "),
    ("a damaged tokenizer", holding(b"{}", TOKENIZER), r"cannot read tokenizer\.json"),
    ("no tokenizer", lambda f: (f / TOKENIZER).unlink(), r"the folder has no tokenizer; copy it beside the weights"),
]  # fmt: skip


def test_every_bad_folder_is_refused_in_a_sentence(folder: Path) -> None:
    def load_spoilt(case: tuple[str, Spoil]) -> None:
        bad = shutil.copytree(folder, folder.parent / case[0] / "model")
        case[1](bad)
        load_model(str(bad), device="cpu")

    check_refusals([((name, spoil), expected) for name, spoil, expected in CASES], load_spoilt)


def test_the_family_counts_and_is_refused_before_its_weights_are_read(folder: Path) -> None:
    edit(folder / CONFIG, architectures=["GPT2LMHeadModel"])
    assert load_model(str(folder), device="cpu").facts["architecture"] == "LlamaModel"
    (folder / WEIGHTS).unlink()
    edit(folder / CONFIG, model_type="speech_to_text", architectures=["Speech2TextModel"])
    expected = r"speech_to_text reads input_features, not a text.*; of those that read sounds: whisper, wav2vec2"
    with pytest.raises(Unsupported, match=expected):
        load_model(str(folder), device="cpu")
    edit(folder / CONFIG, model_type="resnet")
    with pytest.raises(Unsupported, match="resnet reads pixel_values, not a text; of those that read pictures these"):
        load_model(str(folder), device="cpu")


def test_a_pattern_that_takes_for_ever(folder: Path) -> None:
    content = json.loads((folder / TOKENIZER).read_text())
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    (folder / TOKENIZER).write_text(json.dumps(content | {"pre_tokenizer": split}))
    model = load_model(str(folder), device="cpu")
    with pytest.raises(HeadlightError):
        model.run("a" * 500 + "b")


def test_more_modules_than_tensors(loaded: Any, tmp_path: Path) -> None:
    folder = shutil.copytree(loaded("switch_transformers").folder, tmp_path / "model")
    sizes = {"num_experts": 10_000, "encoder_sparse_step": 1, "num_layers": 256, "num_sparse_encoder_layers": 256}
    edit(folder / CONFIG, **sizes)
    with pytest.raises(WeightsFileError, match="describes many more tensors than the weights"):
        load_model(str(folder), device="cpu")


def test_a_model_that_does_not_fit_the_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 20_000)
    with pytest.raises(HeadlightError, match=r"needs 0 MB of memory, this machine has 0 MB left; .*bfloat16"):
        load_model(str(folder), device="cpu")


def test_links_inside_the_caches_store(folder: Path, tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "models--a--b" / "blobs", tmp_path / "models--a--b" / "snapshots" / "0123"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, file in enumerate(sorted(folder.iterdir())):
        shutil.move(file, blobs / str(number))
        (snapshot / file.name).symlink_to(blobs / str(number))
    assert load_model(str(snapshot), device="cpu").groups == ("decoder",)


def test_names_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline.hub().constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(socket, "socket", _no_socket)
    with pytest.raises(WeightsFileError, match="no model"):
        load_model("no-such/model", device="cpu")
    for name in ("", "/no/such", "../secret", "a/b/c", "x" * 300, "http://a/b"):
        with pytest.raises(WeightsFileError, match=r"no model|is not a model name"):
            load_model(name, device="cpu")
        with pytest.raises(WeightsFileError, match="is not a model name"):
            hub.download_size(name)


def test_kernels_cannot_be_imported() -> None:
    offline.transformers()
    with pytest.raises(ImportError):
        __import__("kernels")


def test_a_good_folder_loads_without_the_network(folder: Path) -> None:
    model = load_model(str(folder / CONFIG), device="cpu")
    assert model.groups == ("decoder",)
    model = load_model(str(folder), device="cpu", dtype=torch.bfloat16)
    assert model.dtype == torch.bfloat16
    assert model.can >= {"mask", "heads", "temperature", "values"}
    assert folders.read_weight_headers(folder).parameters > 1000
    os.truncate(folder / WEIGHTS, 0)  # of a mapped file this would end the process
    assert model.run("the quick brown fox").weights.dtype == torch.float32


def test_large_files_in_bfloat16_keep_their_format(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    halves = {name: tensor.bfloat16() for name, tensor in load_file(folder / WEIGHTS).items()}
    save_file(halves, folder / WEIGHTS)
    assert load_model(str(folder), device="cpu", dtype=None).dtype == torch.float32
    monkeypatch.setattr(open_folder, "MIN_LARGE_BYTES", 0)
    model = load_model(str(folder), device="cpu", dtype=None)
    assert (model.dtype, *model.notices) == (torch.bfloat16, "This model runs in bfloat16, with two to three digits.")
