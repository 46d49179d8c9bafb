"""The vision transformer against the same written out; the drawn pictures; what the shipped model sees and looks at."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from mha_core import load_model
from mha_core.errors import HeadlightError, SizeError, Unsupported
from mha_core.models.vision import CONTRAST, PictureModel, VisionSizes, VisionTransformer, token_names
from mha_core.training import inference, saved
from mha_core.training.initial_weights import init_weights
from mha_core.training.tasks import Pictures
from mha_core.training.tasks.shapes import CLASSES, SIDE, Drawing, pictures, read
from tests.closeness import same_function

from .dense_models import dense_block, layer_norm
from .runs import TINY_SHAPES, case, differ, equal, randomised, shipped, state_of, task, trained

SIZES = VisionSizes(
    vocabulary=11, max_len=11, d_model=16, n_heads=2, n_layers=2, d_feed_forward=20, residual=True, norm=True,
    classes=3, side=6, patch=2, registers=1, position="learned",
)  # fmt: skip


def drawn() -> Pictures:
    return cast(Pictures, task("shapes"))


def dense_logits(made: VisionTransformer, pixels: Tensor) -> Tensor:
    """Patch by patch, block by block."""
    patch, across = made.sizes.patch, made.sizes.side // made.sizes.patch
    rows = [*made.words.weight.expand(len(pixels), -1, -1).unbind(1)]
    for row in range(across):
        for column in range(across):
            cut = pixels[:, row * patch : (row + 1) * patch, column * patch : (column + 1) * patch].flatten(1)
            rows.append(CONTRAST * (cut - 0.5) @ made.patches.weight.T + made.patches.bias)
    x = made.position.add(torch.stack(rows, dim=1))
    for block in made.layers:
        x = dense_block(block, x, None, made.position)
    return layer_norm(x[:, 0], made.norm) @ made.out.weight.T + made.out.bias


def test_vision_transformer_equals_its_formulas_and_every_part_learns() -> None:
    pixels = torch.rand(3, 6, 6, dtype=torch.float64)
    for n_layers, registers, position in ((1, 0, "none"), (2, 1, "learned"), (2, 3, "rotary")):
        changes: dict[str, Any] = {"n_layers": n_layers, "registers": registers, "position": position}
        made = VisionTransformer(replace(SIZES, vocabulary=10 + registers, max_len=10 + registers, **changes))
        init_weights(made, 1)
        randomised(made)
        made.double()
        with case(changes):
            same_function(made.logits(pixels), dense_logits(made, pixels))
            torch.autograd.backward(made.logits(pixels).square().sum())
            assert [name for name, one in made.named_parameters() if one.grad is None or not one.grad.any()] == []
    assert token_names(4, 2, 1) == ("[CLS]", "[REG0]", "0,0", "0,1", "1,0", "1,1")
    with pytest.raises(SizeError, match="patches of 3"):
        token_names(4, 3, 0)


def test_a_picture_is_drawn_from_its_written_form() -> None:
    for text in drawn().questions:
        assert read(text).text == text
        assert torch.equal(read(text).pixels, read(text).pixels)
        assert read(text).pixels.shape == (SIDE, SIDE)
        assert 0 <= float(read(text).pixels.min()) <= float(read(text).pixels.max()) <= 1
    assert read("a CIRCLE") == Drawing("circle")
    assert read("square, size 9 at 3 4") == Drawing("square", 9, 3, 4)
    for text in ("", "hexagon", "circle, size 900", "cross at 99 3", "circle, size 1"):
        with pytest.raises(HeadlightError, match=r"choose|write one of"):
            read(text)


def test_the_patches_that_a_shape_touches() -> None:
    for shape in CLASSES:
        small = Drawing(shape, size=3, x=6, y=18)
        inside = (small.distance < 0).nonzero()
        assert {(int(y) // 4) * 7 + int(x) // 4 for y, x in inside} == set(small.patches), shape
        turned = [int((Drawing(shape, size=11, turned=angle).distance < 0).sum()) for angle in (0, 20, 45)]
        assert max(turned) - min(turned) < 0.2 * max(turned), "turning keeps the size but for the pixels at the rim"


def test_unseen_pictures_are_unseen_and_a_seed_decides_them() -> None:
    train, test = ({row.text for row in rows} for rows in (drawn().train, drawn().test))
    assert not train & test
    assert (len(train), len(test)) == (8000, 400)
    assert all(CLASSES[row.label] in row.text for row in drawn().test)
    assert drawn().fingerprint == pictures().fingerprint != pictures(1).fingerprint
    counts = [sum(row.label == label for row in drawn().test) for label in range(len(CLASSES))]
    assert min(counts) > 80


def test_trained_saved_and_read_again(tmp_path: Path) -> None:
    training = trained(TINY_SHAPES)
    training.save(tmp_path / "run")
    model, exact = (
        load_model(str(tmp_path / "run"), device="cpu", dtype=one) for one in (torch.float32, torch.float64)
    )
    assert isinstance(model, PictureModel)
    assert isinstance(exact, PictureModel)
    assert equal(model.encoder.state_dict(), state_of(training))
    start = saved.read(tmp_path / "run").start
    assert start is not None
    assert start.picture == [28, 4, 1]
    pixels = read(drawn().questions[0]).pixels
    run = exact.look(pixels)
    assert run.weights.shape == (2, 2, 51, 51)
    assert run.tokens == list(token_names(28, 4, 1))
    same_function(run.weights.sum(-1), torch.ones(2, 2, 51).double())
    same_function(run.logits, inference.logits(exact, drawn().questions)[:1])
    differ(exact.look(pixels, heads_off=[(0, 1)]).hidden[1], run.hidden[1])
    with pytest.raises(SizeError, match="reads 28 × 28"):
        model.look(torch.zeros(27, 28))
    with pytest.raises(Unsupported, match="reads pictures, not sentences"):
        model.run("circle")


def test_shipped_model_attends_to_the_shape() -> None:
    model = shipped("shapes-sinusoidal-1")
    assert isinstance(model, PictureModel)
    on_shape, share = 0.0, 0.0
    for row in drawn().test[:40]:
        drawing = read(row.text)
        seen = model.look(drawing.pixels).weights.mean(dim=(0, 1))[0]
        on_shape += float(seen[2:][drawing.patches].sum() / seen[2:].sum()) / 40
        share += len(drawing.patches) / 49 / 40
    assert on_shape > share
