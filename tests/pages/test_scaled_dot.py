"""The Scaled dot product page without a browser: cases, links, bounds, and every number against torch."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS, Trace, attention
from mha_core.errors import SizeError
from pages.kit.draw.pages import PAGES, path
from pages.kit.picture.fields import FIELDS
from pages.scaled_dot import case as cases
from pages.scaled_dot import page, parts, products
from pages.scaled_dot.case import CASES, SOURCES, Case, checked, parse_shape
from pages.scaled_dot.parts import FIGURES, Box

from .conftest import app_at, blocks, every, picture_of


def open_page(**values: str) -> AppTest:
    return app_at("scaled_dot", **values).run()


def notices(app: AppTest) -> list[str]:
    return [line for block in blocks(app, "told") for line in block.get("sentences", [])]


def table(app: AppTest, head: str) -> dict[str, str]:
    (found,) = [block for block in blocks(app, "call") if block["kind"] == "table" and block["head"][0] == head]
    return {line[0]: line[1] for line in found["rows"]}


def cells(app: AppTest, name: str) -> torch.Tensor:
    (found,) = [block for block in blocks(app) if block.get("name") == name and "cells" in block]
    return torch.tensor([[float(cell.replace("−", "-").lstrip("<>")) for cell in line] for line in found["cells"]])


# ---- the function


def test_a_case_by_a_dense_loop() -> None:
    """Every output and weight once more, query by query, in float64."""
    for name in CASES:
        case = CASES[name]
        given = [one.double() for one in cases.tensors(case)]
        q, k, v = (given[min(at, len(given) - 1)] for at in range(3))
        i, j, d, width = case.sizes
        expected = torch.zeros(*case.leading, i, width, dtype=torch.float64)
        for index in torch.cartesian_prod(*(torch.arange(size) for size in (*case.leading, i))).reshape(
            -1, len(q.shape) - 1
        ):
            *lead, row = index.tolist()
            scores = [float(q[(*lead, row)] @ k[(*lead, key)]) / math.sqrt(d) for key in range(j)]
            exps = [math.exp(score) for score in scores]
            for key, exp in enumerate(exps):
                expected[(*lead, row)] += exp / sum(exps) * v[(*lead, key)]
        made = checked(case, "cpu")
        assert made.shapes["mixed"] == tuple(expected.shape), name
        assert made.shapes["weights"] == (*case.leading, i, j), name
        shown = expected.reshape(-1, i, width)[0, : cases.MOST_SHOWN, : cases.MOST_SHOWN]
        torch.testing.assert_close(torch.tensor(made.mixed), shown.float(), rtol=0, atol=1e-5)
        torch.testing.assert_close(torch.tensor(made.torchs), shown.float(), rtol=0, atol=1e-5)
        assert max(made.to_torch, made.to_truth, made.torch_to_truth) < 1e-6, name


def test_the_differences_are_those_of_the_two_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    made, (x,) = checked(CASES["(2, 3, 6)"], "cpu"), cases.tensors(CASES["(2, 3, 6)"])
    ours, torchs = attention(x)[0], F.scaled_dot_product_attention(x, x, x)
    assert x.shape == (2, 3, 6)
    assert made.to_torch == pytest.approx(float((ours - torchs).double().norm() / torchs.double().norm()), rel=1e-3)
    assert made.largest == pytest.approx(float((ours - torchs).abs().max()))

    def wrong(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return attention(q, k, v)[0] * 1.5

    monkeypatch.setattr(F, "scaled_dot_product_attention", wrong)
    case = Case((2, 3, 6), seed=77)  # which nobody has asked for yet
    assert checked(case, "cpu").to_torch == pytest.approx(1 / 3, rel=1e-5)
    assert "differ by 3.3e−1" in parts.opening(case, checked(case, "cpu"))["text"]
    assert "rounding" not in parts.opening(case, checked(case, "cpu"))["text"]


def test_the_seed_and_the_source_decide_the_numbers() -> None:
    assert torch.equal(cases.tensors(Case((3, 6)))[0], cases.tensors(Case((3, 6), "keys from elsewhere", 5))[0])
    assert not torch.equal(cases.tensors(Case((3, 6)))[0], cases.tensors(Case((3, 6), seed=1))[0])
    assert [len(cases.tensors(Case((3, 6), source))) for source in SOURCES] == [1, 2, 3]
    assert Case((3, 6), "both the queries", 5, 9).sizes == (3, 3, 6, 6)
    assert Case((3, 6), "keys from elsewhere", 5, 9).sizes == (3, 5, 6, 6)
    assert Case((3, 6), "both from elsewhere", 5, 9).sizes == (3, 5, 6, 9)
    assert Case((3, 6), "both from elsewhere").sizes == (3, 3, 6, 6)


# ---- what is typed


def test_a_shape_is_read() -> None:
    for text in ("2, 3, 6", "2 3 6", "(2,3,6)", "2×3×6", " [2; 3; 6] "):
        assert parse_shape(text, 2, 5) == (2, 3, 6), text


def test_what_is_no_shape_is_refused() -> None:
    for text in ("", "3", "1,2,3,4,5,6", "2, -3, 6", "2, 0", "2, 3.5", "a, b", "9999999, 2", "2, 1025"):
        with pytest.raises(SizeError):
            parse_shape(text, 2, 5)


def test_what_takes_too_long_is_not_computed() -> None:
    for shape in ((1024, 1024), (64, 64, 64, 8), (1, 1024, 512), (1024, 1024, 1, 1024)):
        with pytest.raises(SizeError, match="at most"):
            Case(shape).check()


# ---- the page


def test_it_opens_on_the_case_and_says_how_far_torch_lies() -> None:
    app = open_page()
    assert notices(app) == []
    (title,) = blocks(app, "opening")
    assert title["text"].startswith("attention(q) and PyTorch’s own agree ")
    shapes = table(app, "tensor")
    assert shapes["q"] == shapes["v"] == shapes["mixed"] == "(2, 3, 6)"
    assert shapes["weights"] == shapes["scores"] == "(2, 3, 3)"
    (x,) = cases.tensors(CASES["(2, 3, 6)"])
    mixed, weights = attention(x)
    torch.testing.assert_close(cells(app, "mixed, by attention"), mixed[0], rtol=0, atol=1e-4)
    torch.testing.assert_close(cells(app, "weights"), weights[0], rtol=0, atol=0.006)
    assert any(inspect.getsource(attention).rstrip() in code.value for code in app.code)


def test_a_link_brings_every_choice() -> None:
    app = open_page(qs="2, 4, 5, 8", kv="both from elsewhere", nk="7", wv="3", draw="5")
    assert table(app, "tensor")["k"] == "(2, 4, 7, 8)"
    assert table(app, "tensor")["mixed"] == "(2, 4, 5, 3)"
    assert {key: app.session_state[key] for key in ("qs", "kv", "nk", "wv", "draw")} == {
        "qs": "2, 4, 5, 8", "kv": "both from elsewhere", "nk": 7, "wv": 3, "draw": 5,
    }  # fmt: skip
    assert tuple(SOURCES) == FIELDS["kv"].choices
    assert cells(app, "weights").shape == (5, 7)


def test_a_button_is_pressed_when_the_controls_say_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CASES:
        state: dict[str, Any] = {}
        monkeypatch.setattr("streamlit.session_state", state)
        page.choose_case({"case": name})
        shape = parse_shape(state["qs"], 2, 5)
        (buttons,) = [parts.cases(Case(shape, state["kv"], state["nk"], state["wv"]))]
        assert [one["text"] for one in buttons["buttons"] if one["pressed"]] == [name], name
        for event in ({"case": "nothing"}, {"case": 3}, {"product": "9, 9"}):
            before = dict(state)
            page.choose_case(event)
            page.choose_product(event)
            assert state == before, name


def test_garbage_in_a_link_is_told_and_ignored() -> None:
    for values, key in (
        ({"qs": "<b>2</b>"}, "qs"),
        ({"qs": "1024, 1024"}, "qs"),
        ({"aat": "100, 100, 2, 2"}, "aat"),
        ({"nk": "0"}, "nk"),
    ):
        app = open_page(**values)
        (notice,) = notices(app)
        told = ("The link says nk=0",) if key == "nk" else ("“", "This is not computed")
        assert notice.startswith(told), values
        assert table(app, "tensor")["q"] == "(2, 3, 6)", values
        assert notices(app.run()) == [notice], values


def test_what_is_typed_wrongly_keeps_the_last_shape() -> None:
    app = open_page(qs="4, 6")
    app.text_input(key="qs").set_value("4, six").run()
    (notice,) = notices(app)
    assert notice.startswith("“4, six” is not used: ")
    assert notice.endswith("Still shown: (4, 6).")
    assert table(app, "tensor")["q"] == "(4, 6)"
    app.text_input(key="qs").set_value("5, 6").run()
    assert notices(app) == []


# ---- products as loops


def test_a_batched_product_is_the_loop_and_symmetric() -> None:
    for text in products.CASES.values():
        shape = parse_shape(text, *products.AXES)
        a = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        looped = products.LOOPS[len(shape)](a)
        torch.testing.assert_close(looped, torch.einsum("...id,...jd->...ij", a, a), rtol=0, atol=1e-4)
        made = products.product(shape, 0)
        assert made.result == tuple(looped.shape) == (*shape[:-1], shape[-2]), text
        assert made.apart < 1e-4, text
        assert made.asymmetry < 1e-4, text
        assert made.diagonal == pytest.approx(float(a.square().sum(dim=-1).mean()), rel=1e-5), text
        app = open_page(aat=text)
        name = f"(A Aᵀ)[{', '.join('0' for _ in shape[:-2])}]"
        torch.testing.assert_close(cells(app, name), looped.reshape(-1, 10, 10)[0], rtol=0, atol=0.06)
        assert any(inspect.getsource(products.LOOPS[len(shape)]).rstrip() in code.value for code in app.code), text


def test_too_many_products_are_refused() -> None:
    for shape in ((300, 2, 2), (20, 20, 2, 2), (3, 1000, 400)):
        with pytest.raises(SizeError, match="at most"):
            products.product(shape, 0)


# ---- the two figures


def steps() -> list[str]:
    """The steps of one layer with a mask, in the order in which they are made."""
    trace = Trace()
    IMPLEMENTATIONS["efficient"](4, 2)(torch.randn(1, 3, 4), allow=torch.ones(3, 3).tril().bool(), trace=trace)
    return [step.name for step in trace.steps]


def test_boxes_are_steps_in_their_order() -> None:
    for boxes in FIGURES.values():
        made = steps()
        assert all(box.step in made for box in boxes), boxes
        for at, box in enumerate(boxes):
            assert 0 <= box.columns[0] <= box.columns[1] <= 2, boxes
            assert box.input_ is not bool(box.from_), boxes
            below = [boxes[number] for number in box.from_]
            assert all(other.row < box.row for other in below), boxes
            assert not below or min(made.index(other.step) for other in below) < made.index(box.step), boxes
            assert all(number < at for number in box.from_), boxes


def test_a_box_opens_its_step() -> None:
    drawn = {block["name"]: block for block in every([parts.figures()]) if block["kind"] == "diagram"}
    assert list(drawn) == list(FIGURES)
    for block in drawn.values():
        assert (block["path"], block["title"]) == (path("shapes"), PAGES["shapes"].title)
        assert all(box["link"][0][0] == "step" for box in block["boxes"])
    mask = next(box for box in drawn["Scaled dot-product attention"]["boxes"] if box["text"].startswith("Mask"))
    said, _ = picture_of("steps", **dict(mask["link"]))
    assert said["step"] == "masked"
    assert said["notices"] == []
