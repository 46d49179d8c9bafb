"""What the wire answers the painter, and what its cards make of the link."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest
import torch

from mha_core import masks
from mha_core.errors import HeadlightError
from pages.kit.picture import mask_codec, models, pictures, rules
from pages.kit.picture.query import Query
from pages.kit.picture.settings import Settings
from pages.masks import message

from .conftest import answers, app_at, control, unpacked

WORDS = "can you can that"  # 6 tokens
ROW_EMPTY = "6.rYG"  # of a causal mask, row 4 is turned round from its first key on
EVERY_KEY: dict[str, str | list[str]] = {
    "s": WORDS, "mask": "painted", "on": "causal", "p": "6.rYB.3rFB", "pos": "rotary", "t": "0.5",
    "off": ["L0 H2", "L4 H11"], "at": "2.3",
}  # fmt: skip


def unpacked_parts(message: bytes) -> list[bytes]:
    """The parts of a message of several."""
    header, body = unpacked(message)
    ends = list(accumulate(header["parts"]))
    return [body[end - length : end] for length, end in zip(header["parts"], ends, strict=True)]


def answered(**values: str | list[str]) -> tuple[dict[str, Any], torch.Tensor]:
    """What the wire answers a link: the header, and the weights before and after."""
    (picture,) = answers("masked", urlencode(values, doseq=True))
    header, body = unpacked(picture)
    n = len(header["tokens"])
    return header, torch.tensor(np.frombuffer(body, dtype="<f4").reshape(2, n, n).copy())


@pytest.mark.parametrize(
    ("values", "rule", "painted"),
    [
        ({"s": WORDS}, "none", ""),
        ({"s": WORDS, "mask": "sinks", "at": "5.11"}, "sinks:1", ""),
        (EVERY_KEY, "causal", "6.rYB.3rFB"),
    ],
)
def test_the_wire_answers_with_the_weights_of_the_core(
    values: dict[str, str | list[str]], rule: str, painted: str
) -> None:
    header, weights = answered(**values)
    settings = Settings(WORDS, rule, painted=mask_codec.usable(painted, 12) or "")
    if painted:
        settings = replace(settings, position="rotary", temperature=0.5, heads_off=((0, 2), (4, 11)))
    before = replace(settings, painted="") if painted else replace(settings, mask="none")
    layer, head = (int(number) for number in str(values.get("at", "3.1")).split("."))
    for own, shown in zip((before, settings), weights, strict=True):
        assert torch.equal(pictures.picture(own).run.weights[layer, head].cpu(), shown)
    assert (header["digest"], header["layer"], header["head"]) == (settings.digest, layer, head)
    app = app_at("masks", **values).run()
    assert answers("masked", control(app, "masks")["query"]) == answers("masked", urlencode(values, doseq=True))


@pytest.mark.parametrize(
    "query",
    [
        "s=%ff", f"s={'x' * 2001}", f"s={'a+b+' * 300}", "mask=everything", "mask=window&w=0", "mask=prefix&first=x",
        "mask=dilated&gap=513", "mask=combination&rule=%26", "mask=painted&on=x", "mask=painted&p=6.x",
        "p=" + "x" * 3002, "on=" + "x" * 401, "at=6.0", "at=3", "pos=learned", "t=99", "off=L6+H0",
        "dev=cuda:9", "mask=none&mask=causal",
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_one_sentence(query: str) -> None:
    with pytest.raises(HeadlightError):
        answers("masked", query)


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
    values = {"s": "alice sees bob", "model": "who-rotary-1"}
    assert answered(**values)[0]["digest"] == Settings("alice sees bob", model="who-rotary-1").digest
    app = app_at("masks", **values).run()
    (asked,) = answers("masked", control(app, "masks")["query"])
    assert unpacked(asked)[0]["digest"] == Settings("alice sees bob", model="who-rotary-1").digest


def test_what_a_model_forbids_itself_stays_forbidden(shipped: object) -> None:
    """A language model: whatever is chosen or painted, nobody sees what comes later."""
    name = next(own for own in models.shipped() if own.startswith("words"))
    text = models.presets(name)[0]
    n = len(pictures.tokens(Settings(text, model=name)))
    later = ~masks.allow(masks.causal, n, n)[0, 0]
    own = mask_codec.write_cells(later)
    for chosen in ({}, {"mask": "window"}, {"mask": "painted", "p": f"{n}.{mask_codec.write_cells(later)}"}):
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


def test_a_bare_address_begins_with_what_the_script_shows() -> None:
    (picture,) = unpacked_parts(message.first(b""))
    header, _ = unpacked(picture)
    assert header["digest"] == Settings(WORDS, "causal").digest
    assert parse_qs(header["begins"]) == {"s": [WORDS], "mask": ["causal"]}
    for query in ("s=how+are+you", "at=0.3", "mask=none", "model=minilm"):
        header, _ = unpacked(unpacked_parts(message.first(query.encode()))[0])
        assert (header["begins"], header["rule"]) == ("", "none"), query


def test_every_mask_is_explained_in_a_sentence() -> None:
    for now, said in (
        ("window:2", "A word sees itself and 1 word to each side."),
        ("window:1", "A word sees itself alone."),
        ("sinks:3", "Only the first 3 tokens may be looked at."),
        ("causal & !window:3", "A cell is open where “causal” opens it and “window:3” hatches it."),
        ("causal | sinks:1", "A cell is open where “causal” opens it or “sinks:1” opens it."),
        ("unseen:0:4", "Nobody may look at one word, or several, but each at itself"),
        ("documents:3", "Several texts stand in one row: a word sees only the words of its own text."),
    ):  # fmt: skip
        header, _ = answered(s=WORDS, mask="combination", rule=now)
        assert header["meaning"].startswith(said), now
        assert all(card["meaning"].endswith(".") for card in header["cards"])
    assert answered(**EVERY_KEY)[0]["meaning"].startswith("Painted by hand on the mask “causal”.")
