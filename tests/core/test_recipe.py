"""Bounds of a recipe, and of a file that claims to be one."""

import itertools
import json
import math
from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from mha_core.errors import HeadlightError, SizeError
from mha_core.training.recipe import Recipe

from .runs import case

SIZES = {  # the bounds that are still good
    "d_model": (4, 1024),  # with the four heads of the default
    "n_heads": (1, 64), "n_layers": (1, 8), "d_feed_forward": (0, 4096), "vocabulary": (8, 50_000),
    "max_len": (2, 1024), "steps": (1, 100_000), "batch": (1, 1024), "evaluations": (1, 1000), "threads": (1, 256),
    "seed": (0, 2**31), "data_seed": (0, 2**31),
}  # fmt: skip
OTHERS: list[tuple[str, list[Any], list[Any]]] = [
    ("rate", [0.000000001, 9.99], [0.0, -1.0, 10.0, math.inf, math.nan]),
    ("seconds", [0.1, 10.0**9], [0.0, -1.0, math.inf, math.nan]),
    ("amplitude", [-(10.0**30), 0.0, 10.0**30], [math.inf, -math.inf, math.nan]),
    ("weight_decay", [0.0, 9.9], [-0.1, 10.0, math.inf, math.nan]),
    ("beta2", [0.0, 0.999], [-0.1, 1.0, math.inf, math.nan]),
    ("dropout", [0.0, 0.999], [-0.1, 1.0, math.inf, math.nan]),
    ("vocabulary_of", ["training rows", "all texts"], ["", "test rows"]),
    ("target", [None, 0.0, 1.0], [-0.1, 1.1, math.nan, math.inf]),
    ("pooling", ["[CLS]", "mean"], ["", "max"]),
    ("schedule", ["one-cycle", "constant"], ["", "cosine"]),
    ("start", ["shared", "own"], ["", "theirs"]),
]
FOREIGN = "its fields are not those of this version"


def test_bounds() -> None:
    for name, (least, most) in SIZES.items():
        for size in (least, most):
            replace(Recipe(), **{name: size}).check()  # type: ignore[arg-type]
        for size in (least - 4, most + 4):
            with case((name, size)), pytest.raises(SizeError, match=str(size)):
                replace(Recipe(), **{name: size}).check()  # type: ignore[arg-type]
    for name, good, bad in OTHERS:
        for value in good:
            replace(Recipe(), **{name: value}).check()
        for value in bad:
            with case((name, value)), pytest.raises(HeadlightError, match=name):
                replace(Recipe(), **{name: value}).check()
    for d_model, n_heads in ((64, 6), (64, 0), (8, -4), (3, 4)):
        with pytest.raises(SizeError, match=f"d_model={d_model} cannot be split into {n_heads} equal heads; choose a"):
            Recipe(d_model=d_model, n_heads=n_heads).check()


def test_a_field_of_the_wrong_kind_or_size() -> None:
    switches = ("mask_padding", "residual", "norm", "bias", "all_rows")
    fits: dict[str, list[Any]] = {"target": [None], "out_bias": [None, True], **{key: [True] for key in switches}}
    strange: list[Any] = ["no\nline", [], {}, 10**400, None, True, math.nan]
    for name, value in itertools.product((field.name for field in fields(Recipe)), strange):
        values = {**asdict(Recipe()), name: value}
        if any(value is one for one in fits.get(name, [])):
            assert asdict(Recipe.from_json(values)) == values
        else:
            with case((name, value)), pytest.raises(HeadlightError, match=rf"no recipe: {name} is|{name}="):
                Recipe.from_json(values)


def test_foreign_fields_are_refused_and_a_file_of_an_earlier_version_lacks_the_newer_ones_alone() -> None:
    foreign: list[Any] = [None, [], "recipe", 3, {}, {"task": "who"}, {**asdict(Recipe()), "more": 1}]
    newer = {"bias", "dropout", "all_rows", "vocabulary_of", "out_bias"}
    earlier = {name: value for name, value in asdict(Recipe(task="food")).items() if name not in newer}
    assert Recipe.from_json(earlier) == Recipe(task="food")
    assert Recipe.from_json({**earlier, "dropout": 0.5}) == Recipe(task="food", dropout=0.5)
    assert Recipe.from_json(json.loads(json.dumps(asdict(Recipe(task="dates", out_bias=True))))).out_bias is True
    for name in earlier:
        foreign.append({other: value for other, value in asdict(Recipe()).items() if other != name})
    for values in foreign:
        with case(values), pytest.raises(HeadlightError, match=FOREIGN):
            Recipe.from_json(values)
