"""Scaled dot product on By hand without a browser: cases, links, bounds, and every number against torch."""

from __future__ import annotations

import inspect
import math
import re
from typing import Any
from urllib.parse import parse_qsl

import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import Tensor
from torch.nn import functional as F

from headlight.link.fields import FIELDS
from headlight.queue import single_flight
from mha_core import IMPLEMENTATIONS, Trace, attention
from mha_core.errors import SizeError
from mha_core.measure import rounding
from pages.by_hand import page, products
from pages.by_hand import scaled_dot as cases
from pages.by_hand.scaled_dot import CASES, SCALED_DOT, SOURCES, Case, compare, parse_shape
from tests.closeness import same_function

from .conftest import app_at, blocks, every, picture_of
from .numbers_shown import assert_shows, read_number

pytestmark = pytest.mark.numeric


def open_page(**values: str) -> AppTest:
    return app_at("by_hand", ex=SCALED_DOT, **values).run()


def notices(app: AppTest) -> list[str]:
    return [line for block in blocks(app, "hand") for line in block.get("sentences", [])]


def shapes(app: AppTest) -> dict[str, str]:
    (found,) = [block for block in blocks(app, "hand") if block["kind"] == "table" and block["head"][0] == "tensor"]
    return {line[0]: line[1] for line in found["rows"]}


def cells(app: AppTest, name: str) -> list[list[str]]:
    (found,) = [block["cells"] for block in blocks(app) if block.get("name") == name and "cells" in block]
    return list(found)


def assert_cells(shown: list[list[str]], expected: Tensor) -> None:
    for line, values in zip(shown, expected.tolist(), strict=True):
        for cell, value in zip(line, values, strict=True):
            assert_shows(cell, value)


