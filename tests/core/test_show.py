"""A run as one HTML file, and modules as one script."""

from __future__ import annotations

import base64
import html
import json
import re
import struct
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from mha_core import Model, Run, masks
from mha_core.errors import HeadlightError, SizeError
from mha_core.models.changes import Changes
from mha_core.positions import Rotary
from mha_core.show import standalone
from mha_core.show.cells import write_cells
from mha_core.show.html import check_size
from mha_core.show.modules import script, scripts

from .conftest import TIRED
from .runs import TINY, trained

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
    return minilm.run(TIRED)


def test_the_file_holds_the_runs_numbers(run: Run) -> None:
    said, floats, named, maps = contents(standalone(run, layer=3, head=1, row=10))
    n = len(run.tokens)
    assert named["tokens"] == run.tokens
    assert [3, 1] in said["exact"]
    wanted = torch.stack([run.weights[layer, head] for layer, head in said["exact"]])
    assert np.array_equal(floats.reshape(-1, n, n), wanted.numpy())
    assert np.abs(maps.reshape(run.weights.shape) / 255 - run.weights.numpy()).max() <= 1 / 510 + 1e-6


def is_small(run: Run, **place: Any) -> bool:
    return len(standalone(run, **place).encode()) <= 60_000 + 1.5 * run.weights.numel()


@pytest.mark.parametrize("words", [0, 1, 13, 30, 62, 120, 510])
def test_a_file_stays_small(minilm: Model, words: int) -> None:
    assert is_small(minilm.run(" ".join(["cat"] * words)))
    assert is_small(minilm.run(" ".join((TIRED.split() * 50)[: min(words, 400)]), mask="causal"), layer=5, head=11)


def test_a_file_of_any_model_stays_small(writer: Model) -> None:
    for words in (1, 30):
        assert is_small(writer.run(" ".join(["Paris"] * words)), layer=29)
    assert is_small(trained(TINY).model().run("the cat"))


@pytest.mark.parametrize("shape", [(1, 1, 300), (1, 12, 90), (2, 2, 100), (6, 12, 3), (6, 12, 40), (30, 9, 70)])
def test_what_cannot_be_packed_stays_small_and_holds_as_many_heads(run: Run, shape: tuple[int, int, int]) -> None:
    """How much is exact follows from the number of weights alone: the same for noise as for nothing."""
    layers, heads, n = shape
    generator = torch.Generator().manual_seed(1)
    noise = torch.rand(layers, heads, n, n, generator=generator)
    exact = []
    for weights in (noise, torch.zeros_like(noise)):
        made = replace(run, tokens=["word"] * n, weights=weights)
        assert is_small(made, layer=layers - 1, head=heads - 1)
        exact.append(contents(standalone(made, layer=layers - 1, head=heads - 1))[0]["exact"])
    assert exact[0] == exact[1]
    order = [(at != layers - 1, head != heads - 1) for at, head in exact[0]]
    assert order == sorted(order, key=lambda far: (far[0], far[1] and not far[0]))  # the head in focus, its layer
    if n < 10:
        assert len(exact[0]) == layers * heads


