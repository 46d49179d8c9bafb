"""The Masks page without a browser, and the masks that it makes on the other pages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core import Model
from pages.kit.picture import mask_codec, pictures
from pages.kit.picture.limits import LONGEST_RULE, WIDEST_WINDOW
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings

from .conftest import (
    SHELL,
    OpenApp,
    answers,
    component,
    components,
    control,
    go_to,
    on_screen,
    steps_view,
    told_to,
    unpacked,
)
from .conftest import state as state_of_explore

OpenMasks = Callable[..., AppTest]
WORDS = "can you can that"  # 6 tokens
ROW_EMPTY = "6.rYG"  # of a causal mask, row 4 is turned round from its first key on


@pytest.fixture
def open_masks() -> OpenMasks:
    """Opens the page with the values of a link."""

    def open_with(page: str = "masks", **values: str | list[str]) -> AppTest:
        app = AppTest.from_file(str(SHELL), default_timeout=60)
        for key, value in values.items():
            app.query_params[key] = value
        app = go_to(app, page)
        return app.run()

    return open_with


def state(app: AppTest) -> dict[str, Any]:
    """What the view shows."""
    told = control(app, "masks")
    (picture,) = answers("masked", told["query"])
    return on_screen(told, unpacked(picture)[0])


def maps(app: AppTest) -> tuple[torch.Tensor, torch.Tensor]:
    """The weights before and after, as the wire answers the view."""
    (picture,) = answers("masked", control(app, "masks")["query"])
    header, body = unpacked(picture)
    n = len(header["tokens"])
    before, after = torch.tensor(np.frombuffer(body, dtype="<f4").reshape(2, n, n).copy())
    return before, after


def sheets(app: AppTest) -> str:
    """All that the two sheets say."""
    return " ".join(json.dumps(told_to(one)["blocks"], ensure_ascii=False) for one in components(app, "sheet"))


def test_default(open_masks: OpenMasks) -> None:
    now = state(open_masks(mask="none"))
    assert (now["rule"], now["painted"], now["base"], now["forbidden"]) == ("none", "", "", [""])
    assert (now["layer"], now["head"], now["notices"]) == (3, 1, [])
    assert now["digest"] == Settings(PRESETS[0]).digest
    assert [card["name"] for card in now["cards"]] == [
        "full", "causal", "window 3", "prefix 2", "sinks 1", "dilated 3 2", "documents", "per head", "painted",
    ]  # fmt: skip


def chosen(app: AppTest) -> dict[str, list[str]]:
    """What the view is told that the link says of the mask and the sentence."""
    said = parse_qs(control(app, "masks")["session"])
    return {key: said.get(key, []) for key in ("mask", "s")}


def test_a_bare_address_begins_with_something_to_see(open_masks: OpenMasks) -> None:
    app = open_masks()
    assert state(app)["digest"] == Settings(WORDS, "causal").digest
    assert chosen(app) == {"mask": ["causal"], "s": [WORDS]}, "it is written into the address"
    assert chosen(app.run()) == {"mask": ["causal"], "s": [WORDS]}
    app.segmented_control(key="mask").set_value("none").run()
    assert state(app)["digest"] == Settings(WORDS).digest
    assert chosen(app) == {"mask": ["none"], "s": [WORDS]}, "none that was chosen is not nothing"


@pytest.mark.parametrize("values", [{"mask": "none"}, {"at": "0.3"}, {"s": "how are you"}, {"big": "true"}])
def test_a_link_that_says_anything_keeps_its_mask(open_masks: OpenMasks, values: dict[str, str]) -> None:
    app = open_masks(**values)
    assert state(app)["digest"] == Settings(values.get("s", PRESETS[0])).digest
    assert chosen(app)["mask"] == ["none"]


def test_the_bar_leads_to_something_to_see_once(open_app: OpenApp) -> None:
    app = open_app(s="how are you")
    assert state_of_explore(app)["digest"] == Settings("how are you").digest
    assert state(go_to(app, "masks").run())["digest"] == Settings("how are you", "causal").digest
    app.segmented_control(key="mask").set_value("none").run()
    go_to(app, "explore").run()
    assert state(go_to(app, "masks").run())["digest"] == Settings("how are you").digest, "it was chosen"
    app = open_app(s="how are you", mask="sinks")
    assert state(go_to(app, "masks").run())["digest"] == Settings("how are you", "sinks:1").digest


def test_the_mask_that_the_page_begins_with_stays_here(open_app: OpenApp) -> None:
    app = open_app(s="how are you")
    for _ in range(2):  # and is there again
        assert state(go_to(app, "masks").run())["digest"] == Settings("how are you", "causal").digest
        assert chosen(app)["mask"] == ["causal"]
        assert state(app.run())["digest"] == Settings("how are you", "causal").digest
        told = control(go_to(app, "shapes").run(), "steps")
        assert told["wanted"] == Settings("how are you").digest
        assert "mask" in told["kept"], "the address may still say it, and does not mean it"
        assert "mask" not in parse_qs(told["session"])
        assert json.loads(component(app, "manners").json)["unusable"] == "mask"
        app.query_params.pop("mask")  # as the browser does then
        assert control(app.run(), "steps")["wanted"] == told["wanted"]
    app.segmented_control(key="mask").set_value("causal").run()  # here the visitor has chosen it
    go_to(app, "masks").run()
    wanted = Settings("how are you", "causal").digest
    assert control(go_to(app, "shapes").run(), "steps")["wanted"] == wanted


def test_a_mask_that_was_chosen_goes_along(open_masks: OpenMasks) -> None:
    app = open_masks()
    app.segmented_control(key="mask").set_value("window").run()
    wanted = Settings(WORDS, "window:3").digest
    assert control(go_to(app, "shapes").run(), "steps")["wanted"] == wanted
    app = open_masks(s=WORDS, mask="causal")
    wanted = Settings(WORDS, "causal").digest
    assert control(go_to(app, "shapes").run(), "steps")["wanted"] == wanted, "the link said it"


def test_the_mask_is_chosen_in_one_place(open_masks: OpenMasks) -> None:
    """The gallery; the controls that the link needs are mounted where nobody sees them."""
    app = open_masks(s=WORDS, mask="dilated")
    hidden = {"mask", "w", "gap", "rule", "on", "p", "s", "at"}
    for key in hidden:
        assert app.session_state[key] is not None
    named = {card["name"]: card for card in state(app)["cards"]}
    numbers = [(one["key"], one["name"], one["value"], one["ends"]) for one in named["dilated 3 2"]["numbers"]]
    assert numbers == [("w", "Width", 3, [1, WIDEST_WINDOW]), ("gap", "Gap", 2, [1, WIDEST_WINDOW])]
    assert [name for name, card in named.items() if card["numbers"]] == [
        "window 3",
        "prefix 2",
        "sinks 1",
        "dilated 3 2",
    ]


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
def test_every_kind_on_every_page(open_masks: OpenMasks, model: Model, values: dict[str, str], rule: str) -> None:
    app = open_masks(s=WORDS, **values)
    now = state(app)
    assert (now["rule"], now["notices"]) == (rule, [])
    before, after = maps(app)
    assert torch.equal(after, model.run(WORDS, mask=rule).weights[3, 1])
    assert torch.equal(before, model.run(WORDS).weights[3, 1])
    forbidden = mask_codec.read_cells(now["base"], 36)
    assert forbidden is not None
    assert not after.flatten()[forbidden].any()
    digest = Settings(WORDS, rule).digest
    assert now["digest"] == digest
    _, (trace,) = steps_view(open_masks("shapes", s=WORDS, **values))
    assert unpacked(trace)[0]["digest"] == digest
    explore = AppTest.from_file(str(SHELL), default_timeout=60)
    explore.query_params.update({"s": WORDS, **values})
    shown = state_of_explore(explore.run())
    assert shown["digest"] == digest
    assert shown["forbidden"] == [now["base"]]


def test_painted_cells_on_every_page(open_masks: OpenMasks, open_app: OpenApp, model: Model) -> None:
    values = {"s": WORDS, "mask": "painted", "on": "causal", "p": "6.rYB.3rFB", "at": "0.3"}
    settings = Settings(WORDS, "causal", painted=mask_codec.usable("6.rYB.3rFB", 12) or "")
    allow = mask_codec.allowed("causal", settings.painted, 6, 12)
    weights = model.run(WORDS, mask=allow).weights
    app = open_masks(**values)
    before, after = maps(app)
    assert torch.equal(after, weights[0, 3])
    assert torch.equal(before, model.run(WORDS, mask="causal").weights[0, 3])
    assert state(app)["without"] == "causal alone"
    shown = state_of_explore(open_app(**values))
    assert shown["digest"] == settings.digest == state(app)["digest"]
    assert shown["label"] == "mask causal, painted cells for single heads"
    assert len(shown["forbidden"]) == 12
    for head, text in enumerate(shown["forbidden"]):
        cells = mask_codec.read_cells(text, 36)
        assert cells is not None
        assert torch.equal(~cells.view(6, 6), allow[head])
    for implementation, left_out in (("naive", 0), ("sequence_first", 1)):
        shapes = open_masks("shapes", impl=implementation, **values)
        told, (trace,) = steps_view(shapes)
        wanted = settings.unpainted if left_out else settings
        assert unpacked(trace)[0]["digest"] == wanted.digest
        assert len(told["notices"]) == left_out
    by_hand = open_masks("by-hand", ex="a real cell", **{**values, "at": "0.3.4.0"})
    assert f"{float(weights[0, 3, 4, 0]):.9f}" in sheets(by_hand)


def test_a_painting_for_another_sentence_is_said_and_kept(open_masks: OpenMasks, open_app: OpenApp) -> None:
    values = {"mask": "painted", "on": "causal", "p": ROW_EMPTY}
    app = open_masks(**values)
    now = state(app)
    assert now["digest"] == Settings(PRESETS[0], "causal").digest
    (notice,) = now["notices"]
    assert "for 6 tokens; the sentence has 15" in notice
    assert app.session_state["p"] == ROW_EMPTY
    app.text_input(key="s").set_value(WORDS).run()
    assert state(app)["painted"] == ROW_EMPTY
    assert state(app)["notices"] == []
    assert len(state_of_explore(open_app(**values))["notices"]) == 1


@pytest.mark.parametrize("p", ["6", "6.x", "65.rB", "6.12rB", "<b>", "6.r" + "B" * 3000])
def test_a_painting_that_cannot_be_read_is_said(open_masks: OpenMasks, p: str) -> None:
    now = state(open_masks(s=WORDS, mask="painted", p=p))
    assert now["digest"] == Settings(WORDS).digest
    unread, *cut = now["notices"]
    assert unread == "The painted mask in this link is not valid; nothing is painted."
    assert cut == (
        ["The text “p” of the link had 3,003 characters; the first 3,001 are kept."] if len(p) > 3001 else []
    )


@pytest.mark.parametrize("key", ["rule", "on"])
@pytest.mark.parametrize("typed", ["causal &", "everything", "", "window:9999", "x" * (LONGEST_RULE + 1), "<b>*x*</b>"])
def test_a_rule_that_cannot_be_read_keeps_the_last(open_masks: OpenMasks, key: str, typed: str) -> None:
    app = open_masks(s=WORDS, mask="combination" if key == "rule" else "painted")
    app.text_input(key=key).set_value("causal & !window:2").run()
    wanted = Settings(WORDS, "causal & !window:2").digest
    assert state(app)["digest"] == wanted
    app.text_input(key=key).set_value(typed).run()
    now = state(app)
    assert now["digest"] == wanted
    (notice,) = now["notices"]
    assert "Still using “causal & !window:2”." in notice
    app.text_input(key=key).set_value("sinks:1").run()
    assert state(app)["notices"] == []


def test_empty_rows_are_written_three_ways(open_masks: OpenMasks) -> None:
    app = open_masks(s=WORDS, mask="painted", on="causal", p="6.rYF")
    allow = mask_codec.allowed("causal", "6.rYF", 6, 12)
    assert not allow[4].any()
    said = sheets(app)
    assert "Row 4 “that” may look at nobody" in said
    assert "6 of 6 weights are NaN" in said
    assert "each forbidden key gets 0.1667" in said
    assert state(app)["sums"] == "row sums 1.0000 · one row empty"
    assert "NaN" not in sheets(open_masks(s=WORDS, mask="causal"))
    assert "A row that may look at nobody" not in sheets(open_masks(s=WORDS, mask="causal")), "not before there is one"


def test_rows_renormalise_in_the_first_layer(open_masks: OpenMasks) -> None:
    first = sheets(open_masks(s=WORDS, mask="causal", at="0.2"))
    assert "each row rescaled to sum to 1" in first
    assert "would not give these weights" in sheets(open_masks(s=WORDS, mask="causal", at="3.2"))
    found = re.search(r"largest difference ([\d.e−]+)\)", first)
    assert found
    assert float(found[1].replace("−", "-")) < 1e-6


def test_padding_shows_the_bug_and_its_mending(open_masks: OpenMasks, model: Model) -> None:
    said = sheets(open_masks(mask="none"))
    alone = model.run("how are you")
    cosines = [
        float(alone.sentence @ model.run_batch([PRESETS[0], "how are you"], mask_padding=padding)[1].sentence)
        for padding in (True, False)
    ]
    assert f"{cosines[0]:.6f}" == "1.000000"
    assert f"falls to {cosines[1]:.4f}" in said
    assert "“how are you”: 5 tokens and 10 of padding" in said
    assert "nothing is padded" in sheets(open_masks(s="how are you"))
    causal = sheets(open_masks(mask="causal"))
    assert "already keeps these tokens from looking at padding" in causal
    assert f"falls to {cosines[1]:.4f}" in causal, "what it is like without that mask is shown all the same"


@pytest.mark.parametrize("pad", ["x" * 2001, "a " * 600])
def test_a_batch_mate_that_is_too_long_is_said(open_masks: OpenMasks, pad: str) -> None:
    app = open_masks(pad=pad)
    assert "The other sentence: " in sheets(app)
    assert state(app)["digest"] == Settings(PRESETS[0]).digest


@pytest.mark.parametrize(
    ("s", "mask"),
    [
        ("", "none"), ("", "sinks"), ("", "painted"), ("?", "sinks"), ("a", "painted"), ("the " * 63, "sinks"),
        ("the " * 300, "none"), ("the " * 300, "painted"), ("<b>x</b> *y* $z$", "none"), ("x" * 2001, "sinks"),
        ("a " * 600, "painted"),
    ],
)  # fmt: skip
def test_any_sentence_is_drawn(open_masks: OpenMasks, s: str, mask: str) -> None:
    app = open_masks(s=s, mask=mask, p=ROW_EMPTY)
    now = state(app)
    assert all(bool(torch.isfinite(part).all()) for part in maps(app))
    assert len(now["cards"]) == 9
    assert len(now["notices"]) <= 2


def test_the_numbers_are_kept(monkeypatch: pytest.MonkeyPatch, open_masks: OpenMasks) -> None:
    """A rerun that changes nothing computes nothing."""
    app = open_masks(s=WORDS, mask="causal")
    monkeypatch.setattr(Model, "run", None)
    assert state(app.run())["digest"] == Settings(WORDS, "causal").digest
    assert pictures.picture(Settings(WORDS, "causal")).run.tokens
