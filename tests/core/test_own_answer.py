"""A model's own answer is what `generate` of its library writes greedily, under the settings of its folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from mha_core import load_model
from mha_core.errors import WeightsFileError
from mha_core.models.generation import Generation
from mha_core.pretrained.hf_model import HfModel
from tests.closeness import identical

from . import sounds, tiny_models

TEXT = "the quick brown fox sat on a mat"
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("marian", {"bad_words_ids": [[1], [46], [3, 4]], "num_beams": 6}), ("mbart", {"forced_bos_token_id": 33}),
    ("bart", {"suppress_tokens": [46, 47], "begin_suppress_tokens": [4, 5], "no_repeat_ngram_size": 2}),
    ("t5", {"eos_token_id": [2, 11, 12], "decoder_start_token_id": 5}), ("m2m_100", {"forced_eos_token_id": 9}),
    ("pegasus", {"repetition_penalty": 1.7, "do_sample": True}), ("bart", {"min_length": 9, "eos_token_id": 46}),
]  # fmt: skip


def written(folder: Path, max_length: int = 65, **inputs: Any) -> list[int]:
    """What the library writes, up to the end token."""
    from transformers import AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq

    kind: Any = AutoModelForSeq2SeqLM if "input_ids" in inputs else AutoModelForSpeechSeq2Seq
    model = kind.from_pretrained(str(folder)).eval()
    options = inputs if "input_ids" in inputs else {**inputs, "force_unique_generate_call": True}
    ids: list[int] = model.generate(**options, do_sample=False, num_beams=1, max_length=max_length)[0].tolist()
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    return ids[: next((place for place, one in enumerate(ids) if place and one in ends), None)]


@pytest.mark.parametrize(("model_type", "settings"), SETTINGS)
@pytest.mark.parametrize(
    "old",
    [
        pytest.param(False, id="generation_config.json"),
        pytest.param(True, id="in config.json", marks=pytest.mark.thorough("the same settings in the older file")),
    ],
)
def test_generation_follows_the_settings_of_the_folder(
    loaded: Any, tmp_path: Path, model_type: str, settings: dict[str, Any], old: bool
) -> None:
    folder = shutil.copytree(loaded(model_type).folder, tmp_path / "m")
    tiny_models.edit(folder / ("config.json" if old else "generation_config.json"), **settings)
    if old:
        (folder / "generation_config.json").unlink()
    model = load_model(str(folder), device="cpu")
    ids = torch.tensor([model.tokenize(TEXT)[1]])
    cross = model.for_group("cross").run(TEXT)
    assert cross.ids == written(folder, input_ids=ids, attention_mask=torch.ones_like(ids))
    asks = {"num_beams": "6 beams", "do_sample": "sampling"}
    said = [words for name, words in asks.items() if name in settings]
    assert ["ask for" in notice and said[0] in notice for notice in cross.notices] == [True] * len(said)
    assert isinstance(model, HfModel)
    assert model.for_group("cross").run(TEXT, target="a cat").notices == model.run(TEXT).notices == ()


@pytest.mark.parametrize("positions", [20, 60, 64, 65])
def test_answer_is_bounded_by_the_positions(tmp_path: Path, positions: int) -> None:
    from transformers import MarianConfig, MarianMTModel

    sizes = {"decoder_start_token_id": 1, "pad_token_id": 0, "eos_token_id": 98, "vocab_size": 99}
    config = tiny_models.description(MarianConfig, max_position_embeddings=positions) | sizes
    folder = tiny_models.save(MarianMTModel(MarianConfig(**config)), tmp_path / "m")
    model = load_model(str(folder), device="cpu")
    ids = torch.tensor([model.tokenize(TEXT)[1]])
    run = model.for_group("cross").run(TEXT)
    assert run.ids == written(folder, positions, input_ids=ids, attention_mask=torch.ones_like(ids))
    assert run.weights.shape[-2:] == (len(run.ids), ids.shape[1])


def test_generation_settings_of_a_speech_model(loaded: Any, tmp_path: Path) -> None:
    folder = shutil.copytree(loaded("whisper").folder, tmp_path / "m")
    languages = {"is_multilingual": True, "lang_to_id": {"<|en|>": 20, "<|de|>": 21}, "no_timestamps_token_id": 40}
    given = {**languages, "task_to_id": {"transcribe": 30}, "suppress_tokens": [46], "_from_model_config": False}
    tiny_models.edit(folder / "generation_config.json", **given)
    model, samples = load_model(str(folder), device="cpu"), sounds.tone().float()
    assert isinstance(model, HfModel)
    run = model.for_group("cross").run(samples)
    assert run.ids[1] in (20, 21)
    limit = min(65, model.sizes.max_len)
    assert run.ids == written(folder, limit, input_features=model.features(samples).values)


def test_suppressed_tokens_are_not_written_by_a_language_model(loaded: Any, tmp_path: Path) -> None:
    folder = shutil.copytree(loaded("gpt2").folder, tmp_path / "m")
    first = Generation(load_model(str(folder), device="cpu"), TEXT).step().id
    tiny_models.edit(folder / "generation_config.json", suppress_tokens=[first, 10**6])
    model = load_model(str(folder), device="cpu")
    logits = model.run(TEXT).logits
    assert logits is not None
    assert int(logits.argmax()) == first, "what the model computes is shown as it is"
    assert Generation(model, TEXT).step().id == int(logits[0].topk(2).indices[1])


@pytest.mark.parametrize(
    "settings", [{"bad_words_ids": "abc"}, {"bad_words_ids": [[5]] * 10_001}, {"suppress_tokens": 7},
                 {"custom_generate": "own.py", "cache_config": {}},
                 {"num_return_sequences": 10**9, "max_length": 10**9, "assistant_model": "/etc", "num_beams": 10**9}]
)  # fmt: skip
def test_settings_that_harm(loaded: Any, tmp_path: Path, settings: dict[str, Any]) -> None:
    folder = shutil.copytree(loaded("bart").folder, tmp_path / "m")
    tiny_models.edit(folder / "generation_config.json", **settings)
    if "bad_words_ids" in settings or "suppress_tokens" in settings:
        with pytest.raises(WeightsFileError, match=r"^[^\n]*generation_config.json[^\n]*$"):
            load_model(str(folder), device="cpu")
    else:
        assert len(load_model(str(folder), device="cpu").for_group("cross").run(TEXT).ids) <= 65


def test_a_classifiers_decoder_reads_the_text_shifted(loaded: Any, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    for model_type in ("bart", "mbart"):
        folder = tmp_path / model_type
        kind: Any = AutoModelForSequenceClassification
        model = kind.from_config(loaded(model_type).hf_module.family.config, attn_implementation="eager").eval()
        opened = load_model(str(tiny_models.save(model, folder, ends=True)), device="cpu")
        ids = torch.tensor([opened.tokenize(TEXT)[1]])
        with torch.no_grad():
            found = model.model(ids, output_attentions=True)  # its decoder's input is its own default
        identical(opened.for_group("cross").run(TEXT).weights, torch.cat(found.cross_attentions))
        identical(opened.for_group("decoder").run(TEXT).weights, torch.cat(found.decoder_attentions))
        assert "of a head that" in opened.facts["left aside"]
