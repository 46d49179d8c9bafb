"""Words computed from what is shown."""

from __future__ import annotations

import pytest

from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.pretrained import MINILM_SHA256
from pages.kit.picture import pictures
from pages.kit.picture import words as text
from pages.kit.picture.limits import POSITIONS
from pages.kit.picture.settings import Settings

TEXT = "it is short"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(TEXT), "nothing changed"),
        (Settings(TEXT, mask="window:3"), "mask window 3"),
        (Settings(TEXT, position="none"), "no positions"),
        (Settings(TEXT, position="sinusoidal"), "sinusoidal positions (this model was not trained for them)"),
        (Settings(TEXT, position="scaled:0.5"), "halved positions (this model was not trained for them)"),
        (Settings(TEXT, temperature=0.5), "temperature 0.5"),
        (Settings(TEXT, heads_off=((0, 0),)), "1 head off"),
        (Settings(TEXT, "causal", heads_off=((0, 0), (0, 1))), "mask causal, 2 heads off"),
    ],
)
def test_label(model: Model, settings: Settings, words: str) -> None:
    assert text.label(settings, model) == words


def test_what_a_position_does_is_said(model: Model) -> None:
    for position in POSITIONS.values():
        note, places = text.position_note(position, model), text.places(position, model)
        assert note.endswith(f"{text.NOT_TRAINED}.") == (position != "trained")
        assert ("is left out" in note) == ("add" not in places or position in ("sinusoidal", "none"))
        assert ("in every layer" in note) == bool(places - {"add"})
        assert ("random numbers that nobody trained" in note) == (position in ("t5", "shaw"))


def test_sentence() -> None:
    assert text.sentence(HeadlightError("50 tokens, too many")) == "50 tokens, too many."


def test_figures_are_the_pictures(model: Model) -> None:
    picture = pictures.picture(Settings(TEXT, heads_off=((0, 0), (2, 3))))
    cosine, off, worst, asked = text.figures(picture)
    untouched = model.run(TEXT).sentence
    assert float(cosine["value"]) == pytest.approx(float(picture.run.sentence @ untouched), abs=6e-4)
    assert off["value"] == "2 of 72"
    sums = picture.run.weights.sum(-1).flatten()
    assert float(worst["value"]) == pytest.approx(float(sums[(sums - 1).abs().argmax()]), abs=1e-6)
    assert [asked["value"], *(text.compared(found) for found in (None, 0.0, 1.24e-6))] == ["", "", "0", "1.2e−6"]


def test_about_has_what_is_needed_to_get_the_numbers_again() -> None:
    about = text.about(pictures.picture(Settings(TEXT, "causal")))
    assert about["sha256 of the weights"] == MINILM_SHA256
    assert about["settings"] == "mask causal; 5 tokens"
    assert int(about["threads"]) >= 1
    assert "float32" in about["device"]


def test_status() -> None:
    picture = pictures.picture(Settings(TEXT))
    for sent, words in ((15_900, "16 kB"), (999_999, "1000 kB"), (4_800_000, "4.8 MB")):
        assert text.status(picture, sent).endswith(f" ms · {words} of maps · 5 of at most 512 tokens")
