"""How Explore's map is read, by the wire: columns taken out, lengths of values, means, words, a word that is masked."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from torch import Tensor

from mha_core import Model
from mha_core.attention import as_implementation
from mha_core.errors import HeadlightError, Unsupported
from mha_core.measure.reading import merged, renormalised
from mha_core.models.words import Word, words_of
from mha_core.show.cells import write_cells
from pages.explore import notes
from pages.kit.draw.numbers import precise
from pages.kit.picture import models, pictures, rules, words
from pages.kit.picture.place import Look, parse_look
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.query import Query
from pages.kit.picture.settings import Settings
from pages.kit.wire import routes

from .conftest import picture_of

CLS, N = 0, 15
NO_CLS = {"mask": "combination", "rule": "unseen:0"}
TEXT = "Unbelievably, it didn't"
WORDS = ["[CLS]", "Unbelievably", ",", "it", "didn't", "[SEP]"]


def explored(**link: str) -> tuple[dict[str, Any], Tensor]:
    """What is said of Explore's picture, and its maps."""
    return picture_of("maps", **link)


def test_nothing_is_said_or_sent_of_them_unless_it_is_asked_for() -> None:
    header, floats = explored()
    assert (header["mean"], header["values"], header["columns"]) == (None, None, "")
    assert floats.numel() == N * N


# ---- columns


@pytest.mark.parametrize(
    ("rule", "places", "rest"),
    [
        ("none", (), "none"),
        ("unseen:4", (4,), "none"),
        ("causal&unseen:7:2", (2, 7), "causal"),
        ("causal & unseen:2 | sinks:1 & unseen:2:3", (2,), "causal | sinks:1"),
        ("causal & unseen:2 | sinks:1", (), "causal | sinks:1"),
        ("!unseen:2", (), "!unseen:2"),
    ],
)
def test_the_keys_that_a_rule_takes_out(rule: str, places: tuple[int, ...], rest: str) -> None:
    assert rules.unseen(rule) == places
    assert rules.without_unseen(rule) == rest


def test_the_sentence_has_the_cosine_of_both_ways_to_lose_a_token(model: Model) -> None:
    unchanged = model.run(PRESETS[0]).sentence
    for link, switches in ((NO_CLS, {"mask": "unseen:0"}), ({"unheard": "0"}, {"values_off": (CLS,)})):
        cosine = float(model.run(PRESETS[0], **switches).sentence @ unchanged)
        said = explored(**link)[0]["columns"]
        assert "“[CLS]”" in said
        assert f"cosine to the unchanged one is {precise(cosine)}." in said
    both = explored(**NO_CLS, unheard="2-400", t="2")[0]["columns"]
    assert both.startswith("No other token may look at “[CLS]”:")
    assert "The weights on “animal” stay" in both
    assert both.endswith(", with all that is changed.")


def test_such_settings_have_a_label_and_a_link(model: Model) -> None:
    settings = Settings(PRESETS[0], "causal & unseen:0:4", values_off=(2,))
    said = words.label(settings, model)
    assert said == "mask causal, “[CLS]” and “'” hidden from all others, without the value of “animal”"
    assert Settings("how are you").digest != Settings("how are you", values_off=(1,)).digest
    for wrong in ("x", "-1", "1-", "1.2", "12345"):
        with pytest.raises(HeadlightError, match="“unheard” of a link has places of tokens"):
            Query(urlencode({"unheard": wrong}).encode()).settings()


# ---- value lengths


def test_the_lengths_are_those_of_the_values(model: Model) -> None:
    """Against the projection written down: ‖Wv x + bv‖ of the head's rows."""
    at, head = "1.10", slice(10 * 32, 11 * 32)
    header, _ = explored(at=at, look="values")
    weights = model.encoder.block(1).attention.save()
    assert weights.v_bias is not None
    x = model.run(PRESETS[0]).hidden[1]
    wanted = (x @ weights.v[head].T + weights.v_bias[head]).norm(dim=-1)
    torch.testing.assert_close(torch.tensor(header["values"]), wanted, atol=1e-5, rtol=1e-5)
    assert wanted[CLS] / wanted[1:-1].mean() == pytest.approx(0.013, abs=0.002)  # 1/100 of a word's


# ---- the mean


