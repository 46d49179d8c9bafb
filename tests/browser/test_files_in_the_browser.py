"""Files that the browser makes: tables with any label in them, and what cannot be drawn."""

from __future__ import annotations

import base64
import csv
import io

import numpy as np
import pytest
from playwright.sync_api import Error

from pages.kit.draw.web import PREFIX

from .modules import Modules

LABELS = ['"', ",", "a\nb", "😀", "=cmd", "-1", "@x", "[CLS]", "é"]
VALUES = np.array([0.1, -0.0, 1e-30, 3.4028235e38, np.inf, -np.inf, np.nan, 1 / 3, 123456.789], np.float32)
AS_TEXT = "btoa(String.fromCharCode(...m.{}([{{ ...row, values: Float32Array.from(row.values.map(Number)) }}])))"


def made(modules: Modules, function: str) -> bytes:
    spelled = [str(value).replace("inf", "Infinity").replace("nan", "NaN") for value in VALUES.astype(float)]
    table = {"name": "=a map", "rows": LABELS, "cols": ["=1+1"], "values": spelled}
    return base64.b64decode(modules.one("files/numbers_file.js", table, AS_TEXT.format(function)))


def test_csv_survives_any_label(modules: Modules) -> None:
    head, *rows = csv.reader(io.StringIO(made(modules, "csvOf").decode("utf-8-sig"), newline=""))
    assert head == ["'=a map", "'=1+1"]
    assert [row[0] for row in rows] == [f"'{text}" if text[0] in "=+-@" else text for text in LABELS]
    assert np.array_equal(np.array([row[1] for row in rows], np.float32), VALUES, equal_nan=True)


def test_npz_is_numpys(modules: Modules) -> None:
    with np.load(io.BytesIO(made(modules, "npzOf")), allow_pickle=False) as arrays:
        assert arrays["a_map"].dtype == np.float32
        assert np.array_equal(arrays["a_map"][:, 0], VALUES, equal_nan=True)
        assert arrays["a_map_rows"].tolist() == LABELS
        assert arrays["a_map_columns"].tolist() == ["=1+1"]


def test_what_xml_cannot_hold_is_marked(modules: Modules) -> None:
    texts = ["a\tb\nc", "😀", "\x01", "\ud800x", "<b>&"]
    assert modules.each("files/recording.js", texts, "m.asXml(row)") == ["a b c", "😀", "\ufffd", "\ufffdx", "<b>&"]


def test_a_picture_too_large_is_a_sentence(modules: Modules) -> None:
    with pytest.raises(Error, match="This picture is too large to draw as a file"):
        modules.one("files/recording.js", 2**20 + 1, "new m.Recorder().count(row)")
    told = modules.page.evaluate(
        f"""async () => {{
          const m = await import('{PREFIX}/files/picture_file.js');
          const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
          svg.setAttribute('width', '9000');
          return m.pngOf(svg, 1).then(() => "made", (error) => error.message);
        }}"""
    )
    assert told.startswith("This picture is too large to draw as a file")
