"""The Compare page without a browser: both sides from a link, the shuffle test, the heads, and what cannot be shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core.errors import HeadlightError
from mha_core.measure import compare
from pages.compare import contrasts, message, orders, pairs, tries
from pages.kit.draw.numbers import small
from pages.kit.picture import pictures
from pages.kit.picture.mask_codec import write_flips
from pages.kit.picture.place import At
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.picture.words import NOT_TRAINED

from .conftest import answers, app_at, component, control, on_screen, unpacked

OpenPage = Callable[..., AppTest]
TIRED, WIDE = PRESETS[:2]
LONG = "the cat ran a far way it was so we " * 50  # 502 tokens


@pytest.fixture
def opened() -> OpenPage:
    """Opens the page with the values of a link."""

    def open_with(**values: str | list[str]) -> AppTest:
        return app_at("compare", **values).run()

    return open_with


def answered(app: AppTest) -> tuple[dict[str, Any], bytes]:
    """What the wire answers the pair view: everything that is said, and both maps."""
    (packed,) = answers("pair", control(app, "pair")["query"])
    return unpacked(packed)


def state(app: AppTest) -> dict[str, Any]:
    """What the pair view shows."""
    return on_screen(control(app, "pair"), answered(app)[0])


def maps(app: AppTest) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
    """Both maps that the pair view shows."""
    header, body = answered(app)
    sizes = [len(side["tokens"]) for side in header["sides"]]
    floats = np.frombuffer(body, np.float32)
    return [floats[: sizes[0] ** 2].reshape(sizes[0], -1), floats[sizes[0] ** 2 :].reshape(sizes[1], -1)]


def shuffle(app: AppTest) -> str:
    """Everything that the shuffle test says."""
    return json.dumps(json.loads(component(app, "sheet", "shuffle_sheet").json), ensure_ascii=False)


def check(app: AppTest, left: Settings, right: Settings, layer: int = 0, head: int = 2) -> dict[str, Any]:
    """The page shows exactly these two."""
    header = state(app)
    assert header["digest"] == f"{left.digest}-{right.digest}"
    for shown, settings in zip(maps(app), (left, right), strict=True):
        assert np.array_equal(shown, pictures.picture(settings).run.weights[layer, head].numpy())
    return header


def test_default(opened: OpenPage) -> None:
    app = opened()
    header = check(app, Settings(TIRED), Settings(TIRED, position="none"))
    assert header["notices"] == []
    assert (header["layer"], header["head"], header["key"], header["at"]) == (0, 2, None, "0.2")
    assert (header["boxes"], header["typed"]) == ([TIRED, ""], [TIRED, ""])
    assert header["tokens"][header["row"]] == "it"
    assert header["tried"] == "with and without positions"
    assert [figure["value"] for figure in header["answers"]] == ["0.9998 → 0.1094", "0.706"]
    assert [figure["value"] for figure in header["figures"][:1]] == ["0.9998 → 0.1094"]
    assert [side["title"] for side in header["sides"]] == ["Learned positions", "No positions"]
    assert (header["differs"], header["contrast"]) == (["pos"], "One thing differs: positions.")
    assert [side["repeated"] for side in header["sides"]] == [[1, 7], [1, 7]]
    assert "0.64 → 0.04" in [figure["value"] for figure in header["figures"]]
    assert [side["label"] for side in header["sides"]] == [
        "nothing changed, pretrained weights", "no positions, pretrained weights",
    ]  # fmt: skip
    assert [side["fitness"] for side in header["sides"]] == ["", f"{NOT_TRAINED}."]
    left, right = maps(app)
    distances = np.abs(right - left).sum(axis=1) / 2
    assert header["distances"] == pytest.approx(distances.tolist(), abs=1e-6)
    order = orders.shuffled(TIRED, 1)
    assert order in shuffle(app).replace("\\u2019", "’")
    for settings in (Settings(TIRED), Settings(TIRED, position="none")):
        assert small(orders.reordered(settings, order).difference) in shuffle(app)


@pytest.mark.parametrize("side", ["", "2"])
@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ({"mask": "causal"}, {"mask": "causal"}),
        ({"mask": "window", "w": "2"}, {"mask": "window:2"}),
        ({"mask": "combination", "rule": "causal & window:2"}, {"mask": "causal & window:2"}),
        ({"pos": "sinusoidal"}, {"position": "sinusoidal"}),
        ({"t": "0.5"}, {"temperature": 0.5}),
        ({"off": ["L0 H1", "L3 H3"]}, {"heads_off": ((0, 1), (3, 3))}),
    ],
)
def test_every_control_of_both_sides(
    opened: OpenPage, values: dict[str, str | list[str]], settings: dict[str, Any], side: str
) -> None:
    app = opened(**{f"{key}{side}": value for key, value in values.items()})
    left, right = Settings(TIRED), Settings(TIRED, position="none")
    changed = {**({"position": "none"} if side else {}), **settings}
    header = check(app, left if side else Settings(TIRED, **changed), Settings(TIRED, **changed) if side else right)
    assert header["notices"] == []
    assert header["tried"] == ""
    assert header["differs"] == [key for key in ("mask", "pos", "t", "off") if key in values or key == "pos"]


@pytest.mark.parametrize("side", ["", "2"])
def test_a_painted_mask_on_either_side(opened: OpenPage, side: str) -> None:
    flips = torch.zeros(12, 15, 15, dtype=torch.bool)
    flips[2, 10, 9] = True
    painted = write_flips(flips)
    app = opened(**{f"mask{side}": "painted", f"rule{side}": "none", f"p{side}": painted, f"pos{side}": "as trained"})
    own = Settings(TIRED, painted=painted)
    check(app, Settings(TIRED) if side else own, own if side else Settings(TIRED, position="none"))
    assert maps(app)[1 if side else 0][10, 9] == 0
    app = opened(**{f"mask{side}": "painted", f"p{side}": painted, f"rule{side}": "none", "s": "how are you"})
    assert "was painted for 15 tokens; the sentence has 5" in state(app)["notices"][0]


def test_the_other_sentence(opened: OpenPage) -> None:
    header = check(opened(s2=WIDE, pos2="as trained", at="3.1"), Settings(TIRED), Settings(WIDE), 3, 1)
    assert header["fits"]
    assert header["tried"] == "tired / wide"
    assert "0.64 → 0.27" in [figure["value"] for figure in header["figures"]]
    header = check(opened(s2="how are you"), Settings(TIRED), Settings("how are you", position="none"))
    assert not header["fits"]
    assert header["distances"] == []
    assert header["said"].startswith("The left sentence has 15 tokens, the right one 5")


def test_links_that_cannot_be_used(opened: OpenPage) -> None:
    app = opened(at="9.9", pos2="elsewhere", t2="99", shuffle="0", look="upside_down", off2=["L9 H9"])
    header = check(app, Settings(TIRED), Settings(TIRED, position="none"))
    for key in ("at", "pos2", "t2", "shuffle", "look", "off2"):
        assert [said for said in header["notices"] if f" {key}=" in said], key


def test_too_long_a_sentence_on_either_side(opened: OpenPage) -> None:
    header = check(opened(s="it " * 600), Settings(TIRED), Settings(TIRED, position="none"))
    assert header["notices"][0].startswith("602 tokens")
    assert header["notices"][0].endswith(f"The left map still shows “{TIRED}”.")
    header = check(opened(s2="x" * 2001), Settings(TIRED), Settings(TIRED, position="none"))
    assert header["notices"][0].endswith(f"The right map still shows “{TIRED}”.")


def test_an_order_that_is_none(opened: OpenPage) -> None:
    app = opened(s="how are you", order="you how is")
    assert "must have the words of the sentence" in shuffle(app)
    app.text_input(key="order").set_value("you how are").run()
    assert "you how are" in shuffle(app)
    assert small(orders.reordered(Settings("how are you"), "you how are").difference) in shuffle(app)


def test_a_word_like_markup_stays_text(opened: OpenPage) -> None:
    text = "<b>it</b> $x$ ~ it"
    app = opened(s=text, order="it <b>it</b> ~ $x$")
    check(app, Settings(text), Settings(text, position="none"))
    assert not [block.value for block in app.markdown if "it" in block.value.split()]


# ---- the wire


def asked(**values: str | list[str]) -> tuple[dict[str, Any], np.ndarray[Any, np.dtype[np.float32]]]:
    """What the wire says of a link, and both maps one after another."""
    (packed,) = answers("pair", urlencode(values, doseq=True))
    header, body = unpacked(packed)
    return header, np.frombuffer(body, np.float32)


@pytest.mark.parametrize(
    ("values", "left", "right", "at"),
    [
        ({}, Settings(TIRED), Settings(TIRED, position="none"), (0, 2)),
        ({"s": "", "at": "5.11.1.0"}, Settings(""), Settings("", position="none"), (5, 11)),
        (
            {"s": "how are you", "mask": "window", "w": "2", "t": "0.5", "off": ["L1 H1", "L0 H0"]},
            Settings("how are you", "window:2", temperature=0.5, heads_off=((0, 0), (1, 1))),
            Settings("how are you", position="none"),
            (0, 2),
        ),
        (
            {"s2": WIDE, "mask2": "combination", "rule2": "causal|sinks:1", "pos2": "rotary", "off2": "L3 H1"},
            Settings(TIRED),
            Settings(WIDE, "causal | sinks:1", "rotary", heads_off=((3, 1),)),
            (0, 2),
        ),
        (
            {"s2": "how are you", "t2": "2", "at": "3.1.9"},
            Settings(TIRED),
            Settings("how are you", position="none", temperature=2.0),
            (3, 1),
        ),
    ],
)  # fmt: skip
def test_the_wire_answers_a_link_with_the_numbers_of_the_core(
    values: dict[str, str | list[str]], left: Settings, right: Settings, at: tuple[int, int]
) -> None:
    header, body = asked(**values)
    sides = pictures.picture(left), pictures.picture(right)
    assert header["digest"] == f"{left.digest}-{right.digest}"
    assert np.array_equal(body, np.concatenate([side.run.weights[at].numpy().flatten() for side in sides]))
    pair = pairs.Pair(*sides, *at)
    where = At.of(str(values.get("at", "0.2"))).on(sides[0].run.tokens)
    assert (header["row"], header["key"], tuple(header["marked"])) == (where.row, where.key, pairs.marked(pair, where))
    assert header["figures"] == pairs.figures(pair, where)
    titles = contrasts.titles(contrasts.contrasts(left, right, pair.left.model))
    assert tuple(side["title"] for side in header["sides"]) == titles
    assert [side["story"] for side in header["sides"]] == [pairs.story(side, *at) for side in sides]
    assert header["answers"] == pairs.answers(pair, titles)
    assert header["asides"] == pairs.asides(pair, titles)


@pytest.mark.parametrize(
    "values",
    [
        *[{key: text} for key in ("s", "s2") for text in ("x" * 2001, "it " * 600, "x" * 4001)],
        *[{f"mask{side}": "everything"} for side in ("", "2")],
        *[{f"mask{side}": "window", f"w{side}": text} for side in ("", "2") for text in ("0", "x", "1.5", "513")],
        *[{f"mask{side}": "combination", f"rule{side}": "causal &"} for side in ("", "2")],
        *[{f"mask{side}": "painted", f"on{side}": "no rule"} for side in ("", "2")],
        *[{f"mask{side}": "painted", f"p{side}": "garbage"} for side in ("", "2")],
        *[{f"pos{side}": "learned"} for side in ("", "2")],
        *[{f"t{side}": text} for side in ("", "2") for text in ("99", "nan", "")],
        *[{f"off{side}": text} for side in ("", "2") for text in ("L6 H0", "3.1")],
        {"at": "6.0"},
        {"at": "x"},
        {"model": "../minilm"},
        {"dev": "cuda:9"},
        {"order": "x" * 4001},
        {"s": ["one", "two"]},
    ],
    ids=lambda values: urlencode(values)[:30],
)
def test_what_no_control_can_say_is_an_error(values: dict[str, str]) -> None:
    with pytest.raises(HeadlightError):
        asked(**values)


@pytest.mark.parametrize("side", ["", "2"])
def test_the_wire_says_which_painting_was_left_out(side: str) -> None:
    flips = torch.ones(12, 4, 4, dtype=torch.bool)
    painted = {f"mask{side}": "painted", f"p{side}": write_flips(flips), f"s{side}": TIRED}
    header, _ = asked(**painted)
    assert ["painted for 4 tokens; the sentence has 15" in said for said in header["notices"]] == [True]
    assert header["digest"] == f"{Settings(TIRED).digest}-{Settings(TIRED, position='none').digest}"


def test_a_page_begins_with_the_same_unless_a_side_is_long() -> None:
    query = urlencode({"s": "how are you", "s2": WIDE, "at": "3.1"}).encode()
    assert message.first(query) == message.pair(query)
    for side in ("s", "s2"):
        with pytest.raises(HeadlightError, match="at most 128 tokens"):
            message.first(urlencode({side: "it " * 150}).encode())


def test_each_comparison_to_try_is_what_its_link_says() -> None:
    header, _ = asked()
    assert list(header["try"]) == list(tries.TRY)
    for name, values in header["try"].items():
        there, _ = asked(**values)
        assert (there["tried"], there["try"]) == (name, header["try"])
        assert asked(**{**values, "at": "5.5"})[0]["tried"] == name, "where it looks does not count"
        assert asked(**{**values, "t2": "0.9"})[0]["tried"] == ""


def test_the_script_runs_no_pass_for_the_view_alone(opened: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(s="how are you")
    monkeypatch.setattr(pairs, "story", None)
    monkeypatch.setattr(pairs, "answers", None)
    monkeypatch.setattr(pairs, "asides", None)
    monkeypatch.setattr(pairs, "figures", None)
    monkeypatch.setattr(compare, "row_distances", None)
    app.text_input(key="s2").set_value("you how are").run()
    assert control(app, "pair")["typed"] == ["how are you", "you how are"]
