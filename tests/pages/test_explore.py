"""What Explore answers a link: its picture, how it is read, and a sentence for each value that cannot be used."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from headlight.link import rules
from headlight.link.presets import NAMES, PRESETS
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.ui.numbers import precise
from mha_core import Model
from mha_core.attention import as_implementation
from mha_core.measure import rounding
from mha_core.measure.reading import merge_words, renormalise
from mha_core.models.words import split_words
from mha_core.show.cells import write_cells
from tests.closeness import identical, quoted, same_function, within_rounding

from .conftest import answers, picture_of

N = 15  # tokens of the first sentence
ALL = [(layer, head) for layer in range(6) for head in range(12)]
TEXT = "Unbelievably, it didn't"
WORDS = ["[CLS]", "Unbelievably", ",", "it", "didn't", "[SEP]"]


def shown(**values: str | list[str]) -> dict[str, Any]:
    """The header of the picture of a link."""
    return picture_of("maps", **values)[0]


def weights_of(text: str, **settings: Any) -> Tensor:
    return pictures.picture(Settings(text, **settings)).run.weights


def test_default_and_any_place(model: Model) -> None:
    header, maps = picture_of("maps")
    run = model.run(PRESETS[0])
    assert header["digest"] == Settings(PRESETS[0]).digest
    assert (header["layer"], header["head"], header["row"]) == (3, 1, run.tokens.index("it"))
    assert (header["origin"], header["label"]) == ("pretrained", "nothing changed")
    assert (header["notices"], header["unusable"]) == ([], {})
    assert (header["mean"], header["values"], header["columns"], header["reading"]) == (None, None, "", None)
    assert (header["presets"], header["presetNames"]) == (list(PRESETS), [NAMES[text] for text in PRESETS])
    assert header["defaults"]["s"] == header["sentence"] == header["texts"]["s"] == PRESETS[0]
    identical(maps.view(N, N), run.weights[3, 1].cpu())
    for at in ("0.0", "5.11.14.14", "2.3.999", "2.3.1.999"):
        header = shown(at=at)
        layer, head, *rest = (int(number) for number in at.split("."))
        assert (header["layer"], header["head"]) == (layer, head)
        assert 0 <= header["row"] < N
        assert header["key"] == (14 if at.endswith("14.14") else None)
        assert set(header["unusable"]) == ({"at"} if 999 in rest else set())
    assert "[MASK] hides a word" in " ".join(shown(s="[MASK], it didn't")["pieces"])
    for text, note in (("Die Katze sitzt auf der Matte", "MiniLM was trained on English and splits many"),
                       ("Kot śpi na kanapie", "MiniLM was trained on English and splits most"),
                       ("The giraffe eats leaves of the acacia", "Rare words are split: “##raf”")):  # fmt: skip
        assert shown(s=text)["pieces"][0].startswith(note)
    first = answers("maps", "")[1]
    assert answers("maps", "")[1] == answers("maps", "look=linear_sort&at=1.2.3")[1] == first, "equal bytes"


def test_a_sentence_opens_on_the_head_that_links_two_of_its_words(model: Model) -> None:
    for text, words in (
        (PRESETS[0], "it animal"),
        ("Tom saw a dog and ran away because it barked", "away ran"),  # tom is a sink
        ("Der Hund jagt die Katze, weil sie schnell ist", "##e ##gt"),  # of Katze, jagt  # codespell:ignore sie,ist
    ):
        run, header = model.run(text), shown(s=text)
        layer, head, row, *key = (int(number) for number in header["telling"][0]["cursor"].split("."))
        found = run.weights[layer, head, row]
        assert (header["layer"], header["head"], header["row"]) == (layer, head, row)
        assert f"{run.tokens[row]} {run.tokens[key[0] if key else int(found.argmax())]}" == words
        assert f"with weight {float(found.max()):.2f}, while" in header["telling"][0]["text"]
        for elsewhere in (
            {"at": "5.2"},
            {"pos": "none"},
            {"mask": "causal"},
        ):  # neither a head nor a change moves the row
            assert shown(s=text, **elsewhere)["row"] == row
        assert [shown(s=text, at="5.2.1")[part] for part in ("layer", "head", "row", "key")] == [5, 2, 1, None]
    for text, token in (("", "[SEP]"), ("dog", "dog"), ("dog dog dog", "dog"), ("... !", ".")):
        header = shown(s=text)
        assert (header["telling"], header["layer"], header["head"]) == ([], 3, 1)
        assert model.run(text).tokens[header["row"]] == token


def test_a_pinned_picture_and_the_map_before_the_changes_come_along(model: Model) -> None:
    header, maps = picture_of("maps", pin=f"0.2.3~causal~none~0.5~1.1-0.0~{PRESETS[3]}", at="1.4")
    run = model.run(PRESETS[3], mask="causal", position="none", temperature=0.5, heads_off=((0, 0), (1, 1)))
    assert (header["pin"]["tokens"], header["pin"]["cursor"]) == (run.tokens, "0.2.3")
    size = len(run.tokens)
    identical(maps[-size * size :].view(size, size), run.weights[0, 2].cpu())
    header, maps = picture_of(
        "maps", look="difference_linear", at="3.1", pin="0.2~none~trained~1~~how are you", pos="none", mask="causal"
    )
    assert header["notices"] == []
    now, before = (weights_of(PRESETS[0], **own)[3, 1] for own in ({"position": "none", "mask": "causal"}, {}))
    identical(maps[: 2 * N * N].view(2, N, N), torch.stack([now, before]))
    distances = torch.tensor(header["baseline"]["distances"])
    within_rounding(distances, (now.double() - before.double()).abs().sum(-1) / 2, rounding.sum_bound(N, 1))
    assert len(maps) == 2 * N * N + len(header["pin"]["tokens"]) ** 2
    for link in ({"look": "difference"}, {}):
        header, maps = picture_of("maps", **link)
        assert (header["baseline"], len(maps)) == (None, N * N), "otherwise nothing more comes"


# ---- columns that are taken out, and lengths of values


def test_the_keys_that_a_rule_takes_out_and_what_that_does(model: Model) -> None:
    for rule, places, rest in (
        ("none", (), "none"),
        ("unseen:4", (4,), "none"),
        ("causal&unseen:7:2", (2, 7), "causal"),
        ("!unseen:2", (), "!unseen:2"),
    ):
        assert (rules.unseen_tokens(rule), rules.without_unseen(rule)) == (places, rest)
    unchanged, no_cls = model.run(PRESETS[0]).sentence, {"mask": "combination", "rule": "unseen:0"}
    for link, switches in ((no_cls, {"mask": "unseen:0"}), ({"unheard": "0"}, {"values_off": (0,)})):
        cosine = float(model.run(PRESETS[0], **switches).sentence @ unchanged)
        sentence = shown(**link)["columns"]
        assert "“[CLS]”" in sentence
        assert f"cosine to the unchanged one is {precise(cosine)}." in sentence
    both = shown(**no_cls, unheard="2-400", t="2")["columns"]
    assert both.startswith("“[CLS]” is masked for all other tokens")
    assert "The weights on “animal” stay" in both
    assert both.endswith(", with all that is changed.")


def test_the_lengths_are_those_of_the_values(model: Model) -> None:
    """Against the projection written down: ‖Wv x + bv‖ of the head's rows."""
    head = slice(10 * 32, 11 * 32)
    weights = model.stack.block(1).attention.save()
    assert weights.v_bias is not None
    x = model.run(PRESETS[0]).hidden[1].double()
    wanted = (x @ weights.v[head].double().T + weights.v_bias[head].double()).norm(dim=-1)
    found = torch.tensor(shown(at="1.10", look="values")["values"])
    within_rounding(found, wanted, rounding.sum_bound(384, 32) * float(x.norm() / wanted.norm()))
    quoted(wanted[0] / wanted[1:-1].mean(), "0.013")  # a hundredth of a word's


