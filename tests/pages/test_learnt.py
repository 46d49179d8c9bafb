"""What this model learnt with and what it never saw, told apart on the Positions page, and said once."""

from __future__ import annotations

import json

from pages.kit.picture.limits import POSITIONS
from pages.kit.picture.words import NOT_TRAINED, position_title

from .conftest import app_at, blocks, component, told_to


def test_what_the_model_never_saw_stands_apart_from_what_it_learnt_with() -> None:
    app = app_at("positions", s="how are you").run()
    tiles = told_to(component(app, "encodings"))["tiles"]
    assert [tile["name"] for tile in tiles if tile["learnt"]] == ["as trained"]
    assert all((NOT_TRAINED in tile["note"]) != tile["learnt"] for tile in tiles)


def test_the_numbers_say_once_that_the_model_was_not_trained_this_way() -> None:
    (table,) = [
        block
        for block in blocks(app_at("positions", s="how are you").run())
        if block["kind"] == "table" and block["prose"]
    ]
    assert [row[0] for row in table["rows"]] == list(map(position_title, POSITIONS))
    assert json.dumps(table).lower().count(NOT_TRAINED.lower()) == 1
    assert f"With all encodings but “As trained”: {NOT_TRAINED[0].lower()}{NOT_TRAINED[1:]}." in table["caption"]