def test_case_by_a_dense_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every output and weight once more, query by query, in float64."""
    drawn = cases.tensors
    monkeypatch.setattr(cases, "tensors", lambda case: tuple(one.double() for one in drawn(case)))
    single_flight.clear_caches()
    for name, case in CASES.items():
        given = cases.tensors(case)
        q, k, v = (given[min(at, len(given) - 1)] for at in range(3))
        i, j, d, width = case.sizes
        expected = torch.zeros(*case.leading, i, width, dtype=torch.float64)
        axes = [torch.arange(size) for size in (*case.leading, i)]
        for index in torch.cartesian_prod(*axes).reshape(-1, len(axes)).tolist():
            *lead, row = index
            scores = [float(q[(*lead, row)] @ k[(*lead, key)]) / math.sqrt(d) for key in range(j)]
            exps = [math.exp(score) for score in scores]
            for key, exp in enumerate(exps):
                expected[(*lead, row)] += exp / sum(exps) * v[(*lead, key)]
        made, _, _ = compare(case, "cpu")
        assert (made["mixed"].shape, made[cases.WEIGHTS].shape) == (expected.shape, (*case.leading, i, j)), name
        for output in ("mixed", *cases.MIXED):
            same_function(made[output], expected)
        same_function(1 + max(cases.differences(made).values()), 1.0)
    single_flight.clear_caches()


def test_differences_are_those_of_the_two_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    (made, _, _), (x,) = compare(CASES["(2, 3, 6)"], "cpu"), cases.tensors(CASES["(2, 3, 6)"])
    assert (tuple(x.shape), x.dtype) == ((2, 3, 6), torch.float32)
    apart = cases.differences(made)
    assert 0 < max(apart["attention − truth"], apart["torch's own − truth"]) <= rounding.sum_bound(6, 3, 3)

    def wrong(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention(q, k, v)[0] * 1.5

    monkeypatch.setattr(F, "scaled_dot_product_attention", wrong)
    case = Case((2, 3, 6), seed=77)  # which nobody has asked for yet
    (made, _, _), (mixed, _) = compare(case, "cpu"), attention(cases.tensors(case)[0])
    apart = cases.differences(made)
    assert_shows("0.33333", apart["attention − torch's own"])
    assert_shows("0.50000", apart["torch's own − truth"])
    largest = apart["largest single difference to torch's own"]
    assert_shows(f"{largest:.5f}", float(mixed.abs().max()) / 2)


def test_shape_is_read_or_refused() -> None:
    for text in ("2, 3, 6", "2 3 6", "(2,3,6)", "2×3×6", " [2; 3; 6] "):
        assert parse_shape(text, 2, 5) == (2, 3, 6), text
    for text in ("", "3", "1,2,3,4,5,6", "2, -3, 6", "2, 3.5", "a, b", "2, 1025"):
        with pytest.raises(SizeError, match=r"sizes were given|every size|a shape has"):
            parse_shape(text, 2, 5)
    with pytest.raises(SizeError, match="at most"):
        Case((1024, 1024)).check()
    for shape, what in (((300, 2, 2), "products"), ((3, 1000, 400), "numbers"), ((1, 500, 600), "multiplications")):
        with pytest.raises(SizeError, match=f"{what}.*, at most"):
            products.blocks(shape, 0)


def test_page_opens_on_the_case_with_the_difference_to_torch() -> None:
    app = open_page()
    assert notices(app) == []
    assert (shapes(app)["q"], shapes(app)["q kᵀ / √d, weights"]) == ("(2, 3, 6)", "(2, 3, 3)")
    mixed, weights = attention(cases.tensors(CASES["(2, 3, 6)"])[0].double())
    assert_cells(cells(app, "mixed, by attention"), mixed[0])
    assert_cells(cells(app, "weights"), weights[0])
    values = {"qs": "2, 4, 5, 8", "kv": "both from elsewhere", "nk": "7", "wv": "3", "draw": "5"}
    app = open_page(**values)
    assert (shapes(app)["k"], shapes(app)["mixed"]) == ("(2, 4, 7, 8)", "(2, 4, 5, 3)")
    assert ({key: str(app.session_state[key]) for key in values}, tuple(SOURCES)) == (values, FIELDS["kv"].choices)
    assert [len(line) for line in cells(app, "weights")] == [7] * 5


def test_button_sets_the_controls_and_is_pressed_when_they_hold_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    for name in CASES:
        page.choose_case({"case": name})
        (buttons,) = [
            block
            for block in cases.blocks(Case.from_link({**state, "draw": 0}.get), "cpu")
            if block["kind"] == "buttons"
        ]
        assert [one["text"] for one in buttons["buttons"] if one["pressed"]] == [name]
    before = dict(state)
    page.choose_case({"case": "nothing"})
    page.choose_case({"product": "9, 9"})
    assert state == before


def test_link_with_garbage_says_so_and_what_is_typed_wrongly_keeps_the_last_shape() -> None:
    for key, value, start in (
        ("qs", "<b>2</b>", "“"), ("aat", "100, 100, 2, 2", "“100, 100, 2, 2” cannot be used: 10,000 matrix products"),
        ("nk", "0", "The link says nk=0"),
    ):  # fmt: skip
        app = open_page(**{key: value})
        (notice,) = notices(app)
        assert notice.startswith(start), value
        assert (shapes(app)["q"], notices(app.run())) == ("(2, 3, 6)", [notice])
    app = open_page(qs="4, 6")
    app.text_input(key="qs").set_value("4, six").run()
    (notice,) = notices(app)
    assert notice.startswith("“4, six” cannot be used: ")
    assert notice.endswith("(4, 6) is still shown.")
    assert shapes(app)["q"] == "(4, 6)"


def test_batched_product_is_the_loop_and_symmetric() -> None:
    for text in products.CASES.values():
        shape = parse_shape(text, *products.AXES)
        a = torch.randn(shape, generator=torch.Generator().manual_seed(0)).double()
        looped = products.LOOPS[len(shape)](a)
        same_function(looped, torch.einsum("...id,...jd->...ij", a, a))
        app = open_page(aat=text)
        text = " ".join(block.get("text", "") for block in blocks(app, "hand"))
        assert f"The result is {(*shape[:-1], shape[-2])}" in text
        most = rounding.sum_bound(shape[-1]) * float(looped.abs().max())
        for what in ("the loops", "its transpose"):
            (apart,) = re.findall(rf"largest difference from {what}: ([^ ]+)\.", text)
            assert 0 <= read_number(apart) <= most
        (diagonal,) = re.findall(r"is multiplied by itself: ([\d.]+) on average", text)
        assert_shows(diagonal, float(a.square().sum(dim=-1).mean()))
        name = f"(A Aᵀ)[{', '.join('0' for _ in shape[:-2])}]"
        assert_cells(cells(app, name), looped.reshape(-1, 10, 10)[0])
        source = inspect.getsource(products.LOOPS[len(shape)]).splitlines()
        assert source in [block["lines"] for block in blocks(app, "hand") if block["kind"] == "code"]


def test_steps_of_the_figures_are_steps_of_shapes_and_open_them() -> None:
    trace = Trace()
    IMPLEMENTATIONS["efficient"](4, 2)(torch.randn(1, 3, 4), allow=torch.ones(3, 3).tril().bool(), trace=trace)
    assert set(cases.STEPS.values()) <= {step.name for step in trace.steps}
    (links,) = [block["links"] for block in every(cases.blocks(CASES["heads"], "cpu")) if block["kind"] == "links"]
    picture, _ = picture_of("steps", **dict(parse_qsl(dict(links)["Mask"].partition("?")[2])))
    assert (picture["step"], picture["notices"]) == ("masked", [])
