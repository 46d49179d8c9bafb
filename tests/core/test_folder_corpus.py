"""The folders of tests/folders, and those that transformers saves, open equal to its own pass or are refused."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from tests.folders import comparison, corpus, saved

QUICK = (
    "adapter_without_config", "added_tokens_in_settings_alone", "bert_case_told_twice", "bert_pruned_heads",
    "llama_adds_no_start", "llama_fewer_layers", "llama_quantization_null", "model_max_length_1e30",
    "plain_bert_gamma_beta", "plain_bert_is_decoder", "plain_bert_prefix_auto_model", "plain_bert_relative_key",
    "plain_bert_sharded", "sentence_transformers", "sentence_transformers_v1", "shards_without_index",
    "vit_nested_processor", "weights_as_model_onnx",
)  # fmt: skip
SAVED = (
    "albert", "bart", "bert", "bloom", "camembert", "cohere2", "deberta-v2", "dinov2", "distilbert", "electra",
    "esm", "falcon", "gemma3_text", "gpt2", "gpt_neox", "gpt_oss", "granite_swa", "hubert", "llama", "m2m_100",
    "marian", "mbart", "mistral", "modernbert", "mpnet", "olmo2", "opt", "pegasus", "phi", "qwen3", "roberta", "t5",
    "vit", "wav2vec2", "whisper", "xlm-roberta", "xlnet",
)  # fmt: skip
PRIVATE = re.compile(r"/(home|Users|root)/(?!someone)|[\w.]+@[\w-]+\.\w+|\bhf_[A-Za-z]{20}")
MAX_BYTES = 1_500_000
MIN_FOLDERS = 120


@pytest.fixture(autouse=True)
def _library_warnings() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of descriptions that are old
        yield


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough("every other folder of the corpus"))
        for name in corpus.names()
    ],
)
def test_every_folder(name: str, tmp_path: Path) -> None:
    outcome = comparison.judge(name, tmp_path)
    assert outcome.is_right, outcome.sentence or outcome.seen


@pytest.mark.thorough("37 families, each saved and opened")
@pytest.mark.parametrize("model_type", SAVED)
def test_a_family_as_its_library_saves_it_today(model_type: str, tmp_path: Path) -> None:
    outcome = saved.judge(model_type, tmp_path / model_type)
    assert max(outcome.differences.values()) < comparison.ROUNDING


def test_descriptions_are_facts() -> None:
    texts = {name: (corpus.FOLDER / f"{name}.json").read_text("utf-8") for name in corpus.names()}
    assert len(texts) >= MIN_FOLDERS
    assert sum(map(len, texts.values())) <= MAX_BYTES
    assert [name for name, text in texts.items() if PRIVATE.search(text)] == []
