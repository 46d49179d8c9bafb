"""Notebooks import modules by their former names; each is the same module as under its place now."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from mha_core.former_names import FORMER

# the names that notebooks and programs use, by former module
USED = {
    "asking": "classes continuation logits probabilities",
    "benchmark": "forward maps_of_minilm memory text_of tracing training",
    "by_hand": "Cell Stages entropy softmax_steps softmax_three_ways take_apart weights_of",
    "checkpoints": "VARIANTS recipes",
    "classifier": "Classifier ClassifierSizes FULLY_CONNECTED PADDING",
    "compare": "Agreement Change Difference Repeated agreements cosine difference_in_new_order "
    "difference_to_transformers key_bias_gradient largest_change largest_difference new_places previous_token_weight "
    "random_weights relative_difference repeated_words row_distances without_each_head worst_row_sum",
    "encoder": "Encoder EncoderLayer EncoderSizes",
    "events": "End Evaluation Event History Snapshot Start Step from_line from_values to_line",
    "initial": "classifier_sizes draw language_sizes",
    "language_model": "LanguageModel LanguageSizes",
    "model": "Mask Model Run",
    "objectives": "Classes Judged NextTokens Objective Sums head_scores objective",
    "recipe": "ENDS Recipe defaults",
    "report": "OfClass confusion interval mean_and_sd per_class",
    "reproduce": "ROWS Line recipe table",
    "saved": "FILES LARGEST RUN pack read read_stack read_tokenizer save unpack",
    "stack": "AttentionBlock BlockSizes Stack embedding",
    "tasks": "NAMES Batch Labelled Language Row build from_csv from_hub from_text",
    "timing": "Candidates Spread calls forward_pass interleaved machine peak_memory same_weights spread training_step",
    "tokens": "SPECIAL of of_file",
    "worker": "main",
    "workload": "KINDS Data Order check_maps check_parameters check_step check_threads most_threads",
}


def test_every_former_name_is_listed() -> None:
    assert USED.keys() == FORMER.keys()


@pytest.mark.parametrize("name", FORMER)
def test_a_former_name_is_the_same_module(name: str) -> None:
    former, now = importlib.import_module(f"mha_core.{name}"), importlib.import_module(f"mha_core.{FORMER[name]}")
    assert former is now
    assert [used for used in USED[name].split() if not hasattr(former, used)] == []


def test_in_a_process_of_its_own() -> None:
    """As a notebook writes it: whichever name comes first, parts of former packages too."""
    program = """
from mha_core.tasks.table import LIMITS
from mha_core.tasks import Labelled
import mha_core.recipe
from mha_core.training import Training
from mha_core.asking import logits
from mha_core import compare
from mha_core.pretrained import load_model
import mha_core.training.tasks.table, mha_core.training.inference, mha_core.training.loop, mha_core.measure.compare
assert LIMITS is mha_core.training.tasks.table.LIMITS
assert Labelled is mha_core.training.tasks.Labelled
assert mha_core.recipe.Recipe is mha_core.training.recipe.Recipe
assert Training is mha_core.training.loop.Training
assert logits is mha_core.training.inference.logits
assert compare is mha_core.measure.compare
assert load_model is mha_core.load_model
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_other_names_are_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"mha_core\.flash"):
        importlib.import_module("mha_core.flash")
