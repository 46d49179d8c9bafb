"""Folders of every family as its library saves them: model, tokenizer and processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from mha_core import load_model
from mha_core.pretrained import audio_processor, image_processor, offline
from tests.core import tiny_models

from . import comparison, corpus
from .comparison import Outcome

SIDE = {"height": tiny_models.WIDTH, "width": tiny_models.WIDTH}
# as many rows as the tokenizers that are trained here may need, and sizes of those that hear
SIZES = dict.fromkeys(("vocab_size", "n_vocab", "decoder_vocab_size", "src_vocab_size", "tgt_vocab_size"), 400)
HEARS: dict[str, Any] = {"max_source_positions": 50, "conv_dim": [32] * 7, "num_mel_bins": 80}


def save(model_type: str, model: Any, folder: Path) -> None:
    """Save a model, and the tokenizer and processor of its family, by the library's own save_pretrained."""
    library = offline.transformers()
    model.save_pretrained(folder)
    kinds = {"files": {"config.json": model.config.to_dict()}}
    if model_type in image_processor.KINDS:
        kind = getattr(library, image_processor.KINDS[model_type].processor)
        kind(size=SIDE, crop_size=SIDE).save_pretrained(folder)
        return
    tokenizer = corpus.trained(corpus.tokenizer_class(kinds))
    if model_type == "whisper":
        extractor = library.WhisperFeatureExtractor(chunk_length=1)
        library.WhisperProcessor(extractor, tokenizer).save_pretrained(folder)
    elif model_type in audio_processor.KINDS:
        getattr(library, audio_processor.KINDS[model_type].extractor)().save_pretrained(folder)
    else:
        tokenizer.save_pretrained(folder)


def judge(model_type: str, folder: Path, kind: str = "", **more: Any) -> Outcome:
    """Save a tiny model of a type, open it, and compare its groups; raises what load_model does.

    Raises:
        Difference: something is otherwise than in the model that was saved.
    """
    library = offline.transformers()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    name = kind or tiny_models.classes(model_type)[0]
    sizes = SIZES | (HEARS if model_type in audio_processor.KINDS else {}) | more
    model = tiny_models.build(getattr(library, name), CONFIG_MAPPING[model_type], **sizes)
    save(model_type, model, folder)
    other = type(model).from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    outcome = Outcome(model_type, {"expected": "opens"})
    opened = load_model(str(folder), device="cpu", dtype=torch.float32)
    if any(" half of a dual encoder" in notice for notice in opened.notices):
        other = other.text_model
    for group in opened.groups:
        part = opened.for_group(group)
        comparison.compare_group(outcome, part, comparison.INPUTS[part.reads][0], other, folder)
    outcome.seen = "opens"
    return outcome
