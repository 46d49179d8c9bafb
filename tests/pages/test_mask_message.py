"""What the wire answers the painter: every mask of a link, the same on other pages, and what its cards make of it."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest
import torch

from headlight.link import mask_codec, rules
from headlight.link.presets import PRESETS
from headlight.picture import pictures
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.registry import get_source
from mha_core import Model, masks
from mha_core.errors import HeadlightError
from mha_core.measure import rounding
from mha_core.show.cells import write_cells
from pages.masks import effects, message
from tests.closeness import identical

from .conftest import answer, answers, app_at, blocks, picture_of, unpacked

WORDS = "can you can that"  # 6 tokens
ROW_EMPTY = "6.rYG"  # of a causal mask, row 4 is turned round from its first key on
EVERY_KEY: dict[str, str | list[str]] = {
    "s": WORDS, "mask": "painted", "on": "causal", "p": "6.rYB.3rFB", "pos": "rotary", "t": "0.5",
    "off": ["L0 H2", "L4 H11"], "at": "2.3",
}  # fmt: skip
LANGUAGE = "words-2layers-1"  # a model that is causal itself


def answered(route: str = "masks", /, **values: str | list[str]) -> tuple[dict[str, Any], torch.Tensor]:
    """The header of a link's picture, and the weights before and after."""
    header, maps = picture_of(route, **values)
    n = len(header["tokens"])
    return header, maps.view(2, n, n)


def digest_on_shapes(**values: str) -> str:
    """The name of the picture that Shapes draws of the same link."""
    name: str = unpacked(answers("steps", urlencode(values))[1])[0]["digest"]
    return name


def outcomes(**values: str | list[str]) -> str:
    """What follows from the mask of a link, and of the second sentence in its batch."""
    found = json.loads(message.outcomes(urlencode(values, doseq=True).encode()))
    return json.dumps([found["mask"], found["padding"]], ensure_ascii=False)


def cells_of(text: str, n: int) -> torch.Tensor:
    found = mask_codec.read_cells(text, n * n)
    assert found is not None
    return found.view(n, n)


RULES: list[tuple[dict[str, str], str]] = [
    ({"mask": "causal"}, "causal"), ({"mask": "window", "w": "2"}, "window:2"), ({"mask": "prefix"}, "prefix:1"),
    ({"mask": "sinks", "first": "2"}, "sinks:2"), ({"mask": "dilated", "w": "2", "gap": "3"}, "dilated:2:3"),
    ({"mask": "combination"}, "causal & window:4"),
    ({"mask": "combination", "rule": "!causal|sinks:1"}, "!causal | sinks:1"),
    ({"mask": "combination", "rule": "documents:3"}, "documents:3"),
    ({"mask": "painted", "on": "causal & ! window:2"}, "causal & !window:2"),
]  # fmt: skip


def test_every_kind_of_mask_on_every_page(model: Model) -> None:
    for values, rule in RULES:
        link = {"s": WORDS, **values}
        now, (before, after) = answered(**link)
        assert (now["rule"], now["notices"]) == (rule, []), values
        identical(after, model.run(WORDS, mask=rule).weights[3, 1])
        identical(before, model.run(WORDS).weights[3, 1])
        assert torch.equal(~cells_of(now["base"], 6), masks.allow(masks.parse(rule), 6, 6)[0, 0])
        assert not after[cells_of(now["base"], 6)].any()
        explore, _ = picture_of("maps", **link)
        assert now["digest"] == explore["digest"] == digest_on_shapes(**link) == Settings(WORDS, rule).digest
        assert explore["forbidden"] == [now["base"]]