@pytest.fixture
def packed(run: Run, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is packed from now on; the view itself is packed already."""
    standalone(run)
    sizes, compress = list[int](), zlib.compress

    def counted(content: bytes, *args: Any) -> bytes:
        sizes.append(len(content))
        return compress(content, *args)

    monkeypatch.setattr("mha_core.show.html.zlib.compress", counted)
    return sizes


@pytest.mark.parametrize("words", [0, 13, 62, 200])
def test_a_file_is_packed_once(minilm: Model, packed: list[int], words: int) -> None:
    run = minilm.run(" ".join(["cat"] * words))
    said, floats, *_ = contents(standalone(run))
    assert len(packed) == 1
    (length,) = packed
    assert length < 1.2 * run.weights.numel() + floats.nbytes + 20_000  # and nothing beside it
    assert len(said["exact"]) * (words + 2) ** 2 == len(floats)


def test_more_weights_than_a_file_holds_are_refused_before_anything_is_packed(run: Run, packed: list[int]) -> None:
    allowed = 20_000_000
    for layers, heads, n in ((30, 9, 512), (1, 1, 4473), (30, 9, 273)):
        weights = torch.zeros(1, 1, 1, 1).expand(layers, heads, n, n)
        with pytest.raises(SizeError) as refused:
            standalone(replace(run, tokens=["word"] * n, weights=weights))
        least = int((allowed / (layers * heads)) ** 0.5)
        assert str(refused.value) == (
            f"{layers * heads} heads of {n} tokens have {layers * heads * n * n:,} weights, an HTML file holds at most "
            f"20,000,000; shorten the text to {least} tokens"
        )
        check_size(layers * heads, least)
    assert packed == []
    check_size(72, 512)  # MiniLM's longest sentence


SWITCHES: list[tuple[dict[str, Any], str]] = [
    ({}, "nothing changed"),
    ({"mask": "causal"}, "mask causal"),
    ({"mask": "causal & window:3"}, "mask causal & window 3"),
    ({"mask": masks.causal}, "mask causal"),
    ({"mask": masks.full}, "nothing changed"),
    ({"mask": masks.window(2)}, "a mask given as a rule"),
    ({"mask": torch.ones(12, 15, 15).tril().bool()}, "a mask given as a tensor"),
    ({"position": "none"}, "no positions"),
    ({"position": "scaled:0.5"}, "halved positions (this model was not trained for them)"),
    ({"position": Rotary(32)}, "Rotary positions (this model was not trained for them)"),
    ({"temperature": 2.5}, "temperature 2.5"),
    ({"heads_off": iter([(3, 1)])}, "1 head off"),
    ({"heads_off": [(5, 0), (0, 2), (5, 0)]}, "2 heads off"),
    ({"values_off": iter([0, 2, 400])}, "without the value of “[CLS]” and “animal”"),
    (
        {"mask": "unseen:0", "position": "rotary", "temperature": 2, "heads_off": [(0, 0)], "values_off": (1,)},
        "mask unseen 0, rotary positions (this model was not trained for them), temperature 2, 1 head off, "
        "without the value of “the”",
    ),
]


@pytest.mark.parametrize(("switches", "sentence"), SWITCHES, ids=[sentence for _, sentence in SWITCHES])
def test_a_file_says_what_the_run_changed(minilm: Model, switches: dict[str, Any], sentence: str) -> None:
    """The words, the heads that are off and the blocked cells; those are just the ones without a weight."""
    run = minilm.run(TIRED, **switches)
    page = standalone(run)
    said = contents(page)[0]
    assert (run.changes.said, said["changed"]) == (sentence, sentence)
    assert f" · {html.escape(sentence)}</title>" in page
    assert said["off"] == [f"{layer}.{head}" for layer, head in run.changes.heads_off]
    blocked = (run.weights == 0).all(dim=0)  # (h, i, j)
    assert blocked.any() == bool(said["forbidden"])
    for head, own in enumerate(blocked if said["forbidden"] else []):
        assert said["forbidden"][head if len(said["forbidden"]) > 1 else 0] == write_cells(own)


def test_of_several_runs_each_says_what_is_blocked_in_it(minilm: Model) -> None:
    texts = ["how are you", TIRED]
    for mask_padding in (True, False):
        for run in minilm.run_batch(texts, mask="causal", heads_off=[(1, 2)], mask_padding=mask_padding):
            n = len(run.tokens)
            assert run.changes.said == "mask causal, 1 head off"
            assert run.changes.heads_off == ((1, 2),)
            assert run.changes.allow is not None
            assert torch.equal(run.changes.allow, torch.ones(1, n, n).tril().bool())
    padded, _ = minilm.run_batch(texts)
    assert padded.changes == Changes()  # the padding is cut off, and with it all that was blocked


def test_a_models_own_mask_is_told_and_hatched(writer: Model) -> None:
    run = writer.run("how are you", temperature=2)
    said = contents(standalone(run))[0]
    assert said["changed"] == "temperature 2, causal mask: built in"
    assert said["forbidden"] == [write_cells(torch.ones(3, 3).triu(1).bool())]


def test_the_caller_may_say_what_is_changed(run: Run) -> None:
    page = standalone(run, title="a <b>", changed="painted & more")
    assert contents(page)[0]["changed"] == "painted & more"
    assert "<title>a &lt;b&gt; · painted &amp; more</title>" in page


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
        "up/a.js": 'import { one as first, two } from "../low/b.js";\n'
        'import css from "./a.css" with { type: "css" };\n'
        "// a\nexport const sum = first + two;\nexport const where = [css, import.meta.url];\n",
        "up/a.css": '.a::after { content: "`${\\\\"; }\n',
        "low/b.js": "export const one = 1;\nexport function two() {\n  return 2;\n}\nconst hidden = 3;\n",
    }
    made = script("up/a.js", files)
    for name in files:
        assert made.count(f"const ${re.sub('[/.]', '_', name)} = once(") == 1
    assert "const { one: first, two } = $low_b_js();" in made
    assert "const css = $up_a_css();" in made
    assert json.dumps(files["up/a.css"].replace("; }\n", "}")) in made  # all of it but what closes a rule
    assert 'new URL("up/a.js", import.meta.url)' in made
    assert made.endswith("export const { sum, where } = $up_a_js();\n")
    assert not re.search(r"// a|^import|^export (?!const { sum)", made, re.MULTILINE)
    assert scripts(["up/a.js", "low/b.js"], files).partition("const modules")[0] == made.rpartition("export")[0]


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