@pytest.mark.parametrize("link", [{}, {"mask": "causal", "t": "2"}], ids=["plain", "changed"])
def test_the_mean_is_what_torchs_module_returns_by_default(model: Model, link: dict[str, str]) -> None:
    header, floats = explored(at="3.1", look="mean", **link)
    if not link:
        module = as_implementation(model.encoder.block(3).attention, "torch").get_submodule("module")
        x = model.run(PRESETS[0]).hidden[3][None]
        _, wanted = module(x, x, x)
        assert (floats.view(N, N) - wanted[0]).abs().max() <= 1e-6
    maps = pictures.picture(Query(urlencode(link).encode()).settings()).run.weights[3]
    assert torch.equal(floats[: N * N].view(N, N), maps.mean(dim=0))
    far = [(own - maps.mean(dim=0)).abs().sum(dim=-1).mean() / 2 for own in maps]
    nearest = min(range(12), key=far.__getitem__)
    said = f"no head looks like this. Nearest is head {nearest}: of a row’s weight it puts {far[nearest]:.2f} elsewhere"
    assert said in header["mean"]


def test_the_mean_of_one_map_is_that_map(model: Model) -> None:
    alike = pictures.picture(Settings("how are you", "window:1"))
    assert notes.of_mean(alike, [(2, head) for head in range(12)]).endswith("looks exactly like it.")
    header, floats = explored(look="mean_difference", pos="none")
    assert floats.numel() == 2 * N * N
    before = pictures.picture(Settings(PRESETS[0])).run.weights[3].mean(dim=0)
    assert torch.equal(floats[N * N :].view(N, N), before), "before the changes too it is the mean"
    assert len(header["before"]["distances"]) == N


ALL = [(layer, head) for layer in range(6) for head in range(12)]
OUT = [(2, 0), (2, 5)]


@pytest.mark.parametrize(
    ("look", "heads"),
    [
        ("meanall", ALL),
        ("meanseen_hide2.0-2.5", [pair for pair in ALL if pair[0] == 2 and pair not in OUT]),
        ("meanseen_all_hide2.0-2.5", [pair for pair in ALL if pair not in OUT]),
        ("meanseen_hide" + "-".join(f"2.{head}" for head in range(12)), [(2, head) for head in range(12)]),
        ("meanseen_solo4.3", [(4, 3)]),
    ],
)
def test_the_mean_over_heads_of_several_layers_or_those_in_sight(look: str, heads: list[tuple[int, int]]) -> None:
    header, floats = explored(s="how are you", look=look, at="2.1")
    weights = pictures.picture(Settings("how are you")).run.weights
    wanted = sum(weights[pair].double() for pair in heads) / len(heads)
    bound = len(heads) * torch.finfo(torch.float32).eps / 2  # of a sum of so many numbers below 1, divided
    assert float((floats.view(5, 5).double() - wanted).abs().max()) <= bound
    assert header["mean"].startswith(f"The mean of {len(heads)} heads" if len(heads) > 1 else "The map of L4 H3.")


# ---- words, and rows without what is not shown


def read(rows: int, columns: int, **link: str) -> tuple[dict[str, Any], Tensor]:
    """The header, and the map in focus."""
    header, floats = explored(**link)
    return header, floats[: rows * columns].view(rows, columns)


def test_words_are_joined_in_numbers_and_labels_and_the_place_stays(model: Model) -> None:
    run, words = model.run(TEXT), words_of(model, TEXT)
    header, shown = read(6, 6, s=TEXT, look="words", at="3.1.7.2")
    assert torch.equal(shown, merged(run.weights[3, 1], words, words))
    reading = header["reading"]
    assert (reading["rows"], reading["columns"], reading["sunk"]) == (WORDS, None, [])
    assert reading["rowOf"] == reading["columnOf"] == [0, 1, 1, 1, 1, 1, 2, 3, 4, 4, 4, 5]
    assert "added up" in reading["said"]
    assert (header["look"], header["row"], header["key"]) == ("words", 7, 2)
    assert explored(s=TEXT)[0]["reading"] is None


def test_a_change_and_a_mask_are_read_the_same_way(model: Model) -> None:
    words = words_of(model, TEXT)
    header, floats = explored(s=TEXT, look="words_difference", mask="causal", at="2.4")
    now, before = floats.view(2, 6, 6)
    runs = [model.run(TEXT, mask=mask).weights[2, 4] for mask in ("causal", "none")]
    for shown, own in zip((now, before), runs, strict=True):
        assert torch.equal(shown, merged(own, words, words))
    causal = torch.ones(6, 6, dtype=torch.bool).tril()  # within a word all are one cell
    assert header["forbidden"] == [write_cells(~causal)]
    assert len(header["before"]["distances"]) == 6


