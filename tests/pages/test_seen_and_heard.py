"""Models of pictures and of sounds on Explore: what they are media, ours and a visitor’s own, and what is said."""

from __future__ import annotations

import io
import struct
import wave
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
import torch
from PIL import Image

from headlight.export.snippet import snippet
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.registry import MINILM, album, foreign, pretrained
from headlight.registry.album import PICTURES, SOUNDS, Album
from headlight.registry.foreign import Foreign
from headlight.server import public, store
from mha_core.errors import HeadlightError
from mha_core.pretrained import sound_file
from mha_core.pretrained.hf_model import HfModel
from pages.compare import handlers as compare
from pages.explore import handlers as explore
from pages.explore import heads_overview, media
from pages.explore import page as own_file
from pages.frame import user
from pages.shapes import handlers as shapes
from tests import hub_cache
from tests.core import pictures as files
from tests.core import sounds
from tests.core.test_dual_encoders import whole
from tests.hub_cache import name_of

from .conftest import answer, app_at, picture_of

VIT, DINO, WAVE, WHISPER = map(name_of, ("vit", "dinov2_with_registers", "wav2vec2", "whisper"))
BALL, DOT = PICTURES
TONE, LOW = SOUNDS


class Kind(NamedTuple):
    """What a model reads, one of our files of that, what a word is called there, and files that cannot be used."""

    album: Album
    model: str
    file: bytes
    word: str
    bad: list[tuple[bytes, str]]

    @property
    def reads(self) -> str:
        """As a sentence has it."""
        return f"reads {self.album.kind}s, no sentences"


SEEN = Kind(PICTURES, VIT, files.file(), "a patch", [
    (files.png_of(10_000, 10_000), "pixels"),
    (b"GIF89a", "not a PNG, JPEG or WebP picture"),
    (files.file()[:300], "is damaged"),
    (bytes(10 * 2**20 + 1), "bytes, at most"),
])  # fmt: skip
HEARD = Kind(SOUNDS, WAVE, sounds.file(), "a moment", [
    (sounds.file(sounds.tone(31)), "at most 30 s are read"),
    (b"ID3", "is not a WAV sound"),
    (sounds.file()[:300], "is damaged"),
    (bytes(20 * 2**20 + 1), "bytes, at most"),
])  # fmt: skip
KINDS = (SEEN, HEARD)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kinds = ("vit", "dinov2_with_registers", "wav2vec2", "whisper")
    return hub_cache.fill(tmp_path_factory.mktemp("hf"), *kinds)


@pytest.fixture(autouse=True)
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub_cache.sit_at(home, monkeypatch)


def query(model: str, **more: str) -> bytes:
    return urlencode({"model": model, **more}).encode()


def shown(model: str, **more: str) -> dict[str, Any]:
    return picture_of("maps", model=model, **more)[0]


def kept(content: bytes, kind: Kind = HEARD) -> str:
    """The name of a file that a visit brought."""
    return kind.album.data_name(store.put("data", content))


def test_uploaded_file_has_a_name_that_ends_with_the_session() -> None:
    for kind in KINDS:
        content = files.file("JPEG") if kind is SEEN else kind.file
        name = kept(content, kind)
        header = shown(kind.model, s=name)
        assert (header["sentence"], header["warnings"]) == (name, []), kind
        model = pictures.model_on("auto", kind.model)
        settings = LinkQuery(query(kind.model, s=name)).fitted_settings()[0]
        assert torch.equal(pictures.picture(settings).run.weights, model.run(content).weights), kind
        store.delete("data", name.partition(":")[2])
        gone = shown(kind.model, s=name)
        assert gone["sentence"] == next(iter(kind.album)), kind
        assert gone["warnings"][0].endswith(f"This model {kind.reads}."), kind


def test_sentence_is_no_file() -> None:
    for text in (
        "The dog bit the man", "/etc/passwd", "picture:../../../../etc/passwd", "sound:../../../etc/passwd",
        "picture:x",
    ):  # fmt: skip
        for kind in KINDS:
            header = shown(kind.model, s=text)
            assert (header["sentence"], set(header["unusable"])) == (next(iter(kind.album)), {"s"}), kind
            assert header["warnings"][0].endswith(f"This model {kind.reads}."), kind
            with pytest.raises(HeadlightError, match=f"this model {kind.reads}: choose a bundled one"):
                kind.album[text]


