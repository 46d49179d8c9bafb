"""All heads by every measure: what the wire says of them, and what it cannot say."""

from __future__ import annotations

import csv
import io
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from torch import Tensor

from mha_core.heads.measures import head_measures
from mha_core.measure.value_norms import handed_lengths
from pages.explore import heads_overview
from pages.kit.picture import models, pictures
from pages.kit.picture.limits import LONGEST_TEXT
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.settings import Settings
from pages.kit.wire import routes

from .conftest import answers, picture_of, unpacked


def overview(**link: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What is said, and the values of each measure."""
    header, body = unpacked(answers("overview", urlencode(link))[0])
    names = [measure["name"] for measure in header["measures"] if measure["rows"]]
    values = torch.frombuffer(bytearray(body), dtype=torch.float32).view(len(names), header["layers"], header["heads"])
    return header, dict(zip(names, values, strict=True))


def strongest(measure: str, **link: str) -> tuple[int, int, float]:
    header, values = overview(**link)
    at = int(values[measure].argmax())
    return (*divmod(at, header["heads"]), float(values[measure].max()))


def test_it_is_the_measures_of_the_run() -> None:
    header, values = overview(s=PRESETS[0])
    shown = pictures.picture(Settings(PRESETS[0]))
    expected = head_measures(shown.run.weights, shown.run.ids, handed_lengths(shown.model, shown.run))
    assert set(values) == set(expected.values)
    assert all(torch.equal(values[name], own) for name, own in expected.values.items())
    assert {measure["name"]: measure["rows"] for measure in header["measures"]} == {**expected.rows, "effect": 0}
    assert header["tokens"] == len(shown.run.tokens)
    assert not any(measure["missing"] for measure in header["measures"])
    *head, weight = strongest("previous", s=PRESETS[0])
    assert head == [0, 2]
    assert weight == pytest.approx(0.9998, abs=5e-5)
    shares = values["value"].sum(dim=1).tolist()
    assert shares == pytest.approx([1] * header["layers"], abs=1e-6), "of a layer they are shares of one whole"


def test_what_is_changed_changes_them() -> None:
    _, values = overview(s=PRESETS[0], off="L0 H2")
    assert float(values["value"][0, 2]) == 0, "a head that is off hands nothing over"
    assert float(values["value"][0].sum()) == pytest.approx(1, abs=1e-6)
    header, values = overview(s=PRESETS[0], unheard="0")
    assert "value" not in values
    assert next(one["missing"] for one in header["measures"] if one["name"] == "value") == heads_overview.NO_VALUES
    header, values = overview(s="you", mask="causal", view="heads.random")
    assert header["tokens"] == 50
    assert not values["next"].any()


def test_one_token_and_other_models_say_what_they_lack() -> None:
    header, values = overview(model="words-2layers-1", s="wolf")
    lacks = {one["name"]: one["missing"] for one in header["measures"]}
    assert set(values) == {"entropy", "distance", "value"}
    assert (lacks["previous"], lacks["same"]) == ("it takes two tokens", "no token stands twice in it")
    dates = next(name for name in models.shipped() if name.startswith("dates"))
    header, values = overview(model=f"{dates}~cross")
    assert set(values) == {"entropy"}, "rows and columns are different texts"
    assert "other tokens" in next(one["missing"] for one in header["measures"] if one["name"] == "previous")


def test_our_sentences_are_read_by_every_model() -> None:
    lines = routes.answer("sentences", b"").decode().splitlines()
    assert 30 < len(lines) == len(set(lines))
    assert all(line.strip() == line and 0 < len(line) < LONGEST_TEXT / 4 for line in lines)


def test_a_view_that_is_not_there_is_told() -> None:
    told, _ = picture_of("maps", s="how are you", view="clouds.3")
    assert told["unusable"] == {"view": []}
    told, _ = picture_of("maps", s="how are you", view="heads.previous.entropy")
    assert told["unusable"] == {}


def test_a_file_has_a_row_for_each_head() -> None:
    text = routes.answer("explore.csv", urlencode({"s": "how are you", "view": "heads.first.ours"}).encode())
    rows = list(csv.reader(io.StringIO(text.decode("utf-8-sig"))))
    head, *own = rows[rows.index([]) + 1 :]
    _, values = overview(s="how are you")
    assert [head[0], len(head), len(own)] == ["head", 1 + len(values), 72]
    assert own[2][0] == "L0 H2"
    expected = [float(value[0, 2]) for value in values.values()]
    assert sorted(map(float, own[2][1:])) == pytest.approx(sorted(expected))
