"""A run as one HTML file, and modules as one script."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from mha_core import Model, Run
from mha_core.errors import HeadlightError, SizeError
from mha_core.show import standalone
from mha_core.show.modules import script

ODD = ['"', ",", "a\nb", "😀", "=cmd", "</script>", "<!--"]


def unpacked(message: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack_from("<I", message)
    return json.loads(message[4 : 4 + length]), message[4 + length :]


def contents(page: str) -> tuple[dict[str, Any], np.ndarray[Any, Any], dict[str, Any], np.ndarray[Any, Any]]:
    """What a file says and its float32 maps, then what its maps say and their bytes."""
    block = re.search(r'id="headlight-run">([^<]*)<', page)
    assert block
    parts, body = unpacked(zlib.decompress(base64.b64decode(block[1])))
    length = parts["parts"][0]
    said, floats = unpacked(body[:length])
    named, maps = unpacked(body[length:])
    return said, np.frombuffer(floats, np.float32), named, np.frombuffer(maps, np.uint8)


@pytest.fixture(scope="module")
def run(minilm: Model) -> Run:
    return minilm.run("The animal didn't cross the street because it was too tired")


def test_the_file_holds_the_runs_numbers(run: Run) -> None:
    said, floats, named, maps = contents(standalone(run, layer=3, head=1, row=10))
    n = len(run.tokens)
    assert named["tokens"] == run.tokens
    assert [3, 1] in said["exact"]
    wanted = torch.stack([run.weights[layer, head] for layer, head in said["exact"]])
    assert np.array_equal(floats.reshape(-1, n, n), wanted.numpy())
    assert np.abs(maps.reshape(run.weights.shape) / 255 - run.weights.numpy()).max() <= 1 / 510 + 1e-6


@pytest.mark.parametrize("words", [0, 13, 62, 120])
def test_a_file_stays_small(minilm: Model, words: int) -> None:
    run = minilm.run(" ".join(["cat"] * words))
    page = standalone(run)
    assert len(page.encode()) <= 60_000 + 1.5 * run.weights.numel()


def test_odd_tokens_survive_and_end_nothing(run: Run) -> None:
    tokens = (ODD * 3)[: len(run.tokens)]
    page = standalone(replace(run, tokens=tokens), title="</title><script>x")
    assert contents(page)[2]["tokens"] == tokens
    assert page.count("<script") == 3
    assert "</title><script>x" not in page


@pytest.mark.parametrize("place", [{"layer": 6}, {"head": -1}, {"row": 15}])
def test_what_is_not_there_is_an_error(run: Run, place: dict[str, Any]) -> None:
    with pytest.raises(SizeError, match=f"{next(iter(place))}=.* is not there; this run has"):
        standalone(run, **place)


def test_a_link_that_is_no_address_is_left_out(run: Run) -> None:
    assert contents(standalone(run, link="javascript:alert(1)"))[0]["link"] == ""
    assert contents(standalone(run, link="http://x.example/?s=a"))[0]["link"] == "http://x.example/?s=a"


def test_modules_become_one() -> None:
    files = {
        "a.js": 'import { one as first, two } from "./b.js";\n// a\nexport const sum = first + two;\n',
        "b.js": "export const one = 1;\nexport function two() {\n  return 2;\n}\nconst hidden = 3;\n",
    }
    made = script("a.js", files)
    assert made.index("$b_js") < made.index("$a_js")
    assert "const { one: first, two } = $b_js;" in made
    assert made.endswith("export const { sum } = $a_js;\n")
    assert not re.search(r"//|^import", made, re.MULTILINE)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a.js": 'import b from "./b.js";\n'}, "a.js cannot become part of one script"),
        (
            {"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'},
            "modules import each other",
        ),
    ],
)
def test_another_style_is_an_error(files: dict[str, str], sentence: str) -> None:
    with pytest.raises(HeadlightError, match=sentence):
        script("a.js", files)
