"""Share: the link, where the numbers come from, and the numbers to take away."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import torch
from playwright.sync_api import expect

from mha_core.pretrained import MINILM_SHA256

from .explore_page import Explore

FORMULAS = "=1+1 it @ home -x +y"


def download(explore: Explore, name: str) -> bytes:
    with explore.page.expect_download() as waiting:
        explore.page.locator(".take-along").get_by_role("button", name=name, exact=True).click()
    return Path(waiting.value.path()).read_bytes()


def test_about_says_where_the_numbers_come_from_and_gives_them(explore: Explore) -> None:
    import streamlit

    explore.open(s=FORMULAS, mask="causal", off=["L0 H1"], at="2.5")
    run = explore.shows(FORMULAS, mask="causal", heads_off=((0, 1),))
    panel = explore.share()
    panel.get_by_text("How was this computed?").click()
    expect(panel).to_contain_text(MINILM_SHA256)
    expect(panel).to_contain_text("minilm (pretrained weights)")
    expect(panel).to_contain_text(f"torch {torch.__version__}, streamlit {streamlit.__version__}")
    expect(panel).to_contain_text("float32")
    expect(panel).to_contain_text("threads")
    expect(panel).to_contain_text(f"mask causal, 1 head off; {len(run.tokens)} tokens")
    (link,) = [text for text in panel.locator("code").all_text_contents() if text.startswith("http")]
    assert parse_qs(link.split("?")[1]) == explore.query

    head, *rows = csv.reader(io.StringIO(download(explore, "CSV").decode("utf-8-sig")))
    quoted = [f"'{token}" if token[0] in "=+-@" else token for token in run.tokens]
    assert quoted != run.tokens
    assert head == ["layer 2 head 5: query / key", *quoted]
    assert [row[0] for row in rows] == quoted
    assert np.array_equal(np.array([row[1:] for row in rows], np.float32), run.weights[2, 5].numpy())

    with np.load(io.BytesIO(download(explore, "NPZ")), allow_pickle=False) as arrays:
        assert np.array_equal(arrays["weights"], run.weights.cpu().numpy())
        assert np.array_equal(arrays["hidden"], run.hidden.cpu().numpy())
        assert arrays["weights"].dtype == np.float32
        assert arrays["tokens"].tolist() == run.tokens
        assert arrays["ids"].tolist() == run.ids
