"""By hand's way from a token to x: the numbers of the tables against the model's own, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mha_core import Model
from pages.by_hand import embeddings
from pages.kit.picture.place import At
from pages.kit.picture.recorded import recorded
from pages.kit.picture.settings import Settings

from .conftest import app_at, blocks, every

CAN = "can you can that"


def tables(settings: Settings, row: int) -> list[Any]:
    made = embeddings.embedding_blocks(recorded(settings, 0), settings, At(0, 0, row))
    return [block for block in every(made) if block["kind"] == "table"]


def number(text: str) -> float:
    return float(text.replace("−", "-"))


@pytest.mark.parametrize("position", ["trained", "none", "sinusoidal"])
def test_the_last_line_is_the_models_first_hidden_state(model: Model, position: str) -> None:
    steps, every_token = tables(Settings(CAN, position=position), 3)
    run = model.run(CAN, position=position)
    lines = {line[0]: [number(cell) for cell in line[1:-1]] for line in steps["rows"]}
    hidden = run.hidden[0, 3]
    assert lines["x"][:-1] == pytest.approx(hidden[: embeddings.SHOWN].tolist(), abs=6e-5)
    assert lines["x"][-1] == pytest.approx(float(hidden.norm()), abs=6e-4)
    assert lines["+ shift"] == pytest.approx(lines["x"], abs=2e-4)
    summed = torch.tensor([lines["row of the word"], lines["+ segment"], lines["+ position"]])[:, :-1].sum(dim=0)
    assert lines["= sum"][:-1] == pytest.approx(summed.tolist(), abs=2e-4)
    assert (max(map(abs, lines["+ position"])) == 0) is (position == "none")
    assert [line[1] for line in every_token["rows"]] == [str(one) for one in run.ids]
    assert [number(line[-1]) for line in every_token["rows"]] == pytest.approx(
        run.hidden[0].norm(dim=-1).tolist(), abs=6e-4
    )


def test_the_page_says_which_row_of_the_table_it_is(model: Model) -> None:
    app = app_at("by_hand", ex="embedding", s=CAN, at="0.0.3").run()
    shown = blocks(app, "hand")
    (title,) = [block["text"] for block in shown if block["kind"] == "title"]
    assert title == f"“can” is id {model.run(CAN).ids[3]:,}: row {model.run(CAN).ids[3]:,} of a table of 30,522 rows"
    said = " ".join(block["text"] for block in shown if block["kind"] == "text")
    assert "“can” stands at place 1 too: the same row of the table, and its x differs by up to" in said
    (chooser,) = [block for block in shown if block.get("name") == "Token"]
    assert [one["text"] for one in chooser["buttons"] if one["pressed"]] == ["3 can"]
    without = app_at("by_hand", ex="embedding", s=CAN, at="0.0.3", pos="none").run()
    said = " ".join(block["text"] for block in blocks(without, "hand") if block["kind"] == "text")
    assert "its x is the same" in said


def test_a_small_model_has_neither_segment_nor_norm() -> None:
    steps, _ = tables(Settings("the cat saw the dog", model="who-rotary-1"), 1)
    assert [line[0] for line in steps["rows"]] == ["row of the word", "+ position", "= sum", "x"]
