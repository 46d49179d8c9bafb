"""Speech models on Explore: their sounds by name, ours and a visitor's own, and what the wire says of them."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import pytest
import torch

from mha_core.errors import HeadlightError
from mha_core.pretrained import sound_file
from mha_core.pretrained.foreign_sound import ForeignSound
from pages.compare import message as compare
from pages.explore import given, own_file
from pages.explore import message as explore
from pages.kit.jobs import visitor
from pages.kit.picture import album, foreign, mask_codec, models, pictures
from pages.kit.picture.link_query import LinkQuery
from pages.kit.picture.snippet import snippet
from pages.kit.server import store
from pages.kit.wire import routes
from tests import hub_cache
from tests.core import sounds
from tests.hub_cache import name_of

from .given_models import header, query, sit_at

WAVE, WHISPER = name_of("wav2vec2"), name_of("whisper")
VOWELS, TONE = album.SOUNDS


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hub_cache.fill(tmp_path_factory.mktemp("hf"), "wav2vec2", "whisper")


@pytest.fixture(autouse=True)
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sit_at(home, monkeypatch)


def sound(model: str, **more: Any) -> dict[str, Any]:
    return header(explore.maps(query(model, **more)))


def test_a_model_is_offered_with_two_sounds_of_ours() -> None:
    assert [found.why_not for found in foreign.cached()] == ["", ""]
    assert [foreign.reads(name) for name in (WAVE, WHISPER)] == ["sound", "sound"]
    said = sound(WAVE)
    assert said["presets"] == [VOWELS, TONE]
    assert said["typed"] == VOWELS
    assert said["patches"] is None
    heard = said["heard"]
    assert heard["seconds"] == 0.02
    assert len(heard["wave"]) == 74, "1.5 s: the last token needs 25 ms"
    assert said["row"] == 37
    assert said["told"] == said["notices"] == []
    assert said["pieces"] == ["A moment is named by when it begins; the next one begins 20 ms later."]
    assert set(said["fixed"]) == {"s", "pos", "steps", "batch"}
    assert sound(WAVE, s=TONE, off="L1 H2")["label"] == "1 head off"


def test_its_maps_and_its_wave_are_those_of_the_core() -> None:
    model = pictures.model_on("auto", WAVE)
    assert isinstance(model, ForeignSound)
    for name, content in album.SOUNDS.items():
        settings = LinkQuery(query(WAVE, s=name, t=2)).within()[0]
        run = pictures.picture(settings).run
        assert torch.equal(run.weights, model.run(content, temperature=2).weights)
        samples = sound_file.read(content, 16_000)
        for place, (low, high) in enumerate(given.wave(samples, 320, len(run.tokens))):
            part = samples[320 * place : 320 * (place + 1)]
            assert (low, high) == (round(float(part.min()), 4), round(float(part.max()), 4))
    with wave.open(io.BytesIO(routes.answer("heard", query(WAVE, s=TONE)))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (16_000, 1, len(samples))
    with pytest.raises(HeadlightError, match="reads no sounds"):
        explore.heard(query(models.MINILM, s="a dog"))
    with pytest.raises(HeadlightError, match="reads no pictures"):
        explore.seen(query(WAVE))


def test_what_is_written_is_read_again() -> None:
    samples = torch.linspace(-1, 1, 999)
    assert torch.allclose(sound_file.read(sound_file.written(samples, 8_000), 8_000), samples, atol=2**-14)


def test_a_sound_ends_before_its_last_moments() -> None:
    assert given.wave(torch.tensor([0.5, -0.25, 1.0]), 2, 3) == [(-0.25, 0.5), (0.0, 1.0), (0.0, 0.0)]


@pytest.mark.parametrize("group", ["encoder", "decoder", "cross"])
def test_whisper_has_three_kinds_of_attention(group: str) -> None:
    name = f"sound:{store.keep('data', sounds.file())}"
    mask = {} if group == "cross" else {"mask": "causal"}
    said = header(explore.maps(query(f"{WHISPER}~{group}", s=name, off="L0 H1", **mask)))
    assert (said["group"], said["told"]) == (group, [])
    assert len(said["heard"]["wave"]) == 30, "of 50: silence is behind them"
    assert ("“no word” is what a row gives to that" in said["pieces"][0]) == (group != "decoder")
    settings = LinkQuery(query(f"{WHISPER}~{group}", s=name)).within()[0]
    picture = pictures.picture(settings)
    assert (
        picture.run.columns
        == {
            "encoder": [*picture.run.tokens, pictures.NOBODY],
            "decoder": None,
            "cross": [*picture.model.tokenize(name)[0], pictures.NOBODY],
        }[group]
    )
    assert picture.worst_row_sum == pytest.approx(1, abs=1e-5)
    assert pictures.passed(picture.model, name) == 50
    if group != "decoder":
        assert explore.channels(query(f"{WHISPER}~{group}", s=name, view="channels", at="0.1.2.3"))


def test_a_mask_is_not_painted_where_silence_follows() -> None:
    name = f"sound:{store.keep('data', sounds.file())}"
    painted = mask_codec.write_flips(torch.ones(1, 30, 30, dtype=torch.bool).tril())
    said = sound(WHISPER, s=name, p=painted, mask="painted")
    assert any("where no cell is painted; only the mask’s rule applies." in notice for notice in said["notices"])


def test_a_sound_of_ones_own_has_a_name_that_goes_with_the_visit() -> None:
    name = album.SOUNDS.name_of(store.keep("data", sounds.file()))
    said = sound(WAVE, s=name)
    assert (said["typed"], said["told"]) == (name, [])
    model = pictures.model_on("auto", WAVE)
    settings = LinkQuery(query(WAVE, s=name)).within()[0]
    assert torch.equal(pictures.picture(settings).run.weights, model.run(sounds.file()).weights)
    store.forget("data", name.removeprefix("sound:"))
    gone = sound(WAVE, s=name)
    assert gone["typed"] == VOWELS
    assert gone["told"][0].endswith("This model reads sounds, no sentences.")


@pytest.mark.parametrize("text", ["The dog bit the man", "/etc/passwd", "sound:../../../../etc/passwd", "picture:x"])
def test_a_sentence_is_no_sound(text: str) -> None:
    said = sound(WAVE, s=text)
    assert (said["typed"], set(said["unusable"])) == (VOWELS, {"s"})
    with pytest.raises(HeadlightError, match="this model reads sounds, no sentences: choose one of ours"):
        album.SOUNDS[text]


def test_a_sound_of_too_many_moments_is_refused() -> None:
    long = album.SOUNDS.name_of(store.keep("data", sounds.file(sounds.tone(12))))
    with pytest.raises(HeadlightError, match=r"This sound has 599 moments; here it may have 512\. Cut it to 10\.2 s\."):
        explore.maps(query(WAVE, s=long))
    long = album.SOUNDS.name_of(store.keep("data", sounds.file(sounds.tone(1.1))))
    with pytest.raises(HeadlightError, match=r"The sound of 1\.10 s is longer than the 1\.00 s that are read"):
        explore.maps(query(WHISPER, s=long))


@pytest.mark.parametrize("route", ["pair", "masked"])
def test_pages_of_sentences_show_its_maps_and_say_what_a_word_is(route: str) -> None:
    said = header(routes.answer(route, query(WAVE, t2=2, mask="causal")))
    assert "This model reads sounds: where this page says word, it is a moment" in said["notices"][0]


def test_two_models_must_read_the_same() -> None:
    with pytest.raises(HeadlightError, match="one of these two models reads sounds, the other sentences"):
        compare.pair(query(WAVE, model2=models.MINILM))
    assert set(header(compare.pair(query(WAVE, s2=TONE)))["tries"]) == {"sharper and blurrier", "two sounds"}


def test_the_code_takes_the_sound_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = LinkQuery(query(WAVE, at="1.2.3"))
    code = snippet({"run": link.within()[0]}, link.at)
    assert 'sound = Path("sound.wav")' in code
    monkeypatch.chdir(tmp_path)
    Path("sound.wav").write_bytes(sounds.file())
    place = foreign.folder_of(WAVE)
    before = torch.get_num_threads()
    try:
        exec(code.replace(f'"tiny/wav2vec2", revision="{place.name}"', repr(str(place))), {})
    finally:
        torch.set_num_threads(before)


def test_a_bad_file_leaves_the_sound_before(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    monkeypatch.setattr("streamlit.runtime.exists", lambda: False)
    own_file.take("sound", sounds.file())
    name = visitor.given()["sound"]
    assert album.is_there(name)
    assert visitor.given()["picture"] == ""
    for content, said in [
        (sounds.file(sounds.tone(31)), "at most 30 s are read"),
        (b"ID3", "is no WAV sound, whatever its name says"),
        (sounds.file()[:300], "is damaged"),
        (bytes(20 * 2**20 + 1), "bytes, at most"),
    ]:
        own_file.take("sound", content)
        assert state[own_file.TOLD].startswith("This file cannot be opened: ")
        assert said in state[own_file.TOLD]
        assert state[own_file.TOLD].endswith(". The sound before is still there.")
        assert visitor.given()["sound"] == name
    assert visitor.brought() == {}, "it is no data to train on"