# ---- the mean


def test_the_mean_is_what_torchs_module_returns_by_default(model: Model) -> None:
    attention = as_implementation(model.stack.block(3).attention, "torch").double()
    x = model.run(PRESETS[0]).hidden[3][None].double()
    _, wanted = attention.get_submodule("module")(x, x, x)
    own = as_implementation(model.stack.block(3).attention, "efficient").double()
    _, maps = own(x)
    assert maps is not None
    same_function(maps.mean(1), wanted)
    spread = rounding.bound(rounding.spread(own, x).maps, torch.float32)
    within_rounding(picture_of("maps", at="3.1", look="mean")[1].view(1, N, N), wanted, spread)
    for link, settings in (({}, {}), ({"mask": "causal", "t": "2"}, {"mask": "causal", "temperature": 2.0})):
        header, floats = picture_of("maps", at="3.1", look="mean", **link)
        weights = weights_of(PRESETS[0], **settings)[3]
        identical(floats[: N * N].view(N, N), weights.mean(dim=0))
        far = [(own - weights.mean(dim=0)).abs().sum(dim=-1).mean() / 2 for own in weights]
        nearest = min(range(12), key=far.__getitem__)
        assert "no single head has this map. " in header["mean"]
        assert (
            f"The nearest is head {nearest}; on average {far[nearest]:.2f} of a row’s weight is elsewhere"
            in header["mean"]
        )


