"""The code of a picture: run by itself, it gives the page's weights; as a notebook too."""

from __future__ import annotations

import ast
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import nbformat
import pytest
import torch

from headlight.export.snippet import notebook, snippet
from headlight.link import mask_codec
from headlight.link.cursor import Cursor
from headlight.link.presets import PRESETS
from headlight.picture import next_token, pictures
from headlight.picture.settings import Settings
from headlight.registry import SMOLLM2, get_source, trained
from mha_core import Run
from mha_core.models.generation import Generation
from pages.explore import exports
from tests.closeness import identical

from .conftest import answer

HOSTILE = 'quote \' and " and """ \\n \n\r\t{x} \u202e\u2066 \u2028 \u200d 😀 é #'
SHORT = "can you can that"  # six tokens


def painted() -> str:
    """A painting of SHORT: one cell turned round in every head, and one more in head 3."""
    flips = torch.zeros(12, 6, 6, dtype=torch.bool)
    flips[:, 2, 1] = True
    flips[3, 0, 4] = True
    return mask_codec.write_flips(flips)


CASES = {
    "every switch": Settings(PRESETS[0], "causal & window:3", "sinusoidal", 0.1 + 0.2, ((0, 2), (5, 6)), "cpu"),
    "an MLP and a layer": Settings(SHORT, mlps_off=(1, 4), layers_off=(2,)),
    "hostile": Settings(HOSTILE, "prefix:2", "shuffled"),
    "painted in one head": Settings(SHORT, "none", painted=painted()),
    "decoder": Settings("ring wolf sun fish", heads_off=((1, 2),), model="words-2layers-1"),
    "large decoder": Settings("The capital of France is", heads_off=((23, 4),), model=SMOLLM2),
}
QUICK = {"every switch", "an MLP and a layer", "painted in one head", "decoder"}


@pytest.fixture(autouse=True)
def threads_are_set_back() -> Iterator[None]:
    """The code sets their number, as a page does."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def ran(code: str, name: str = "run") -> Any:
    """What the code leaves under a name."""
    names: dict[str, Any] = {}
    exec(compile(code, "<snippet>", "exec"), names)
    return names[name]


def ran_notebook(file: bytes, name: str = "run") -> Any:
    """What the cells of a notebook leave under a name, run from top to bottom."""
    book = nbformat.reads(file.decode(), as_version=4)
    nbformat.validate(book)
    return ran("\n".join(cell.source for cell in book.cells if cell.cell_type == "code"), name)


def check_equal(run: Run, settings: Settings) -> None:
    page = pictures.picture(settings).run
    assert run.tokens == page.tokens
    identical(run.weights, page.weights)
    identical(run.sentence, page.sentence)


@pytest.mark.parametrize(
    "settings",
    [
        settings if name in QUICK else pytest.param(settings, marks=pytest.mark.thorough("Other texts and models."))
        for name, settings in CASES.items()
    ],
    ids=list(CASES),
)
def test_the_code_and_the_notebook_give_the_pages_numbers(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    at = Cursor(min(3, pictures.model_for(settings).sizes.n_layers - 1), 1)
    check_equal(ran(snippet({"run": settings}, at)), settings)
    page = pictures.picture(settings)
    seen = at.resolve(page.run.tokens, is_generative=get_source(settings.model).is_generative).row
    assert seen is not None
    row = zip(page.run.weights[at.layer, 1, seen], page.run.tokens, strict=True)
    printed = "".join(f"{weight:.4f}  {token}\n" for weight, token in row)
    for one in next_token.likeliest_tokens(None, page):  # our own vocabularies hold words
        printed += f"{one['chance']:.4f}  {(one['text'] if settings.model == SMOLLM2 else one['label'])!r}\n"
    assert capsys.readouterr().out == printed
    check_equal(ran_notebook(notebook({"run": settings}, at)), settings)


@pytest.mark.thorough("A translator of dates is loaded by each of four codes.")
def test_the_code_of_a_translation_gives_the_maps_of_its_group() -> None:
    for group in ("", "~encoder", "~decoder", "~cross"):
        settings = Settings("the 3rd of march, 2021", temperature=2.0, model=f"dates-sinusoidal-1{group}")
        check_equal(ran(snippet({"run": settings}, Cursor(0, 0))), settings)


def test_a_sentence_stays_one_literal() -> None:
    """Nothing that is typed turns the writing round, ends a line, or stands outside of a literal."""
    code = snippet({"run": Settings(HOSTILE * 2)}, Cursor(3, 1))
    assert not set(code) & set("\u202e\u2066\u2028\u200d\r\t")
    (typed,) = (line for line in code.split("\n") if "quote" in line)
    plain = snippet({"run": Settings("x " * 60)}, Cursor(3, 1)).split("\n")
    assert ast.literal_eval(typed.strip().rstrip(",")) == HOSTILE * 2
    (harmless,) = (line for line in plain if "x x" in line)
    rows = (Cursor(3, 1).resolve(pictures.tokens(Settings(text))).row for text in (HOSTILE * 2, "x"))
    first, other = (f"query = {row}" for row in rows)
    assert code.replace(typed, harmless).replace(first, other) == "\n".join(plain)


def test_trained_models_are_found_where_the_reader_has_them(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "trained").symlink_to(shipped)
    (tmp_path / trained.OWN_RUN).symlink_to(shipped / "food-learned-1")
    own = secrets.token_urlsafe(16)  # all processes read one store
    trained.save_to_store(own, shipped / "food-learned-1")
    monkeypatch.chdir(tmp_path)
    for name in ("who-rotary-1", own):
        settings = Settings("the dog chased the cat", model=name, temperature=2.0, heads_off=((0, 0),))
        code = snippet({"run": settings}, Cursor(0, 0))
        check_equal(ran(code), settings)
        assert str(shipped) not in code
        assert name not in code or name == "who-rotary-1"


def test_share_has_the_code() -> None:
    link = {"s": SHORT, "mask": "causal", "mask2": "window", "w2": "2", "pos2": "none", "at": "2.3.1"}
    own = {"left": Settings(SHORT, "causal"), "right": Settings(SHORT, "window:2", "none")}
    for page, sides in (("explore", ["run"]), ("compare", ["left", "right"])):
        told = json.loads(answer(f"{page}.about", urlencode(link).encode()))
        assert len(told["facts"]) == len(sides)
        assert "layer, head, query = 2, 3, 1" in told["code"]
        for name in sides:
            check_equal(ran(told["code"], name), own.get(name, own["left"]))


def test_the_options_of_sampling_are_written_where_they_are_set() -> None:
    link = b"model=words-2layers-1&s=ring+wolf+sun+ring+wolf&temp=1.5&topk=9&topp=0.8&dice=4"
    settings, cursor, options = exports.sides_from_link(link)
    (new,) = [line for line in snippet(settings, cursor, options).splitlines() if "choose(" in line]
    assert new.startswith("token = choose(run.logits[-1], temperature=1.5, top_k=9, top_p=0.8, seed=4, place=len(run.")
    step = Generation(pictures.model_for(settings["run"]), settings["run"].text).step(1.5, 4, top_k=9, top_p=0.8)
    assert ran(snippet(settings, cursor, options), "token") == step.id
    assert exports.sides_from_link(link.partition(b"&temp")[0])[2] == {}
