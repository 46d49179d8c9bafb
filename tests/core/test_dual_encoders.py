"""Both halves of CLIP, SigLIP and their kin, by name: each is the library's own model of that half."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from mha_core import load_model
from mha_core.errors import Unsupported
from mha_core.pretrained.hf_model import HfModel
from tests.closeness import identical

from . import pictures, tiny_models

TEXT = "the quick brown fox sat on a mat"
PICTURES = {"clip": "CLIP", "siglip": "Siglip", "metaclip_2": "CLIP", "chinese_clip": "ChineseCLIP"}
KINDS = {**PICTURES, "clap": "", "xclip": "", "siglip2": ""}


def whole(model_type: str, folder: Path) -> Any:
    """A tiny dual encoder, saved in a folder."""
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config_class = CONFIG_MAPPING[model_type]
    kind = getattr(transformers, config_class.__name__.replace("Config", "Model"))
    more = {"patch_size": 8, "image_size": 32, "vision_use_head": False}
    model = tiny_models.build(kind, config_class, **more)
    tiny_models.save(model, folder)
    if processor := KINDS[model_type]:
        size = {"height": 32, "width": 32}
        settings: dict[str, Any] = {"size": size, "do_center_crop": False}
        getattr(transformers, f"{processor}ImageProcessorPil")(**settings).save_pretrained(folder)
    return model


@pytest.mark.parametrize("model_type", KINDS)
def test_each_half_is_the_librarys_own(tmp_path: Path, model_type: str) -> None:
    model = whole(model_type, tmp_path)
    text = load_model(str(tmp_path), device="cpu")
    run = text.run(TEXT)
    with torch.no_grad():
        found = model.text_model(torch.tensor([run.ids]), output_attentions=True, output_hidden_states=True)
    identical(run.weights, torch.cat(found.attentions))
    assert "This is the text half of a dual encoder" in text.notices[0]
    identical(load_model(f"{tmp_path}#text", device="cpu").run(TEXT).weights, run.weights)
    if model_type not in PICTURES:
        with pytest.raises(Unsupported, match=rf"this {model_type} has no part #vision that is read here \(#text\)"):
            load_model(f"{tmp_path}#vision", device="cpu")
        return
    assert "#vision behind its name opens the vision half" in text.notices[0]
    vision = load_model(f"{tmp_path}#vision", device="cpu")
    assert isinstance(vision, HfModel)
    seen = vision.run(pictures.file())
    with torch.no_grad():
        found = model.vision_model(vision.features(pictures.file()).values, output_attentions=True)
    identical(seen.weights, torch.cat(found.attentions))
    assert "#text behind its name opens the text half" in vision.notices[0]


def test_another_model_has_no_halves(loaded: Any) -> None:
    with pytest.raises(Unsupported, match="this bert has no part #vision"):
        load_model(f"{loaded('bert').folder}#vision", device="cpu")