def test_mean_over_heads_of_layers_or_of_visible_heads() -> None:
    weights, out = weights_of("how are you"), [(2, 0), (2, 5)]
    for look, heads in (
        ("meanall", ALL),
        ("meanseen_hide2.0-2.5", [pair for pair in ALL if pair[0] == 2 and pair not in out]),
    ):
        header, floats = picture_of("maps", s="how are you", look=look, at="2.1")
        wanted = torch.stack([weights[pair].double() for pair in heads]).mean(0)
        within_rounding(floats.view(5, 5), wanted, rounding.sum_bound(len(heads), 1))
        assert header["mean"].startswith(f"The mean of {len(heads)} heads"), look


# ---- words, and rows without what is not shown


def read(rows: int, **link: str) -> tuple[dict[str, Any], Tensor]:
    """The header, and the map in focus."""
    header, floats = picture_of("maps", **link)
    return header, floats[: rows * rows].view(rows, rows)


def test_words_are_joined_in_numbers_and_labels_and_the_place_stays(model: Model) -> None:
    run, own = model.run(TEXT), split_words(model, TEXT)
    header, map_ = read(6, s=TEXT, look="words", at="3.1.7.2")
    identical(map_, merge_words(run.weights[3, 1], own, own))
    reading = header["reading"]
    assert (reading["rows"], reading["columns"], reading["hiddenShares"]) == (WORDS, None, [])
    assert reading["rowOf"] == reading["columnOf"] == [0, 1, 1, 1, 1, 1, 2, 3, 4, 4, 4, 5]
    assert "added up" in reading["sentence"]
    assert (header["look"], header["row"], header["key"]) == ("words", 7, 2)
    header, floats = picture_of("maps", s=TEXT, look="words_difference", mask="causal", at="2.4")
    for map_, mask in zip(floats.view(2, 6, 6), ("causal", "none"), strict=True):
        identical(map_, merge_words(model.run(TEXT, mask=mask).weights[2, 4], own, own))
    causal = torch.ones(6, 6, dtype=torch.bool).tril()  # within a word all are one cell
    assert (header["forbidden"], len(header["baseline"]["distances"])) == ([write_cells(~causal)], 6)
    assert shown(s=TEXT, look="keys2-5", at="3.1.7.3")["notices"] == []


def test_rows_without_the_models_own_tokens_sum_to_1_and_what_sank_is_said(model: Model) -> None:
    weights = model.run(PRESETS[0]).weights[3, 1]
    header, map_ = read(N, look="nospecials_renorm", at="3.1")
    wanted, sunk = renormalise(weights, (0, N - 1))
    identical(map_, wanted)
    assert (header["reading"]["hiddenShares"], header["reading"]["rows"]) == (sunk.tolist(), None)
    assert shown(look="nospecials")["reading"] is None, "hiding alone is the view's"
    assert shown(look="renorm")["reading"] is None, "nothing is hidden"
    _, both = read(6, s=TEXT, look="words_nofirst_renorm")
    assert float(both[:, 0].abs().max()) == 0
    assert float(both[:, -1].abs().max()) > 0
