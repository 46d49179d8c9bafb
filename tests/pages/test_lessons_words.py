"""What lessons ask of a model that writes: the first choice, temperature, and words that are said twice."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
import torch

from pages.kit.lessons.course import course
from pages.kit.lessons.evaluate import evaluate, number
from pages.kit.lessons.grammar import RuleError, parse
from pages.kit.lessons.quantities.scene import PageScene, scene_of
from pages.kit.lessons.verdict import Verdict, verdict
from pages.kit.picture import models, pictures
from pages.kit.picture.models import SMOLLM2
from pages.kit.picture.settings import Settings

HOT = "The opposite of hot is"
ROUND = "boat drum key wolf apple rain lamp moon star"
TWICE = f"{ROUND} {ROUND}"
TWO_LAYERS = "words-2layers-1"


def of_smollm2(text: str = HOT, **keys: object) -> PageScene:
    return scene_of("explore", {"model": SMOLLM2, "s": text, **keys})


def of_words(text: str = TWICE, model: str = TWO_LAYERS, **keys: object) -> PageScene:
    return scene_of("explore", {"model": model, "s": text, **keys})


def step_now(lesson: str, step: int, **changes: str | list[str]) -> Verdict:
    """The verdict on a step while its page shows these values instead of the link's own."""
    asked = course().lessons[lesson].steps[step - 1]
    return verdict(asked, {**parse_qs(asked.query), **changes})


def test_the_first_choice_and_the_temperature_of_the_answer() -> None:
    model = pictures.model_on("auto", SMOLLM2)
    run = pictures.picture(Settings(HOT, model=SMOLLM2)).run  # a bare run may take other threads, and round otherwise
    assert run.logits is not None
    logits, cold = run.logits[-1].double(), model.tokenizer.token_to_id("Ġcold")
    assert number(parse('choice("cold")'), of_smollm2()) == 1 == 1 + int((logits > logits[cold]).sum())
    for temperature in (0.5, 2.0):
        expected = float((logits / temperature).softmax(dim=-1)[cold])
        asked = f'softened("cold", {temperature})'
        assert number(parse(asked), of_smollm2()) == pytest.approx(expected, abs=1e-5)
        assert number(parse(f'choice("cold", {temperature})'), of_smollm2()) == 1
    hot = pictures.picture(Settings(HOT, temperature=2.0, model=SMOLLM2)).run.logits
    assert hot is not None
    place = 1 + int((hot[-1] > hot[-1][cold]).sum())
    assert number(parse('choice("cold")'), of_smollm2(t=2)) == place > 1
    assert number(parse("first_choice"), of_smollm2(t=2)) == pytest.approx(float(hot[-1].softmax(-1)[cold]), abs=1e-5)
    assert number(parse("first_choice'"), of_smollm2(t=2)) == pytest.approx(float(logits.softmax(-1)[cold]), abs=1e-5)


def test_what_has_no_next_word() -> None:
    for rule in ('choice("cold")', "first_choice"):
        with pytest.raises(RuleError, match="no next word"):
            number(parse(rule), scene_of("explore", {"s": HOT}))
    with pytest.raises(RuleError, match="above 0"):
        number(parse('softened("star", 0)'), of_words())
    with pytest.raises(RuleError, match="does not stand alone"):
        number(parse('choice("")'), of_words())


def test_words_that_are_said_twice() -> None:
    for name in ("words-1layer-1", TWO_LAYERS):
        run = pictures.model_on("auto", name).run(TWICE, all_logits=True)
        assert run.logits is not None
        places = range(9, 17)  # in front of the second to the ninth word of the second round
        chances = [float(run.logits[row].softmax(dim=-1)[run.ids[row + 1]]) for row in places]
        first = [int(run.logits[row].argmax()) == run.ids[row + 1] for row in places]
        assert number(parse("foreseen"), of_words(model=name)) == pytest.approx(sum(chances) / 8, abs=1e-5)
        assert number(parse("hits"), of_words(model=name)) == sum(first) / 8
        behind = torch.stack([run.weights[-1, :, row, row - 8] for row in places]).mean(dim=0)
        found = evaluate(parse(f"looks_behind({len(run.weights) - 1})"), of_words(model=name)).tensor
        torch.testing.assert_close(found, behind)


def test_what_no_text_says_twice() -> None:
    for text in (ROUND, "boat drum boat"):
        with pytest.raises(RuleError, match="a second time"):
            number(parse("foreseen"), of_words(text))
    with pytest.raises(RuleError, match="layers 0 to 1"):
        evaluate(parse("looks_behind(2)"), of_words())
    with pytest.raises(RuleError, match="no next word"):
        number(parse("hits"), scene_of("explore", {"s": "can you see can you hear"}))


def test_a_verdict_follows_what_the_page_shows() -> None:
    """With other heads off, layer 1 keeps the place: the other answer's rule holds, so there is no verdict."""
    assert step_now("copying", 3).picked == "B"
    others = step_now("copying", 3, off=["L0 H1", "L0 H3"])
    assert others.picked is None
    assert "the numbers say A" in others.sentence
    assert {label: value for label, value, _ in others.numbers}["first choice right now"] == 1


def test_where_the_model_that_writes_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its steps say so in one sentence, and the lesson's others stay."""
    monkeypatch.setenv(models.SWITCH, "off")
    missing = step_now("copying", 4)
    assert (missing.picked, missing.numbers) == (None, ())
    assert "SmolLM2, the model that writes, is switched off on this server; choose another model" in missing.sentence
    assert step_now("copying", 2).picked == "B"
