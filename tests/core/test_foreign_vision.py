"""Vision transformers of transformers by their folder: a picture in, the maps of its patches out."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from mha_core import load_model
from mha_core.errors import Unsupported
from mha_core.models.vision import token_names
from mha_core.pretrained import image_processor, offline, picture_file, preprocessor
from mha_core.pretrained.hf_model import HfModel
from tests.closeness import identical

from . import pictures
from .tiny_models import check_refusals, edit

pytestmark = pytest.mark.numeric

OWN = {
    "deit": ["[CLS]", "[DIST]"],
    "dinov2_with_registers": ["[CLS]", "[REG0]", "[REG1]", "[REG2]", "[REG3]"],
    "ijepa": [],
    "siglip_vision_model": [],
}
SWITCHES = frozenset(("mask", "heads", "mlps", "layers", "temperature", "values"))
CAN = {
    "clip_vision_model": SWITCHES | {"positions"},
    "siglip_vision_model": SWITCHES | {"positions"},
    "data2vec-vision": frozenset[str](),  # it hands its maps out, and computes them elsewhere
}
HALVES = {"chinese_clip_vision_model", "metaclip_2_vision_model"}  # only in whole models, see test_dual_encoders.py
QUICK = ("vit", "dinov2_with_registers")
PATCHES = list(token_names(32, 8, 0))[1:]


def plain(model: HfModel, image: Any) -> Any:
    """What the library itself makes of a picture: its own class for the folder, its own pass."""
    assert model.folder is not None
    kind: Any = getattr(
        offline.transformers(), image_processor.KINDS[model.hf_module.family.config.model_type].processor
    )
    pixels = kind.from_pretrained(model.folder)(image, return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        return model.hf_module.module(pixels, output_attentions=True, output_hidden_states=True)


@pytest.mark.parametrize(
    "model_type",
    [
        name
        if name in QUICK
        else pytest.param(name, marks=pytest.mark.thorough("every other model that reads pictures"))
        for name in image_processor.KINDS
        if name not in HALVES
    ],
)
def test_a_run_is_the_models_own_pass(loaded: Any, model_type: str) -> None:
    model = loaded(model_type)
    run = model.run(pictures.file())
    found = plain(model, pictures.image())
    own = OWN.get(model_type, ["[CLS]"])
    assert run.tokens == [*own, *PATCHES]
    identical(run.weights, torch.cat(found.attentions))
    identical(run.hidden, torch.cat(found.hidden_states))
    if "logits" in found:
        identical(run.logits, found.logits)
        assert len(model.classes) == run.logits.shape[1]
    else:
        assert run.logits is None
    assert model.can == CAN.get(model_type, SWITCHES)
    assert (model.groups, model.own_mask) == (("encoder",), "none")
    assert (run.extras.image.n_special, run.extras.image.rows, run.extras.image.columns) == (len(own), 4, 4)
    assert run.extras.image.pixels.shape == (32, 32, 3)
    assert run.extras.image.pixels.dtype == torch.uint8
    assert run.ends == (len(own), 0)


def test_the_same_picture_from_a_file_a_path_and_a_tensor(loaded: Any, tmp_path: Path) -> None:
    from PIL import Image

    model = loaded("vit")
    for kind in ("PNG", "JPEG", "WEBP"):
        data = pictures.file(kind)
        (tmp_path / "a.gif").write_bytes(data)
        with Image.open(io.BytesIO(data)) as image:
            pixels = torch.frombuffer(bytearray(image.convert("RGB").tobytes()), dtype=torch.uint8).view(40, 50, 3)
        wanted = model.run(data).weights
        identical(model.run(tmp_path / "a.gif").weights, wanted)
        identical(model.run(pixels).weights, wanted)


def test_transparency_rotation_and_16_bit_grey_of_pictures() -> None:
    from PIL import Image

    clear = picture_file.read(pictures.file(picture=Image.new("RGBA", (4, 4), (9, 9, 9, 0))))
    assert clear.getpixel((0, 0)) == (255, 255, 255)
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    assert picture_file.read(pictures.file("JPEG", exif=exif)).size == (40, 50)
    grey = pictures.image().convert("L").tobytes()
    deep = Image.frombytes("I;16", (50, 40), b"".join(bytes((0, value)) for value in grey))
    assert picture_file.read(pictures.file(picture=deep)).getchannel(0).tobytes() == grey


BAD: list[tuple[Any, str]] = [
    (b"not a picture", "not a PNG, JPEG or WebP picture; choose"),
    (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "not a PNG, JPEG or WebP picture"),
    (pictures.file()[:400], r"the picture is damaged \(OSError\); choose another"),
    (pictures.png_of(6000, 5000), "has 6,000 × 5,000 pixels, at most 24,000,000 are read"),
    (pictures.png_of(40, 40), "the picture is damaged"),
    (pictures.file(picture=pictures.image(210, 10)), "of 210 × 10 pixels is too long; cut a piece"),
    (bytes(10 * 2**20 + 1), "has 10,485,761 bytes, at most 10,485,760 are read"),
    (Path("/nowhere/a.png"), "cannot read the picture: No such file"),
    ("/etc/passwd", "a picture is bytes, a Path or a tensor, got str"),
    (torch.zeros(4, 4, 3), r"uint8 \(height, width, 3\), got torch.float32 \(4, 4, 3\)"),
]


def test_pictures_that_are_refused(loaded: Any) -> None:
    check_refusals(BAD, loaded("vit").run)


BAD_SETTINGS: list[tuple[str, dict[str, Any], str]] = [
    (
        preprocessor.FILE,
        {"auto_map": {"AutoImageProcessor": "own.Own"}, "image_processor_type": "Own"},
        "config.json asks for code of its own",
    ),
    (preprocessor.FILE, {"size": {"height": 2000, "width": 32}}, "asks for a side of 2000 pixels; 1 to 1,024 are"),
    (preprocessor.FILE, {"do_pad": True, "pad_size": {"height": 2000, "width": 32}}, "a side of 2000 pixels"),
    (preprocessor.FILE, {"do_resize": False}, "does not make every picture so large that patches of 8 fill it"),
    (preprocessor.FILE, {"size": {"height": 64, "width": 64}}, "cannot be run on a picture: ValueError: Input image"),
    ("config.json", {"patch_size": [8, 4]}, r"its patches are no squares \(patch_size=\[8, 4\]\)"),
]


def test_folders_that_are_refused(tmp_path: Path) -> None:
    folder = pictures.save("vit", tmp_path / "m")

    def load_changed(case: tuple[str, dict[str, Any]]) -> None:
        good = (folder / case[0]).read_text()
        edit(folder / case[0], **case[1])
        try:
            load_model(str(folder), device="cpu")
        finally:
            (folder / case[0]).write_text(good)

    check_refusals([((name, changes), expected) for name, changes, expected in BAD_SETTINGS], load_changed)
    edit(folder / "config.json", patch_size=1)
    edit(folder / preprocessor.FILE, size={"height": 64, "width": 64})
    with pytest.raises(Unsupported, match="cuts pictures into 64 × 64 patches; at most 1400"):
        load_model(str(folder), device="cpu")


def test_settings_under_an_old_name_and_those_of_a_processor(tmp_path: Path) -> None:
    folder, library = pictures.save("vit", tmp_path / "m"), cast(Any, offline.transformers())
    config, picture = library.AutoConfig.from_pretrained(folder), torch.arange(4800).view(40, 40, 3).to(torch.uint8)
    old: dict[str, Any] = {"feature_extractor_type": "ViTFeatureExtractor", "size": 32, "image_mean": [0.1, 0.2, 0.3]}
    padded = {"do_pad": True, "pad_size": {"height": 32, "width": 40}}
    inner = {"image_processor": old | padded | {"resample": 0, "size": 24}}
    for file, content in ((preprocessor.FILE, old), (preprocessor.PROCESSOR, inner)):
        (folder / file).write_text(json.dumps(content))
        expected = library.AutoImageProcessor.from_pretrained(folder)(picture.numpy(), return_tensors="pt")
        identical(image_processor.read(folder, config).read(picture).values, expected["pixel_values"])
