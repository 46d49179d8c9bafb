"""Folders as hubs and tools write them: each opens as transformers opens it, or is refused by name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mha_core import load_model
from mha_core.errors import WeightsFileError

from .test_foreign_folders import CONFIG, WEIGHTS, Spoil, described
from .tiny_models import check_refusals, edit

TEXT = "the quick brown fox sat on a mat"


def changed(change: Callable[[dict[str, Any]], dict[str, Any]], *files: str) -> Spoil:
    """Other names or tensors in the weights, in files of these names."""

    def make(folder: Path) -> None:
        found = {name: one.clone() for name, one in change(load_file(folder / WEIGHTS)).items()}
        (folder / WEIGHTS).unlink()
        for number, file in enumerate(files or (WEIGHTS,)):
            save_file({name: found[name] for name in sorted(found)[number :: max(1, len(files))]}, folder / file)

    return make


def prefixed(prefix: str) -> Spoil:
    return changed(lambda found: {prefix + name: one for name, one in found.items()})


def with_mark(folder: Path) -> None:
    (folder / CONFIG).write_text((folder / CONFIG).read_text(), "utf-8-sig")


NOISE: dict[str, Any] = {
    "auto_map": None, "quantization_config": None, "_attn_implementation_autoset": True, "use_return_dict": True,
    "torchscript": True, "rope_theta": 2 * 10**12, "label2id": {"layer": 300, "x": 0}, "attn_implementation": "eager",
    "vocab_size_per_layer_input": 262_144, "tokenizer_file": "/home/a/b.json", "dtype": "auto",
}  # fmt: skip
# a form of the llama, what the card says was left aside, and the class that is shown
FORMS: dict[str, tuple[Spoil, str, str]] = {
    "code": (described(auto_map={"AutoModel": "own.Own"}), "auto_map is left aside", "LlamaForCausalLM"),
    "kernel": (described(_attn_implementation="evil/kernel"), "_attn_implementation is left", "LlamaForCausalLM"),
    "noise": (described(**NOISE), "tokenizer_file is left aside", "LlamaForCausalLM"),
    "mark": (with_mark, "", "LlamaForCausalLM"),
    "no type": (described(model_type=None), "", "LlamaForCausalLM"),
    "no class": (described(architectures=None), "", "LlamaForCausalLM"),
    "old name": (described(architectures=["LLaMAForCausalLM"]), "", "LlamaForCausalLM"),
    "ddp": (prefixed("module._orig_mod."), "prefix 'module._orig_mod.'", "LlamaForCausalLM"),
    "peft": (prefixed("base_model.model."), "prefix 'base_model.model.'", "LlamaForCausalLM"),
    "other name": (changed(dict, "pytorch_model.safetensors"), "pytorch_model.safetensors", "LlamaForCausalLM"),
    "buffers": (changed(lambda f: f | {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}), "",
        "LlamaForCausalLM"),
    "no head": (changed(lambda f: {n: one for n, one in f.items() if n != "lm_head.weight"}),
        "lack the head of LlamaForCausalLM", "LlamaModel"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_form_opens_with_the_maps_of_the_plain_folder(form: str, loaded: Any, tmp_path: Path) -> None:
    spoil, line, architecture = FORMS[form]
    plain = loaded("llama")
    folder = shutil.copytree(plain.folder, tmp_path / "model")
    edit(folder / CONFIG, tie_word_embeddings=False)
    spoil(folder)
    model = load_model(str(folder), device="cpu")
    if form != "noise":  # it changes the base of the rotation
        assert torch.equal(model.run(TEXT).weights, plain.run(TEXT).weights)
    assert model.facts["architecture"] == architecture
    assert line in model.facts.get("left aside", "")
    assert bool(line) == ("left aside" in model.facts)
    assert model.notices == ()


def test_a_bare_bert_in_half_precision(tiny_folder: Path, tmp_path: Path) -> None:
    from transformers import BertModel

    folder = shutil.copytree(tiny_folder, tmp_path / "model")
    changed(lambda found: {name: one.half() for name, one in found.items()})(folder)
    run = load_model(str(folder), device="cpu").run("a b c d")
    own: Any = BertModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    maps = own.eval()(torch.tensor([run.ids]), output_attentions=True).attentions
    torch.testing.assert_close(run.weights, torch.cat(maps), rtol=0, atol=1e-6)


def test_unused_layers_and_tensors_are_reported(loaded: Any, tmp_path: Path) -> None:
    folder = shutil.copytree(loaded("llama").folder, tmp_path / "model")
    more = {"model.layers.0.self_attn.q_norm.weight": torch.ones(8)}
    changed(lambda found: found | more)(folder)
    edit(folder / CONFIG, num_hidden_layers=1)
    model = load_model(str(folder), device="cpu")
    assert "more layers than config.json says: 1 are" in model.notices[0]
    assert "self_attn.q_norm.weight" in model.notices[1]
    assert model.run(TEXT).notices[:2] == model.notices


def test_an_adapter_is_added_to_its_base(loaded: Any, tmp_path: Path) -> None:
    folder = shutil.copytree(loaded("llama").folder, tmp_path / "base")
    adapter, name = tmp_path / "adapter", "model.layers.1.self_attn.q_proj"
    adapter.mkdir()
    edit(adapter / "adapter_config.json", peft_type="LORA", r=2, lora_alpha=6, base_model_name_or_path="a/base")
    down, up = torch.randn(2, 32), torch.randn(32, 2)
    parts = {f"base_model.model.{name}.lora_{letter}.weight": part for letter, part in (("A", down), ("B", up))}
    save_file(parts, adapter / "adapter_model.safetensors")
    run = load_model(str(adapter), device="cpu").run(TEXT)
    changed(lambda found: found | {f"{name}.weight": found[f"{name}.weight"] + 3 * up @ down})(folder)
    torch.testing.assert_close(run.weights, load_model(str(folder), device="cpu").run(TEXT).weights)
    save_file(
        parts | {f"base_model.model.{name}.lora_B.weight": torch.randn(3, 2)}, adapter / "adapter_model.safetensors"
    )
    with pytest.raises(WeightsFileError, match=r"does not fit the base model: the sizes of .*q_proj differ"):
        load_model(str(adapter), device="cpu")
    shutil.rmtree(folder)
    cases = [({}, "adapter of 'a/base' .* not on this machine"), ({"use_dora": True}, "LORA with use_dora")]

    def load(case: dict[str, Any]) -> None:
        edit(adapter / "adapter_config.json", **case)
        load_model(str(adapter), device="cpu")

    check_refusals(cases, load)


def instead(*files: str) -> Spoil:
    def make(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        for file in files:
            (folder / file).write_bytes(b"x")

    return make


def only(*names: str) -> Spoil:
    def make(folder: Path) -> None:
        for file in folder.iterdir():
            file.unlink()
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("{}")

    return make


REFUSED: list[tuple[Spoil, str]] = [
    (instead("model.Q4_K_M.gguf"), r"only as GGUF.*model\.Q4_K_M\.gguf"), (instead("model.onnx"), "only as ONNX"),
    (instead("flax_model.msgpack"), "only as Flax"), (instead("tf_model.h5"), "only as TensorFlow"),
    (instead("rust_model.ot"), "rust-bert"), (instead("weights.npz"), "NumPy or MLX"),
    (instead("consolidated.pth"), "only as pickle"), (instead("consolidated.safetensors"), "format of its authors"),
    (instead("adapter_model.safetensors"), "an adapter"), (instead("model.safetensors.incomplete"), "unfinished"),
    (instead("model-00002-of-00003.safetensors"), "only 1 of 3 shards"), (instead("a.safetensors", "b.safetensors"),
        "rename the file that is meant: a.safetensors, b.safetensors"),
    (only("model.gguf"), "only as GGUF"), (only("text_encoder/config.json"), "open one of them: text_encoder"),
    (only("checkpoint-500/config.json"), "open one of them: checkpoint-500"),
    (lambda f: (f / WEIGHTS).write_text("version https://git-lfs.github.com/spec/v1\noid"), "`git lfs pull`"),
    (lambda f: (f / CONFIG).write_text('{\n"a": 1, // no\n"b": 2}'), "line 2 is not JSON, which has no comments"),
    (described(quantization={"bits": 4}), r"quantised \(quantization\)"),
    (changed(lambda found: {name: one.to(torch.float8_e4m3fn) for name, one in found.items()}), "quantised .*F8_E4M3"),
    (described(model_type="bert", position_embedding_type="relative_key"), "position_embedding_type = 'relative_key'"),
    (described(pruned_heads={"0": [1]}), "pruned_heads = "),
    (described(num_experts=10**9), "num_experts=1,000,000,000, at most 10,000 is read"),
    (described(text_config={"num_hidden_layers": 10**9}), "at most 256"), (described(dtype=None, num_hidden_layers="2"),
        "does not describe a llama"),
]  # fmt: skip


def test_every_form_that_is_not_read_is_refused_by_name(loaded: Any, tmp_path: Path) -> None:
    def load(case: tuple[int, Spoil]) -> None:
        folder = shutil.copytree(loaded("llama").folder, tmp_path / str(case[0]))
        case[1](folder)
        load_model(str(folder), device="cpu")

    check_refusals([((number, spoil), line) for number, (spoil, line) in enumerate(REFUSED)], load)
