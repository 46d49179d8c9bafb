"""About this picture: where the numbers come from, and the numbers to take away."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import torch
from playwright.sync_api import expect

from mha_core.pretrained import MINILM_SHA256

from .explore_page import Explore

FORMULAS = "=1+1 it @ home -x +y"


def download(explore: Explore, name: str) -> bytes:
    with explore.page.expect_download() as waiting:
        explore.page.get_by_role("button", name=name).click()
    return Path(waiting.value.path()).read_bytes()


def test_about_names_link_model_hash_versions_device_and_threads(explore: Explore) -> None:
    import streamlit

    explore.open(mask="causal", at="2.5")
    explore.shows(mask="causal")
    explore.page.get_by_role("button", name="About this picture").click()
    panel = explore.page.get_by_test_id("stPopoverBody")
    expect(panel).to_contain_text(MINILM_SHA256)
    expect(panel).to_contain_text("minilm (pretrained weights)")
    expect(panel).to_contain_text(f"torch {torch.__version__}, streamlit {streamlit.__version__}")
    expect(panel).to_contain_text("float32")
    expect(panel).to_contain_text("threads")
    expect(panel).to_contain_text("mask causal; 15 tokens")
    (link,) = [text for text in panel.locator("code").all_text_contents() if text.startswith("http")]
    assert link.split("?")[1] == "mask=causal&at=2.5"


def test_csv_is_the_map_in_focus(explore: Explore) -> None:
    explore.open(s=FORMULAS, at="2.5")
    run = explore.shows(FORMULAS)
    explore.page.get_by_role("button", name="About this picture").click()
    text = download(explore, "This map, CSV").decode("utf-8-sig")
    head, *rows = csv.reader(io.StringIO(text))
    quoted = [f"'{token}" if token[0] in "=+-@" else token for token in run.tokens]
    assert quoted != run.tokens
    assert head == ["layer 2 head 5: query / key", *quoted]
    assert [row[0] for row in rows] == quoted
    assert np.array_equal(np.array([row[1:] for row in rows], np.float32), run.weights[2, 5].numpy())


def test_npz_holds_every_map_and_no_pickle(explore: Explore) -> None:
    explore.open(off=["L0 H1"])
    run = explore.shows(heads_off=((0, 1),))
    explore.page.get_by_role("button", name="About this picture").click()
    with np.load(io.BytesIO(download(explore, "All maps, NPZ")), allow_pickle=False) as arrays:
        assert np.array_equal(arrays["weights"], run.weights.cpu().numpy())
        assert np.array_equal(arrays["hidden"], run.hidden.cpu().numpy())
        assert arrays["weights"].dtype == np.float32
        assert arrays["tokens"].tolist() == run.tokens
        assert arrays["ids"].tolist() == run.ids