def test_painted_cells_on_every_page_and_every_key(model: Model) -> None:
    values = {"s": WORDS, "mask": "painted", "on": "causal", "p": "6.rYB.3rFB", "at": "0.3"}
    settings = Settings(WORDS, "causal", painted=mask_codec.normalize("6.rYB.3rFB", 12) or "")
    allow = mask_codec.allow_mask("causal", settings.painted, 6, 12)
    weights = model.run(WORDS, mask=allow).weights
    now, (before, after) = answered(**values)
    identical(after, weights[0, 3])
    identical(before, model.run(WORDS, mask="causal").weights[0, 3])
    shown, _ = picture_of("maps", **values)
    assert shown["digest"] == settings.digest == now["digest"]
    assert torch.equal(torch.stack([~cells_of(text, 6) for text in shown["forbidden"]]), allow)
    for implementation, wanted in (("naive", settings), ("sequence_first", settings.without_painting)):
        assert digest_on_shapes(impl=implementation, **values) == wanted.digest
    by_hand = app_at("by-hand", ex="a real cell", **{**values, "at": "0.3.4.0"}).run()
    assert f"{float(weights[0, 3, 4, 0]):.9f}" in json.dumps(blocks(by_hand))
    header, _ = answered(**EVERY_KEY)
    settings = Settings(WORDS, "causal", "rotary", 0.5, ((0, 2), (4, 11)), painted=settings.painted)
    assert (header["digest"], header["layer"], header["head"]) == (settings.digest, 2, 3)
    assert (header["notices"], header["unusable"], header["initialValues"]) == ([], {}, {})


def test_painting_that_cannot_be_read_or_is_for_another_sentence() -> None:
    with pytest.raises(HeadlightError):
        message.masks_message(b"s=%ff")
    for p in ("6.x", "65.rB", "<b>", "6.r" + "B" * 3000):
        header, _ = answered(s=WORDS, mask="painted", on="causal", p=p)
        assert header["digest"] == Settings(WORDS, "causal").digest
        (notice,) = header["notices"]
        assert notice.startswith("The link says p=")
        assert header["unusable"] == {"p": []}, p
    header, _ = answered(mask="painted", on="causal", p=ROW_EMPTY)
    assert header["digest"] == Settings(PRESETS[0], "causal").digest
    (notice,) = header["notices"]
    assert "for 6 tokens; the sentence has 15" in notice
    assert header["unusable"] == {}, "it stays in the link"


# ---- the cards


def test_click_on_a_card_says_what_the_link_then_says() -> None:
    for now in ("none", "causal", "dilated:2:3", "sinks:2 & causal", "!causal | sinks:1"):
        header, _ = answered(s=WORDS, mask="combination", rule=now)
        rule = masks.allow(masks.parse(now), 6, 6)[0, 0]
        for card in header["cards"][:-2]:
            own = masks.allow(masks.parse(card["rule"]), 6, 6)[0, 0]
            wanted = {"use": own, "and": rule & own, "or": rule | own, "and not": rule & ~own, "or not": rule | ~own}
            assert set(card["clicks"]) == set(wanted)
            for click, link in card["clicks"].items():
                assert set(link) <= {"mask", "w", "first", "gap", "rule"}
                mask = Query(urlencode(link).encode()).settings().mask
                assert mask == (rules.join_rules(now, click, card["rule"]) if click != "use" else card["rule"])
                made = masks.allow(masks.parse(mask), 6, 6)[0, 0]
                assert torch.equal(made, wanted[click]), (now, click, card["name"])
    long = " & ".join(f"!sinks:{number}" for number in range(10, 26))
    cards = {card["name"]: card for card in answered(s=WORDS, mask="combination", rule=long)[0]["cards"]}
    assert cards["dilated 3 2"]["clicks"]["or"] is None, "no link can have it"


def test_built_in_mask_cannot_be_lifted() -> None:
    """A language model: whatever is chosen or painted, nobody sees what comes later."""
    text = get_source(LANGUAGE).presets[0]
    n = len(pictures.tokens(Settings(text, model=LANGUAGE)))
    later = ~masks.allow(masks.causal, n, n)[0, 0]
    for chosen in ({}, {"mask": "window"}, {"mask": "painted", "p": f"{n}.{write_cells(later)}"}):
        header, weights = answered(s=text, model=LANGUAGE, **chosen)
        assert header["modelMask"] == write_cells(later)
        assert not bool(weights[:, later].any())
        for cells in (*header["forbidden"], *header["forbiddenBefore"], *(card["cells"] for card in header["cards"])):
            assert bool((cells_of(cells, n) | ~later).all())
    header, (before, after) = answered(s=text, model=LANGUAGE)
    assert torch.equal(before, after), "no mask is added"
    assert header["digest"] == Settings(text, model=LANGUAGE).digest


