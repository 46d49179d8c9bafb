"""What the wire answers the painter: every mask of a link, the same on other pages, and what its cards make of it."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest
import torch

from mha_core import Model, masks
from mha_core.errors import HeadlightError
from mha_core.show.cells import write_cells
from pages.kit.picture import mask_codec, models, pictures, rules
from pages.kit.picture.limits import WIDEST_WINDOW
from pages.kit.picture.link_query import Refused
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.query import Query
from pages.kit.picture.settings import Settings
from pages.masks import message

from .conftest import answers, app_at, blocks, picture_of, unpacked

WORDS = "can you can that"  # 6 tokens
ROW_EMPTY = "6.rYG"  # of a causal mask, row 4 is turned round from its first key on
EVERY_KEY: dict[str, str | list[str]] = {
    "s": WORDS, "mask": "painted", "on": "causal", "p": "6.rYB.3rFB", "pos": "rotary", "t": "0.5",
    "off": ["L0 H2", "L4 H11"], "at": "2.3",
}  # fmt: skip


def answered(route: str = "masked", /, **values: str | list[str]) -> tuple[dict[str, Any], torch.Tensor]:
    """What the wire answers a link: the header, and the weights before and after."""
    header, maps = picture_of(route, **values)
    n = len(header["tokens"])
    return header, maps.view(2, n, n)


def digest_on_shapes(**values: str) -> str:
    """The name of the picture that Shapes shows of the same link."""
    _, trace = answers("steps", urlencode(values))
    name: str = unpacked(trace)[0]["digest"]
    return name


def told(**values: str | list[str]) -> str:
    """What is told of what follows from the mask of a link, and of the second sentence in its batch."""
    said = json.loads(message.outcomes(urlencode(values, doseq=True).encode()))
    return json.dumps([said["mask"], said["padding"]], ensure_ascii=False)


def test_default() -> None:
    now, _ = answered(mask="none")
    assert (now["rule"], now["painted"], now["base"], now["forbidden"]) == ("none", "", "", [""])
    assert (now["layer"], now["head"], now["notices"]) == (3, 1, [])
    assert now["digest"] == Settings(PRESETS[0]).digest
    assert [card["name"] for card in now["cards"]] == [
        "full", "causal", "window 3", "prefix 2", "sinks 1", "dilated 3 2", "documents", "per head", "painted",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"mask": "causal"}, "causal"),
        ({"mask": "window", "w": "2"}, "window:2"),
        ({"mask": "prefix"}, "prefix:1"),
        ({"mask": "prefix", "first": "4"}, "prefix:4"),
        ({"mask": "sinks", "first": "2"}, "sinks:2"),
        ({"mask": "dilated"}, "dilated:3:2"),
        ({"mask": "dilated", "w": "2", "gap": "3"}, "dilated:2:3"),
        ({"mask": "combination"}, "causal & window:4"),
        ({"mask": "combination", "rule": "!causal|sinks:1"}, "!causal | sinks:1"),
        ({"mask": "combination", "rule": "documents:3"}, "documents:3"),
        ({"mask": "painted"}, "none"),
        ({"mask": "painted", "on": "causal & ! window:2"}, "causal & !window:2"),
    ],
)
def test_every_kind_on_every_page(model: Model, values: dict[str, str], rule: str) -> None:
    link = {"s": WORDS, **values}
    now, (before, after) = answered(**link)
    assert (now["rule"], now["notices"]) == (rule, [])
    assert torch.equal(after, model.run(WORDS, mask=rule).weights[3, 1])
    assert torch.equal(before, model.run(WORDS).weights[3, 1])
    forbidden = mask_codec.read_cells(now["base"], 36)
    assert forbidden is not None
    assert not after.flatten()[forbidden].any()
    explore, _ = picture_of("maps", **link)
    assert now["digest"] == explore["digest"] == digest_on_shapes(**link) == Settings(WORDS, rule).digest
    assert explore["forbidden"] == [now["base"]]


def test_painted_cells_on_every_page(model: Model) -> None:
    values = {"s": WORDS, "mask": "painted", "on": "causal", "p": "6.rYB.3rFB", "at": "0.3"}
    settings = Settings(WORDS, "causal", painted=mask_codec.usable("6.rYB.3rFB", 12) or "")
    allow = mask_codec.allowed("causal", settings.painted, 6, 12)
    weights = model.run(WORDS, mask=allow).weights
    now, (before, after) = answered(**values)
    assert torch.equal(after, weights[0, 3])
    assert torch.equal(before, model.run(WORDS, mask="causal").weights[0, 3])
    assert now["without"] == "causal alone"
    shown, _ = picture_of("maps", **values)
    assert shown["digest"] == settings.digest == now["digest"]
    assert shown["label"] == "mask causal, painted cells for single heads"
    assert len(shown["forbidden"]) == 12
    for head, text in enumerate(shown["forbidden"]):
        cells = mask_codec.read_cells(text, 36)
        assert cells is not None
        assert torch.equal(~cells.view(6, 6), allow[head])
    for implementation, wanted in (("naive", settings), ("sequence_first", settings.unpainted)):
        assert digest_on_shapes(impl=implementation, **values) == wanted.digest
    by_hand = app_at("by-hand", ex="a real cell", **{**values, "at": "0.3.4.0"}).run()
    assert f"{float(weights[0, 3, 4, 0]):.9f}" in json.dumps(blocks(by_hand))


def test_the_wire_answers_every_key_with_the_weights_of_the_core() -> None:
    header, weights = answered(**EVERY_KEY)
    painted = mask_codec.usable("6.rYB.3rFB", 12) or ""
    settings = Settings(WORDS, "causal", "rotary", 0.5, ((0, 2), (4, 11)), painted=painted)
    for own, shown in zip((settings.unpainted, settings), weights, strict=True):
        assert torch.equal(pictures.picture(own).run.weights[2, 3].cpu(), shown)
    assert (header["digest"], header["layer"], header["head"]) == (settings.digest, 2, 3)
    assert (header["notices"], header["unusable"], header["begins"]) == ([], {}, {})


def test_a_query_that_is_no_text_is_one_sentence() -> None:
    with pytest.raises(HeadlightError):
        message.masked(b"s=%ff")


@pytest.mark.parametrize("p", ["6", "6.x", "65.rB", "6.12rB", "<b>", "6.r" + "B" * 3000])
def test_a_painting_that_cannot_be_read_is_said(p: str) -> None:
    header, _ = answered(s=WORDS, mask="painted", on="causal", p=p)
    assert header["digest"] == Settings(WORDS, "causal").digest
    (notice,) = header["notices"]
    assert notice.startswith("The link says p=")
    assert header["unusable"] == {"p": []}


def test_a_painting_for_another_sentence_is_said() -> None:
    header, _ = answered(mask="painted", on="causal", p=ROW_EMPTY)
    assert header["digest"] == Settings(PRESETS[0], "causal").digest
    (notice,) = header["notices"]
    assert picture_of("maps", mask="painted", on="causal", p=ROW_EMPTY)[0]["notices"] == [notice]
    assert "for 6 tokens; the sentence has 15" in notice
    assert header["unusable"] == {}, "it stays in the link"


def test_what_is_painted_is_kept_where_it_is_not_in_use() -> None:
    """The card of the painting is there as long as the link can say it, for a sentence of its length."""
    kept = {"mask": "sinks", "on": "causal & ! window:2", "p": ROW_EMPTY}
    *_, card = answered(s=WORDS, **kept)[0]["cards"]
    assert card["clicks"] == {"use": {"mask": "painted", "on": "causal & ! window:2", "p": ROW_EMPTY}}
    assert answered(s=WORDS)[0]["cards"][-1]["clicks"] == {}
    for other in ({"s": "how are you"}, {"on": "everything"}, {"p": "6.x"}):
        card = answered(**{"s": WORDS, **kept, **other})[0]["cards"][-1]
        assert (card["clicks"] == {}) == ("on" not in other), other
        assert "on" not in other or card["rule"] == "none"


@pytest.mark.parametrize("now", ["none", "causal", "dilated:2:3", "sinks:2 & causal", "!causal | sinks:1"])
def test_a_click_on_a_card_says_what_the_link_then_says(now: str) -> None:
    header, _ = answered(s=WORDS, mask="combination", rule=now)
    rule_now = masks.allow(masks.parse(now), 6, 6)[0, 0]
    for card in header["cards"][:-2]:
        own = masks.allow(masks.parse(card["rule"]), 6, 6)[0, 0]
        wanted = {
            "use": own, "and": rule_now & own, "or": rule_now | own,
            "and not": rule_now & ~own, "or not": rule_now | ~own,
        }  # fmt: skip
        assert set(card["clicks"]) == set(wanted)
        for click, link in card["clicks"].items():
            assert set(link) <= {"mask", "w", "first", "gap", "rule"}
            settings = Query(urlencode(link).encode()).settings()
            assert settings.mask == (rules.joined(now, click, card["rule"]) if click != "use" else card["rule"])
            assert torch.equal(masks.allow(masks.parse(settings.mask), 6, 6)[0, 0], wanted[click]), (
                click,
                card["name"],
            )
    per_head, painted = header["cards"][-2:]
    assert per_head["clicks"] == {"use": {"mask": "painted", "on": "none", "p": per_head["painted"]}}
    assert painted["clicks"] == {}


def test_a_click_that_no_link_can_say_is_none() -> None:
    long = " & ".join(f"!sinks:{number}" for number in range(10, 26))
    cards = {card["name"]: card for card in answered(s=WORDS, mask="combination", rule=long)[0]["cards"]}
    assert cards["dilated 3 2"]["clicks"]["or"] is None
    assert cards["dilated 3 2"]["clicks"]["use"] == {"mask": "dilated", "w": "3", "gap": "2"}
    assert cards["full"]["clicks"]["and"] == {"mask": "combination", "rule": long}


def test_the_page_shows_the_model_of_the_link(shipped: object) -> None:
    header, _ = answered(s="alice sees bob", model="who-rotary-1")
    assert header["digest"] == Settings("alice sees bob", model="who-rotary-1").digest
    assert (header["model"], header["presets"]) == ("who-rotary-1", list(models.presets("who-rotary-1")))


def test_what_a_model_forbids_itself_stays_forbidden(shipped: object) -> None:
    """A language model: whatever is chosen or painted, nobody sees what comes later."""
    name = next(own for own in models.shipped() if own.startswith("words"))
    text = models.presets(name)[0]
    n = len(pictures.tokens(Settings(text, model=name)))
    later = ~masks.allow(masks.causal, n, n)[0, 0]
    own = write_cells(later)
    for chosen in ({}, {"mask": "window"}, {"mask": "painted", "p": f"{n}.{write_cells(later)}"}):
        header, weights = answered(s=text, model=name, **chosen)
        assert header["own"] == own
        assert not bool(weights[:, later].any())
        for cells in header["forbidden"] + header["forbiddenBefore"]:
            read = mask_codec.read_cells(cells, n * n)
            assert read is not None
            assert bool((read.view(n, n) | ~later).all())
        for card in header["cards"]:
            drawn = mask_codec.read_cells(card["cells"], n * n)
            assert drawn is not None
            assert bool((drawn.view(n, n) | ~later).all()), card["name"]
    header, (before, after) = answered(s=text, model=name)
    assert torch.equal(before, after), "no mask is added"
    assert header["meaning"].startswith("No mask is added: the model’s own is causal")
    assert header["without"] == "its own mask alone"
    header, _ = answered(s=text, model=name, mask="causal")
    assert header["meaning"].startswith("This mask changes nothing here")


def test_a_page_begins_with_a_short_sentence_alone() -> None:
    query = urlencode({"s": WORDS, "mask": "causal"})
    assert message.first(query.encode()) == message.masked(query.encode())
    with pytest.raises(HeadlightError, match="tokens"):
        message.first(urlencode({"s": "the " * 200}).encode())


def test_a_bare_address_begins_with_something_to_see() -> None:
    header, _ = answered()
    assert header["digest"] == Settings(WORDS, "causal").digest
    assert header["begins"] == {"s": WORDS, "mask": "causal"}
    assert message.first(b"") == message.masked(b"")
    assert answered(big="true")[0]["begins"] == header["begins"], "the projector says nothing of the picture"
    assert "mask" not in header["defaults"], "none that was chosen is not nothing: the link always says it"


@pytest.mark.parametrize(
    "values", [{"mask": "none"}, {"at": "0.3"}, {"s": "how are you"}, {"big": "true", "at": "0.3"}, {"model": "minilm"}]
)
def test_a_link_that_says_anything_keeps_its_mask(values: dict[str, str]) -> None:
    header, _ = answered(**values)
    assert (header["begins"], header["digest"]) == ({}, Settings(values.get("s", PRESETS[0])).digest)


def test_who_comes_from_another_page_without_a_mask_sees_one(shipped: object) -> None:
    header, _ = answered("entered", s="how are you")
    assert (header["begins"], header["digest"]) == ({"mask": "causal"}, Settings("how are you", "causal").digest)
    assert answered("entered")[0]["digest"] == Settings(PRESETS[0], "causal").digest
    name = next(own for own in models.shipped() if own.startswith("words"))
    header, _ = answered("entered", model=name)
    assert (header["begins"], header["rule"]) == ({"mask": "window"}, "window:3"), "it is causal itself"


def test_every_mask_is_explained_in_a_sentence() -> None:
    for now, said in (
        ("window:2", "A word sees itself and 1 word to each side."),
        ("window:1", "A word sees itself alone."),
        ("sinks:3", "All words see only the first 3 tokens."),
        ("causal & !window:3", "A cell is open where “causal” opens it and “window:3” hatches it."),
        ("causal | sinks:1", "A cell is open where “causal” opens it or “sinks:1” opens it."),
        ("unseen:0:4", "One or several words are hidden from all others"),
        ("documents:3", "Several texts share one row: a word sees only its own text."),
    ):  # fmt: skip
        header, _ = answered(s=WORDS, mask="combination", rule=now)
        assert header["meaning"].startswith(said), now
        assert all(card["meaning"].endswith(".") for card in header["cards"])
    assert answered(**EVERY_KEY)[0]["meaning"].startswith("Painted by hand on the mask “causal”.")


def test_the_numbers_of_a_rule_have_their_fields() -> None:
    named = {card["name"]: card["numbers"] for card in answered(s=WORDS, mask="dilated")[0]["cards"]}
    numbers = [(one["key"], one["name"], one["value"], one["ends"]) for one in named["dilated 3 2"]]
    assert numbers == [("w", "Width", 3, [1, WIDEST_WINDOW]), ("gap", "Gap", 2, [1, WIDEST_WINDOW])]
    assert [name for name, own in named.items() if own] == ["window 3", "prefix 2", "sinks 1", "dilated 3 2"]


@pytest.mark.parametrize(
    ("s", "mask"),
    [
        ("", "none"), ("", "sinks"), ("", "painted"), ("?", "sinks"), ("a", "painted"), ("the " * 63, "sinks"),
        ("the " * 300, "none"), ("the " * 300, "painted"), ("<b>x</b> *y* $z$", "none"),
    ],
)  # fmt: skip
def test_any_sentence_is_drawn(s: str, mask: str) -> None:
    header, weights = answered(s=s, mask=mask, p=ROW_EMPTY)
    assert bool(torch.isfinite(weights).all())
    assert len(header["cards"]) == 9
    assert len(header["notices"]) <= 1


# ---- what follows from a mask


def test_empty_rows_are_written_three_ways() -> None:
    values = {"s": WORDS, "mask": "painted", "on": "causal", "p": "6.rYF"}
    allow = mask_codec.allowed("causal", "6.rYF", 6, 12)
    assert not allow[4].any()
    said = told(**values)
    assert "Row 4 “that” may look at nobody" in said
    assert "6 of 6 weights are NaN" in said
    assert "each blocked key gets 0.1667" in said
    assert answered(**values)[0]["sums"] == "row sums 1.0000 · one row empty"
    assert "NaN" not in told(s=WORDS, mask="causal")
    assert "A row that may look at nobody" not in told(s=WORDS, mask="causal"), "not before there is one"


def test_rows_renormalise_in_the_first_layer() -> None:
    first = told(s=WORDS, mask="causal", at="0.2")
    assert "Yes, here that gives the same weights" in first
    assert "No, the weights would differ by up to" in told(s=WORDS, mask="causal", at="3.2")
    found = re.search(r"largest difference ([\d.e−]+)\)", first)
    assert found
    assert float(found[1].replace("−", "-")) < 1e-6


def test_padding_shows_the_bug_and_its_mending(model: Model) -> None:
    said = told(mask="none")
    alone = model.run("how are you")
    cosines = [
        float(alone.sentence @ model.run_batch([PRESETS[0], "how are you"], mask_padding=padding)[1].sentence)
        for padding in (True, False)
    ]
    assert f"{cosines[0]:.6f}" == "1.000000"
    assert f"(cosine {cosines[1]:.4f})" in said
    assert "“how are you”: 5 tokens and 10 of padding" in said
    assert "nothing is padded" in told(s="how are you")
    causal = told(mask="causal")
    assert "already keeps these tokens from looking at padding" in causal
    assert f"(cosine {cosines[1]:.4f})" in causal, "what it is like without that mask is shown all the same"


@pytest.mark.parametrize("pad", ["x" * 12_001, "a " * 600])
def test_a_batch_mate_that_is_too_long_is_refused(pad: str) -> None:
    with pytest.raises(Refused) as refused:
        told(pad=pad)
    assert refused.value.key == "pad"
    assert answered(pad=pad)[0]["notices"] == [], "the picture needs it not"


def test_the_numbers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that was answered computes nothing anew."""
    values = {"s": WORDS, "mask": "causal"}
    before = told(**values), answered(**values)[0]["digest"]
    monkeypatch.setattr(Model, "run", None)
    assert (told(**values), answered(**values)[0]["digest"]) == before