def test_rows_without_the_models_own_tokens_sum_to_1_and_what_sank_is_said(model: Model) -> None:
    weights = model.run(PRESETS[0]).weights[3, 1]
    n = len(weights)
    header, shown = read(n, n, look="nospecials_renorm", at="3.1")
    wanted, sunk = renormalised(weights, (0, n - 1))
    assert torch.equal(shown, wanted)
    assert header["reading"]["sunk"] == sunk.tolist()
    assert header["reading"]["rows"] is None
    assert explored(look="nospecials")[0]["reading"] is None, "hiding alone is the view's"
    assert explored(look="renorm")[0]["reading"] is None, "nothing is hidden"
    both = explored(s=TEXT, look="words_nofirst_renorm")[1].view(6, 6)
    assert float(both[:, 0].abs().max()) == 0
    assert float(both[:, -1].abs().max()) > 0


def test_of_two_tokens_that_are_the_models_own_none_is_left_out() -> None:
    header, floats = explored(s=" ", look="nospecials_renorm_words")
    assert header["reading"]["sunk"] == []
    assert float((floats.view(2, 2).sum(-1) - 1).abs().max()) <= 2 * torch.finfo(torch.float32).eps


def test_the_first_token_of_a_model_without_its_own() -> None:
    header, floats = explored(s="how are you", model=models.SMOLLM2, look="nofirst_renorm", at="3.1")
    assert header["reading"]["sunk"][0] == 1, "it looks at itself alone"
    assert float(floats[: 3 * 3].view(3, 3)[0].abs().max()) == 0, "its first row looks at nothing else"


def test_where_the_tokenizer_does_not_tell_a_sentence_says_so_and_the_map_stays(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def untold(own: Model, text: str) -> list[Word]:
        raise Unsupported(f"the tokenizer of {own.name} does not say where a token stands in the text")

    monkeypatch.setattr("pages.kit.picture.pictures.words_of", untold)
    header, shown = read(5, 5, s="it did not", look="words", at="3.1")
    assert header["reading"]["rows"] is None
    assert header["reading"]["said"].startswith(
        "Tokens cannot be joined to words: The tokenizer of minilm does not say"
    )
    assert torch.equal(shown, pictures.picture(Settings("it did not")).run.weights[3, 1])


# ---- a word that is masked


@pytest.mark.parametrize(
    ("text", "row", "masked"),
    [
        (TEXT, 3, "[MASK], it didn't"),
        (TEXT, 8, "Unbelievably, it [MASK]"),
        ("  Unbelievably odd ", 2, "  [MASK] odd "),
        ("👍🏽 is café", 3, "👍🏽 is [MASK]"),
    ],
)
def test_a_word_is_replaced_by_a_token_that_the_tokenizer_keeps_whole(
    model: Model, text: str, row: int, masked: str
) -> None:
    said = json.loads(answered("masked_word", s=text, at=f"3.1.{row}"))
    assert said["text"] == masked
    assert model.tokenize(masked)[0][said["row"]] == "[MASK]"
    assert "[MASK] hides a word" in " ".join(explored(s=masked)[0]["pieces"])


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ({"at": "3.1.0"}, "own token and stands for no word"),
        ({"at": "3.1.60"}, "choose a word first"),
        ({"at": "3.1"}, "choose a word first"),
        ({"at": "3.1.1", "model": models.SMOLLM2}, "has no mask token"),
    ],
)
def test_what_cannot_be_masked_is_one_sentence(link: dict[str, str], why: str) -> None:
    with pytest.raises(HeadlightError, match=why):
        answered("masked_word", s=TEXT, **link)


def answered(route: str, **link: str) -> bytes:
    return routes.answer(route, urlencode(link).encode())


def test_a_link_keeps_the_keys_that_are_chosen() -> None:
    assert explored(s=TEXT, look="keys2-5", at="3.1.7.3")[0]["notices"] == []
    assert parse_look("keys5-2", 6, 12) == Look(keys=(2, 5))
    assert parse_look("keys", 6, 12) is None


def test_a_map_that_is_not_square_has_words_where_the_sentence_stands() -> None:
    header, floats = explored(model="dates-sinusoidal-1~cross", look="words_nospecials_renorm")
    reading = header["reading"]
    assert (reading["rows"], reading["sunk"]) == (None, [])
    assert floats.numel() == len(reading["rowOf"]) * len(reading["columns"])
    said = explored(model="dates-sinusoidal-1~decoder", look="words")[0]["reading"]["said"]
    assert said == "Tokens cannot be joined to words: These tokens are not those of the sentence."
