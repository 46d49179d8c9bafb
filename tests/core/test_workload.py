"""The order of a worker as one line, and the bounds that refuse too much with its size."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from mha_core.errors import HeadlightError, SizeError
from mha_core.training.limits import Data, Order, check_parameters, check_step, check_threads, most_threads
from mha_core.training.recipe import Recipe

TINY = Recipe(d_model=16, n_heads=2, vocabulary=60)


def test_an_order_is_one_line() -> None:
    given = Order("there", (TINY, replace(TINY, seed=2)), Data("csv", "here", "a", "b", True), 60.0, True)
    assert "\n" not in given.to_line()
    assert Order.from_line(given.to_line()) == given
    alone = replace(given, data=None)
    assert Order.from_line(alone.to_line()) == alone


def test_a_line_that_is_no_order_is_refused() -> None:
    for line in ("", "nonsense", "[]", "{}", '{"recipes": [], "data": 3}', '{"recipes": [{}]}'):
        with pytest.raises(HeadlightError, match=r"no order|no recipe"):
            Order.from_line(line)


def test_a_core_is_left_for_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on macOS and Windows
    count: dict[str, int | None] = {}
    monkeypatch.setattr(os, "cpu_count", lambda: count["cores"])
    for count["cores"], most in ((None, 1), (1, 1), (2, 1), (8, 7)):
        assert most_threads() == most
        check_threads((replace(TINY, threads=most),))
        with pytest.raises(SizeError, match=f"threads={most + 1}: a training gets at most {most}"):
            check_threads((TINY, replace(TINY, threads=most + 1)))


def test_the_cores_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert most_threads() == 2


def test_what_is_too_much_is_refused() -> None:
    check_parameters((TINY,) * 40)
    with pytest.raises(SizeError, match=r"up to 224,000,000 parameters in 40 models, at most 20,000,000"):
        check_parameters((replace(TINY, d_model=1000, vocabulary=1600),) * 40)
    news = Recipe(batch=32, n_heads=8)
    check_step(news, 512)
    with pytest.raises(SizeError, match=r"texts of 1024 tokens layers · b · h · n² = 268,435,456, at most 80,000,000"):
        check_step(news, 1024)
    with pytest.raises(SizeError, match=r"4 d \+ 2 feed-forward\) = 17,179,869,184, at most"):
        check_step(replace(news, d_model=1024, n_heads=1), 128)
