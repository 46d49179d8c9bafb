"""The Compare page without a browser: both sides from a link, the shuffle test, the heads, and what cannot be shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core.measure import compare
from pages.compare import orders, pairs
from pages.kit.draw.numbers import small
from pages.kit.picture import pictures
from pages.kit.picture.mask_codec import write_flips
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.picture.words import NOT_TRAINED

from .conftest import app_at, component, unpacked

OpenPage = Callable[..., AppTest]
TIRED, WIDE = PRESETS[:2]
LONG = "the cat ran a far way it was so we " * 50  # 502 tokens


@pytest.fixture
def opened() -> OpenPage:
    """Opens the page with the values of a link."""

    def open_with(**values: str | list[str]) -> AppTest:
        return app_at("compare", **values).run()

    return open_with


def state(app: AppTest) -> dict[str, Any]:
    """What the pair view was given."""
    return unpacked(component(app, "pair").bytes)[0]


def maps(app: AppTest) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
    """Both maps that the pair view was given."""
    header, body = unpacked(component(app, "pair").bytes)
    sizes = [len(side["tokens"]) for side in header["sides"]]
    floats = np.frombuffer(body, np.float32)
    return [floats[: sizes[0] ** 2].reshape(sizes[0], -1), floats[sizes[0] ** 2 :].reshape(sizes[1], -1)]


def shuffle(app: AppTest) -> str:
    """Everything that the shuffle test says."""
    return str(component(app, "sheet", "shuffle_sheet").json)


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
    assert (header["layer"], header["head"], header["key"], header["chosen"]) == (0, 2, None, False)
    assert header["tokens"][header["row"]] == "it"
    assert header["tried"] == "with and without positions"
    assert [figure["value"] for figure in header["figures"][:1]] == ["0.9998 → 0.109"]
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


def test_one_head_at_a_time(opened: OpenPage) -> None:
    app = opened(s="can you can that", mask="causal")
    found = json.loads(component(app, "heads").json)
    settings = Settings("can you can that", "causal")
    cosines = compare.without_each_head(pictures.model_on("auto"), settings.text, mask="causal")
    assert np.allclose(found["cosines"], cosines, atol=1e-6)
    layer, head = divmod(int(cosines.argmin()), 12)
    assert f"Switching off layer {layer} head {head} changes" in found["said"]


def test_a_long_sentence_is_asked_about_first(opened: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def each_head(settings: Settings, *, ask: bool, told: Any = None) -> list[list[float]] | None:
        asked.append(ask)
        return [[0.5] * 12] * 6 if ask else None

    monkeypatch.setattr(pairs, "each_head", each_head)
    app = opened(s=LONG)
    assert asked == [False]
    assert len(state(app)["sides"][0]["tokens"]) == 502
    app.button(key="each").click().run()
    assert asked == [False, False, True]
    assert json.loads(component(app, "heads").json)["shown"][0][0] == "0.5000"


def test_a_word_like_markup_stays_text(opened: OpenPage) -> None:
    text = "<b>it</b> $x$ ~ it"
    app = opened(s=text, order="it <b>it</b> ~ $x$")
    check(app, Settings(text), Settings(text, position="none"))
    assert not [block.value for block in app.markdown if "it" in block.value.split()]