def test_first_message_of_a_page() -> None:
    header, _ = answered()
    assert (header["digest"], header["initialValues"]) == (
        Settings(WORDS, "causal").digest,
        {"s": WORDS, "mask": "causal"},
    )
    assert message.first_message(b"") == message.masks_message(b"")
    for values in (
        {"mask": "none"},
        {"s": "how are you", "big": "true"},
    ):
        header, _ = answered(**values)
        assert (header["initialValues"], header["digest"]) == ({}, Settings(values.get("s", PRESETS[0])).digest), values
    header, _ = answered("entry", s="how are you")  # from another page, without a mask
    assert (header["initialValues"], header["digest"]) == ({"mask": "causal"}, Settings("how are you", "causal").digest)
    assert answered("entry")[0]["digest"] == Settings(PRESETS[0], "causal").digest
    header, _ = answered("entry", model=LANGUAGE)
    assert (header["initialValues"], header["rule"]) == ({"mask": "window"}, "window:3"), "it is causal itself"
    with pytest.raises(HeadlightError, match="tokens"):
        message.first_message(urlencode({"s": "the " * 200}).encode())


# ---- what follows from a mask


def test_empty_rows_and_rows_that_are_renormalised() -> None:
    values = {"s": WORDS, "mask": "painted", "on": "causal", "p": "6.rYF"}
    assert not mask_codec.allow_mask("causal", "6.rYF", 6, 12)[4].any()
    text = outcomes(**values)
    for part in ("Row 4 “that” may attend to no key", "6 of 6 weights are NaN", "each blocked key gets 0.1667"):
        assert part in text, part
    assert answered(**values)[0]["sums"] == "row sums 1.0000 · one row empty"
    assert "NaN" not in outcomes(s=WORDS, mask="causal")
    for weights, sums in (
        ([[0.5, 0.25], [1.0, 0.0]], "row sums 0.7500 to 1.0000"),
        ([[0.0, 0.0], [1.0, 0.0]], "row sums 1.0000 · one row empty"),
        ([[0.0, 0.0], [0.0, 0.0]], "all 2 rows empty"),
    ):
        assert effects.sums_in_words(torch.tensor(weights)) == sums
    first = outcomes(s=WORDS, mask="causal", at="0.2")
    assert "Yes, here that gives the same weights" in first
    found = re.search(r"largest difference ([\d.e−]+)\)", first)
    assert found
    assert float(found[1].replace("−", "-")) <= rounding.sum_bound(6, 6, 32), "of two softmaxes of one row of scores"
    assert "No, the weights would differ by up to" in outcomes(s=WORDS, mask="causal", at="3.2")


def test_padding_shows_the_bug_and_its_mending(model: Model) -> None:
    text, alone = outcomes(mask="none"), model.run("how are you")
    cosines = [
        float(alone.sentence @ model.run_batch([PRESETS[0], "how are you"], mask_padding=padding)[1].sentence)
        for padding in (True, False)
    ]
    assert f"{cosines[0]:.6f}" == "1.000000"
    assert f"(cosine {cosines[1]:.4f})" in text
    assert "“how are you”: 5 tokens and 10 of padding" in text
    assert "nothing is padded" in outcomes(s="how are you")
    for pad in ("x" * 12_001, "a " * 600):
        outcome = json.loads(answer("outcomes", urlencode({"pad": pad}).encode()))
        assert outcome["refusal"].endswith(".")
        assert "“how are you”: 5 tokens" in str(outcome["padding"]), "the usual one stands in its place"
        assert answered(pad=pad)[0]["notices"] == [], "the picture needs it not"
