"""Models of vision on Explore: their pictures by name, ours and a visitor's own, and what the wire says of them."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from mha_core.errors import HeadlightError
from mha_core.pretrained.foreign_vision import ForeignVision
from pages.compare import message as compare
from pages.explore import message as explore
from pages.explore import own_file
from pages.kit.jobs import visitor
from pages.kit.picture import album, foreign, models, pictures
from pages.kit.picture.link_query import LinkQuery
from pages.kit.picture.snippet import snippet
from pages.kit.server import public, store
from pages.kit.wire import routes
from pages.shapes import message as shapes
from tests import hub_cache
from tests.core import pictures as files
from tests.hub_cache import name_of

from .conftest import app_at
from .given_models import header, query, sit_at

VIT, DINO = name_of("vit"), name_of("dinov2_with_registers")
BALL, DOT = album.PICTURES


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hub_cache.fill(tmp_path_factory.mktemp("hf"), "vit", "dinov2_with_registers")


@pytest.fixture(autouse=True)
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sit_at(home, monkeypatch)


def picture(model: str, **more: Any) -> dict[str, Any]:
    return header(explore.maps(query(model, **more)))


def test_a_model_is_offered_with_two_pictures_of_ours() -> None:
    assert [found.why_not for found in foreign.cached()] == ["", ""]
    assert foreign.reads(VIT) == "picture"
    assert foreign.reads(models.MINILM) == "text"
    said = picture(DINO)
    assert said["presets"] == [BALL, DOT]
    assert said["typed"] == BALL
    assert said["patches"] == {"own": 5, "rows": 4, "columns": 4}
    assert said["row"] == 5 + 2 * 4 + 2, "the patch in the middle"
    assert said["told"] == said["notices"] == []
    assert said["pieces"][0].startswith("[CLS], [REG0], [REG1], [REG2], [REG3] stand for no patch. A patch is named")
    assert set(said["fixed"]) == {"s", "pos", "steps", "batch"}
    assert said["next"] == []
    assert "of this picture" in said["figures"][0]["label"]
    assert picture(name_of("vit"), s=DOT, off="L1 H2")["label"] == "1 head off"


def test_its_maps_are_those_of_the_core() -> None:
    model = pictures.model_on("auto", DINO)
    assert isinstance(model, ForeignVision)
    for name in album.PICTURES:
        settings = LinkQuery(query(DINO, s=name, t=2)).within()[0]
        assert torch.equal(
            pictures.picture(settings).run.weights, model.run(album.PICTURES[name], temperature=2).weights
        )
    with Image.open(io.BytesIO(explore.seen(query(DINO, s=DOT)))) as seen:
        assert seen.size == (32, 32)
        assert seen.tobytes() == model.sight.pixels(album.PICTURES[DOT])[1].pixels.numpy().tobytes()
    with pytest.raises(HeadlightError, match="reads no pictures"):
        explore.seen(query(models.MINILM, s="a dog"))


def test_a_picture_of_ones_own_has_a_name_that_goes_with_the_visit() -> None:
    name = album.PICTURES.name_of(store.keep("data", files.file("JPEG")))
    said = picture(VIT, s=name)
    assert (said["typed"], said["told"]) == (name, [])
    model = pictures.model_on("auto", VIT)
    settings = LinkQuery(query(VIT, s=name)).within()[0]
    assert torch.equal(pictures.picture(settings).run.weights, model.run(files.file("JPEG")).weights)
    store.forget("data", name.removeprefix("picture:"))
    gone = picture(VIT, s=name)
    assert gone["typed"] == BALL
    assert gone["told"][0].endswith("This model reads pictures, no sentences.")


@pytest.mark.parametrize("text", ["The dog bit the man", "/etc/passwd", "picture:../../../../etc/passwd"])
def test_a_sentence_is_no_picture(text: str) -> None:
    said = picture(VIT, s=text)
    assert (said["typed"], set(said["unusable"])) == (BALL, {"s"})
    assert said["told"][0].endswith("This model reads pictures, no sentences.")
    with pytest.raises(HeadlightError, match="this model reads pictures, no sentences: choose one of ours"):
        album.PICTURES[text]


@pytest.mark.parametrize("route", ["pair", "masked"])
def test_pages_of_sentences_show_its_maps_and_say_what_a_word_is(route: str) -> None:
    said = header(routes.answer(route, query(VIT, t2=2, mask="causal")))
    assert "This model reads pictures: where this page says word, it is a patch" in said["notices"][0]


def test_what_of_such_a_page_needs_a_sentence_is_refused_with_the_reason() -> None:
    with pytest.raises(HeadlightError, match="reads pictures, no sentences"):
        compare.shuffled(query(VIT))
    with pytest.raises(HeadlightError, match="one of these two models reads pictures, the other sentences"):
        compare.pair(query(VIT, model2=models.MINILM))
    with pytest.raises(HeadlightError, match="cannot give: its layers are computed by transformers"):
        shapes.steps(query(VIT))
    two = header(compare.pair(query(VIT, s2=DOT)))
    assert (two["used"]["s"], two["used"]["s2"]) == (BALL, DOT)
    assert set(two["tries"]) == {"sharper and blurrier", "two pictures"}
    assert header(compare.pair(query(VIT, s2="a dog")))["told"][0].endswith("This model reads pictures, no sentences.")


def test_aids_that_need_words_say_so() -> None:
    with pytest.raises(HeadlightError, match="has no mask token"):
        explore.masked_word(query(VIT, at="0.0.3"))
    with pytest.raises(HeadlightError, match="reads pictures, no sentences"):
        explore.overview(query(VIT, view="heads.random"))
    assert "reads pictures" in picture(VIT, look="words")["reading"]["said"]


def test_the_code_takes_the_picture_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = LinkQuery(query(VIT, at="1.2.3"))
    code = snippet({"run": link.within()[0]}, link.at)
    assert 'picture = Path("picture.png")' in code
    monkeypatch.chdir(tmp_path)
    Path("picture.png").write_bytes(files.file())
    place = foreign.folder_of(VIT)
    before = torch.get_num_threads()
    try:
        exec(code.replace(f'"tiny/vit", revision="{place.name}"', repr(str(place))), {})
    finally:
        torch.set_num_threads(before)


def test_the_route_is_a_picture_and_a_model_of_too_many_tokens_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    width, height = struct.unpack(">II", routes.answer("seen", query(VIT))[16:24])
    assert (width, height) == (32, 32)
    folder = files.save("vit", tmp_path / "fine", side=46, patch=2)
    name = foreign.opened(str(folder)).name
    with pytest.raises(HeadlightError, match="fine makes 530 tokens of a picture; 512 are drawn"):
        pictures.model_on("cpu", name)


def test_the_control_for_a_file_comes_when_a_picture_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_at(model=VIT).run()
    assert not app.get("file_uploader")
    app.session_state[own_file.READS] = "picture"
    assert len(app.run().get("file_uploader")) == 1
    monkeypatch.setenv(public.VARIABLE, "1")
    assert not app.run().get("file_uploader")
    assert app.caption[0].value == public.NO_FILES


def test_a_bad_file_leaves_the_picture_before(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    monkeypatch.setattr("streamlit.runtime.exists", lambda: False)
    own_file.take("picture", files.file())
    name = visitor.given()["picture"]
    assert album.is_there(name)
    assert state[own_file.TOLD] == ""
    for content, said in [
        (files.png_of(10_000, 10_000), "pixels"),
        (b"GIF89a", "no PNG, JPEG or WebP picture, whatever its name says"),
        (files.file()[:300], "is damaged"),
        (bytes(10 * 2**20 + 1), "bytes, at most"),
    ]:
        own_file.take("picture", content)
        assert state[own_file.TOLD].startswith("This file cannot be opened: ")
        assert said in state[own_file.TOLD]
        assert state[own_file.TOLD].endswith(". The picture before is still there.")
        assert visitor.given()["picture"] == name
    own_file.take("picture", files.file("WEBP"))
    assert visitor.given()["picture"] != name
    assert not album.is_there(name), "a visitor has one picture"
    assert visitor.brought() == {}, "it is no data to train on"