@pytest.mark.thorough("both kinds of models on both sides of Compare")
def test_two_models_must_read_the_same() -> None:
    for kind in KINDS:
        name, (first, other) = kind.album.kind, kind.album
        with pytest.raises(HeadlightError, match=f"one of these two models reads {name}s, the other sentences"):
            compare.pair(query(kind.model, model2=pretrained.MINILM))
        two, _ = picture_of("pair", model=kind.model, s2=other)
        assert (two["texts"]["s"], two["texts"]["s2"]) == (first, other), kind
        assert set(two["suggestions"]) == {"sharper and softer attention", f"two {name}s"}, kind
        header, _ = picture_of("pair", model=kind.model, s2="a dog")
        assert header["warnings"][0].endswith(f"This model {kind.reads}."), kind


@pytest.mark.parametrize("kind", KINDS, ids=("picture", "sound"))
def test_code_takes_it_from_its_file(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = LinkQuery(query(kind.model, at="1.2.3"))
    code = snippet({"run": link.fitted_settings()[0]}, link.cursor)
    file = {"picture": "picture.png", "sound": "sound.wav"}[kind.album.kind]
    assert f'{kind.album.kind} = Path("{file}")' in code
    monkeypatch.chdir(tmp_path)
    Path(file).write_bytes(kind.file)
    place = Foreign(kind.model).folder
    before = torch.get_num_threads()
    try:
        exec(code.replace(f'"{Foreign(kind.model).title}", revision="{place.name}"', repr(str(place))), {})
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("kind", KINDS, ids=("picture", "sound"))
def test_bad_file_keeps_the_previous_one(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    monkeypatch.setattr("streamlit.runtime.exists", lambda: False)
    own = kind.album.kind
    own_file.open_file(own, kind.file)
    name = user.media()[own]
    assert album.has_media(name)
    assert state[own_file.ERROR] == ""
    assert [medium for medium in user.media().values() if medium] == [name], "nothing of the other kind"
    for content, sentence in kind.bad:
        own_file.open_file(own, content)
        assert state[own_file.ERROR].startswith("This file cannot be opened: ")
        assert sentence in state[own_file.ERROR]
        assert state[own_file.ERROR].endswith(f". The previous {own} is still there.")
        assert user.media()[own] == name
    own_file.open_file(own, files.file("WEBP") if kind is SEEN else sounds.file(sounds.tone(0.5)))
    assert user.media()[own] != name
    assert not album.has_media(name), "a visitor has one"
    assert user.uploads() == {}, "it is no data to train on"


def test_model_is_offered_with_two_pictures_of_ours() -> None:
    assert ([found.why_not for found in foreign.list_cached()], foreign.input_kind(Foreign(VIT).folder)) == (
        [""] * 4,
        "picture",
    )
    header = shown(DINO)
    assert (header["presets"], header["sentence"]) == ([BALL, DOT], BALL)
    assert header["patches"] == {"specialTokens": 5, "rows": 4, "columns": 4}
    assert header["row"] == 5 + 2 * 4 + 2, "the patch in the middle"
    assert header["warnings"] == header["notices"] == []
    assert header["pieces"][0].startswith("[CLS], [REG0], [REG1], [REG2], [REG3] stand for no patch. A patch is named")
    assert (set(header["fixed"]), header["next"]) == ({"s", "pos", "steps", "batch"}, [])
    assert "for this picture" in header["figures"][0]["label"]
    assert shown(VIT, s=DOT, off="L1 H2")["label"] == "1 head off"


def test_each_half_of_a_dual_encoder_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "offered_names", set())
    for folder in (tmp_path / "clip", tmp_path / "clip#vision"):
        whole("clip", folder)
        found = foreign.open_folder(str(folder))
        text, vision = found.halves
        assert [text.name, vision.name] == [f"{found.name}#text", f"{found.name}#vision"]
        assert [text.title, vision.title] == [f"{folder.name}, text", f"{folder.name}, pictures"]
        assert shown(vision.name)["presets"] == [BALL, DOT]
        assert pictures.model_on("auto", found.name).reads == pictures.model_on("auto", text.name).reads == "text"
        assert foreign.offer(f"{folder}/#vision") == vision
        assert (foreign.offer(str(folder)), foreign.offered_names >= {text.name, vision.name}) == (text, True)
        assert foreign.Foreign(vision.name).in_code[0] == f"{folder.name}#vision"
        with pytest.raises(HeadlightError, match="this clip has no part #audio"):
            foreign.open_folder(f"{folder}#audio")


def test_its_maps_are_those_of_the_core() -> None:
    model = pictures.model_on("auto", DINO)
    assert isinstance(model, HfModel)
    for name, content in PICTURES.items():
        settings = LinkQuery(query(DINO, s=name, t="2")).fitted_settings()[0]
        assert torch.equal(pictures.picture(settings).run.weights, model.run(content, temperature=2).weights)
    png = answer("image", query(DINO, s=DOT))
    assert struct.unpack(">II", png[16:24]) == (32, 32)
    with Image.open(io.BytesIO(png)) as seen:
        patches = model.features(DOT).extras.image
        assert patches is not None
        assert seen.tobytes() == patches.pixels.numpy().tobytes()
    for other in (query(MINILM, s="a dog"), query(WAVE)):
        with pytest.raises(HeadlightError, match="reads no pictures"):
            media.to_png(other)


def test_controls_that_need_text_are_refused_with_the_reason() -> None:
    for ask, raw, why in (
        (compare.shuffle_test, query(VIT), "reads pictures, no sentences"),
        (shapes.steps, query(VIT), "does not support this: its layers are computed by transformers"),
        (heads_overview.answer, query(VIT, view="heads.random"), "reads pictures, no sentences"),
    ):
        with pytest.raises(HeadlightError, match=why):
            ask(raw)
    assert "reads pictures" in shown(VIT, look="words")["reading"]["sentence"]


@pytest.mark.thorough("a model of its own is made and saved")
def test_model_of_too_many_tokens_is_refused(tmp_path: Path) -> None:
    folder = files.save("vit", tmp_path / "fine", side=46, patch=2)
    name = foreign.open_folder(str(folder)).name
    with pytest.raises(HeadlightError, match="fine splits a picture into 530 tokens; at most 512 can be drawn"):
        pictures.model_on("cpu", name)


@pytest.mark.thorough("several runs of the whole page, which a browser opens in every run")
def test_control_for_a_file_comes_when_a_picture_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_at(model=VIT).run()
    assert not app.get("file_uploader")
    app.session_state[own_file.MEDIUM] = "picture"
    assert len(app.run().get("file_uploader")) == 1
    monkeypatch.setenv(public.VARIABLE, "1")
    assert not app.run().get("file_uploader")
    assert app.caption[0].value == public.NO_FILES


def test_model_is_offered_with_two_sounds_of_ours() -> None:
    assert [foreign.input_kind(Foreign(name).folder) for name in (WAVE, WHISPER)] == ["sound", "sound"]
    header = shown(WAVE)
    assert (header["presets"], header["sentence"]) == ([TONE, LOW], TONE)
    assert header["patches"] is None
    heard = header["sound"]
    assert heard["seconds"] == 0.02
    assert len(heard["wave"]) == 74, "1.5 s: the last token needs 25 ms"
    assert header["row"] == 37
    assert header["warnings"] == header["notices"] == []
    assert header["pieces"] == ["A moment is named by its start time; the next one starts 20 ms later."]
    assert set(header["fixed"]) == {"s", "pos", "steps", "batch"}
    assert shown(WAVE, s=LOW, off="L1 H2")["label"] == "1 head off"


def test_its_maps_and_its_wave_are_those_of_the_core() -> None:
    model = pictures.model_on("auto", WAVE)
    assert isinstance(model, HfModel)
    for name, content in SOUNDS.items():
        settings = LinkQuery(query(WAVE, s=name, t="2")).fitted_settings()[0]
        run = pictures.picture(settings).run
        assert torch.equal(run.weights, model.run(content, temperature=2).weights)
        samples = sound_file.read(content, 16_000)
        for place, (low, high) in enumerate(media.wave(samples, 320, len(run.tokens))):
            part = samples[320 * place : 320 * (place + 1)]
            assert (low, high) == (round(float(part.min()), 4), round(float(part.max()), 4))
    with wave.open(io.BytesIO(answer("audio", query(WAVE, s=TONE)))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (16_000, 1, len(samples))
    with pytest.raises(HeadlightError, match="reads no sounds"):
        media.to_wav(query(pretrained.MINILM, s="a dog"))


def test_sound_of_too_many_moments_is_refused() -> None:
    for model, seconds, why in (
        (WAVE, 12, r"This sound has 599 moments; here it may have 512\. Shorten it to 10\.2 s\."),
        (WHISPER, 1.1, r"The sound of 1\.10 s is longer than the 1\.00 s that are read"),
    ):
        with pytest.raises(HeadlightError, match=why):
            explore.maps(query(model, s=kept(sounds.file(sounds.tone(seconds)))))
