"""What Python and JavaScript both know, tried against each other: codecs, messages, colours, numbers as words."""

from __future__ import annotations

from dataclasses import asdict
from itertools import product
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from headlight.lessons.course import course
from headlight.link import mask_codec
from headlight.link.cursor import Cursor, DisplayOptions, parse_at, parse_look
from headlight.link.fields import FIELDS
from headlight.picture.settings import Settings
from headlight.picture.traces import trace_layer
from headlight.ui import numbers, packing
from headlight.ui.palette import PALETTES
from headlight.ui.web import PREFIX
from headlight.website import requests as site_requests
from mha_core import IMPLEMENTATIONS
from mha_core.show.cells import write_cells
from mha_core.show.packing import pack_focus
from pages.explore.head_kinds import word_mask
from pages.shapes.handlers import pack_trace
from pages.shapes.step_names import find
from pages.train import film
from pages.train.curves import Candidate
from tests.closeness import identical, quoted
from tests.pages.test_film import PROBES, filmed

from .modules import Modules, as_text

PLACES = st.none() | st.integers(0, 9999)
HEADS = st.tuples(st.integers(0, 30), st.integers(0, 30))


# ---- painted masks: picture/mask_codec.py and painted.js


@given(st.lists(st.integers(1, 200), min_size=1, max_size=12), st.booleans())
@example([1, 2000, 31, 32, 33], True)
def test_cells_are_written_and_read_alike(modules: Modules, runs: list[int], first: bool) -> None:
    cells = torch.cat([torch.full((length,), (at % 2 == 0) == first) for at, length in enumerate(runs)])
    text = write_cells(cells)
    written = modules.one("link/painted.js", cells.int().tolist(), "m.writeCells(row)")
    read = modules.one("link/painted.js", [text, len(cells)], "[...m.readCells(...row)]")
    assert (written, read) == (text, cells.int().tolist())


@given(
    st.integers(1, 7),
    st.integers(1, 3),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["none", "causal", "window:2", "prefix:2|sinks:1", "dilated:2:2&causal"]),
)
def test_painted_masks_are_written_and_read_and_forbid_alike(
    modules: Modules, n: int, heads: int, share: float, seed: int, rule: str
) -> None:
    flips = torch.rand(heads, n, n, generator=torch.Generator().manual_seed(seed)) < share
    flips[:, 0, : n // 2] = True  # what all heads share goes over once
    text = mask_codec.write_flips(flips)
    cells = flips.flatten(1).int().tolist()
    as_bytes = "row[0].map((own) => Uint8Array.from(own))"
    written = modules.one("link/painted.js", [cells, n], f"m.writeFlips({as_bytes}, row[1])")
    read = modules.one("link/painted.js", [text, n, heads], "m.readFlips(...row).map((own) => [...own])")
    assert (written, read) == (text, cells)
    for painted in ("", text):
        allowed = mask_codec.allow_mask(rule, painted, n, heads).expand(heads, n, n)
        texts = mask_codec.forbidden_cells(rule, painted, n, heads)
        rows = [{"texts": texts, "head": head, "n": n} for head in range(heads)]
        places = "[...Array(row.n ** 2).keys()].map((at) => [Math.floor(at / row.n), at % row.n])"
        forbids = f"{places}.map((at) => m.forbids(row.texts, row.head, row.n)(...at))"
        assert modules.each("link/painted.js", rows, forbids) == (~allowed).flatten(1).tolist()


# ---- the place looked at: picture/place.py and look.js


@given(HEADS, PLACES, PLACES)
def test_a_place_is_written_and_read_alike(
    modules: Modules, head: tuple[int, int], row: int | None, key: int | None
) -> None:
    at = Cursor(*head, row, None if row is None else key)
    assert parse_at(str(at), 31, 31) == at
    assert modules.one("link/look.js", str(at), "m.parseAt(row)") == asdict(at)
    assert modules.one("link/look.js", [asdict(at), row is not None], "m.writeAt(...row)") == str(at)


SWITCHES = ["nospecials", "all", "open", "table", "lines", "sort", "difference", "surprise"]
SWITCHES += ["mean", "meanall", "meanseen", "values", "words", "nofirst", "renorm"]
LOOKS = st.builds(
    DisplayOptions,
    st.sampled_from(["root", "linear", "own"]),
    st.frozensets(st.sampled_from(SWITCHES)),
    st.frozensets(HEADS, max_size=6),
    st.none() | HEADS,
    st.frozensets(st.integers(0, 511), max_size=5).map(lambda keys: tuple(sorted(keys))),
)


@given(LOOKS)
@example(DisplayOptions(hidden=frozenset({(3, 9), (3, 10)})))  # in order of numbers, not of letters
def test_a_look_is_written_and_read_alike(modules: Modules, look: DisplayOptions) -> None:
    assert parse_look(str(look), 31, 31) == look
    as_list = "({ ...m.parseLook(row), hidden: [...m.parseLook(row).hidden] })"
    assert modules.one("link/look.js", str(look), as_list) == {
        "scale": look.scale,
        **{switch: switch in look.switches for switch in SWITCHES},
        "hidden": [f"{layer}.{head}" for layer, head in sorted(look.hidden)],
        "solo": look.solo and f"{look.solo[0]}.{look.solo[1]}",
        "keys": list(look.keys),
    }
    shuffled = "({ ...m.parseLook(row), hidden: new Set([...m.parseLook(row).hidden].reverse()) })"
    assert modules.one("link/look.js", str(look), f"m.writeLook({shuffled})") == str(look)


# ---- messages: draw/packing.py and packets.js, shapes/message.py and tensor.js, train/film.py and film_maps.js


def test_maps_and_which_tokens_are_words_come_back(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "THUMBNAIL", 3)
    layers, heads, n = 2, 3, 9
    weights = torch.rand(layers, heads, n, n, generator=torch.Generator().manual_seed(0)).softmax(-1)
    small = torch.nn.functional.adaptive_max_pool2d(weights, 3)
    every = "[0, 1].map((layer) => [0, 1, 2].map((head) => [...m.mapsOf(m.unpack(bytes(row))).map(layer, head).bytes]))"
    for whole in (True, False):  # or thumbnails of all layers but one
        monkeypatch.setattr(packing, "ALL_LAYERS_UP_TO", 9 if whole else 1)
        packed = as_text(packing.pack_maps(weights, ["a"] * n, "digest", 1))
        unpacked = modules.one("wire/packets.js", packed, every)
        for layer, head in product(range(layers), range(heads)):
            sent = weights if whole or layer == 1 else small
            assert unpacked[layer][head] == (255 * sent[layer, head]).round().int().flatten().tolist(), whole
        pooled = modules.one(
            "wire/packets.js", packed, "[...m.pooled(m.mapsOf(m.unpack(bytes(row))).map(1, 2), 3).bytes]"
        )
        assert pooled == (255 * small[1, 2]).round().int().flatten().tolist(), "both take the largest of each block"

    tokens = ["[CLS]", "[UNK]", "[CLS]", "[x]", "a", "[SEP]"]
    for ends in ((1, 1), (0, 0), (1, 0)):
        packed = as_text(packing.pack_maps(weights[:1, :1, :6, :6], tokens, "digest", 0, ends))
        hidden = "m.specials(maps, { nospecials: true, nofirst: false })"
        words = f"((maps) => [maps.tokens.map((_, at) => m.isWord(maps, at)), {hidden}, m.hasSpecials(maps)])"
        found = modules.one("wire/packets.js", packed, f"{words}(m.mapsOf(m.unpack(bytes(row))))")
        assert found == [word_mask(6, ends).tolist(), list(ends), any(ends)], ends


def test_floats_come_back_and_maps_are_cut_and_pooled_alike(modules: Modules) -> None:
    values = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    for token in ("it", "“é😀”", "</script>"):
        packed = as_text(pack_focus({"token": token}, values[:1], values[1:]))
        unpacked = "(({ header, floats }) => [header.token, [...floats]])(m.unpackFloats(bytes(row)))"
        assert modules.one("wire/packets.js", packed, unpacked) == [token, values.flatten().tolist()]
    as_bytes = "({ size: row.size, bytes: Uint8Array.from(row.bytes) })"
    for size, room, first, last in ((7, 3, 1, 1), (8, 8, 0, 2), (10, 4, 2, 0), (5, 1, 0, 0)):
        cells = np.random.default_rng(size).integers(0, 256, (size, size))
        row = {"size": size, "bytes": cells.flatten().tolist(), "room": room, "first": first, "last": last}
        trimmed = modules.one("wire/packets.js", row, f"[...m.trimmed({as_bytes}, row.first, row.last).bytes]")
        assert trimmed == cells[first : size - last, first : size - last].flatten().tolist(), row
        step = -(-size // room)
        starts = range(0, size, step)
        blocks = [cells[i : i + step, j : j + step].flatten() for i, j in product(starts, starts)]
        for none in (0, 128):
            pooled = modules.one("wire/packets.js", row, f"[...m.pooled({as_bytes}, row.room, {none}).bytes]")
            # of two that lie as far apart the first: where the pool begins with `none`
            assert pooled == [int(block[np.argmax(np.abs(block - none))]) for block in blocks], (row, none)


def test_a_trace_comes_back_and_a_step_of_it_is_found_alike(modules: Modules) -> None:
    layers = {n: trace_layer(Settings("it was too wide", "causal", device="cpu"), 3, n) for n in IMPLEMENTATIONS}
    wanted = sorted({step.name for layer in layers.values() for step in layer.steps} | {"", "nothing", "q.head99"})
    searched = [(text, head) for text in wanted for head in (0, 7)]
    in_order = "{ const list = []; tensor.forEach((at) => list.push(String(tensor.memory[at]))); return list; }"
    for name, layer in layers.items():
        packed = as_text(pack_trace(layer, "q"))
        read = modules.one("shapes/tensor.js", packed, f"m.unpackTrace(bytes(row)).steps.map((tensor) => {in_order})")
        for step, texts in zip(layer.steps, read, strict=True):
            values = [float(text.replace("Infinity", "inf")) for text in texts]
            assert values == step.value.flatten().tolist(), (name, step.name)
        row = {"steps": [{"name": step.name} for step in layer.steps], "searched": searched}
        found = modules.one("shapes/tensor.js", row, "row.searched.map((own) => m.findStep(row.steps, ...own))")
        assert found == [find(layer.steps, text, head) for text, head in searched], name


def test_films_come_back(modules: Modules) -> None:
    histories = [filmed(seed=1), filmed(range(0, 21, 10), layers=1, heads=2, over=False, seed=2)]
    packed = as_text(film.pack([Candidate("one", 0, (run,)) for run in histories]))
    shots = "m.unpackFilms(bytes(row[0])).films[row[1]].shot(row[2], row[3])"
    for number, history in enumerate(histories):
        kept = {(one.step, one.probe): one for one in history.snapshots}
        rows, maps = [], []
        for (step, probe), (layer, head) in product(kept, product(range(2), [None, 0, 1, 3])):
            one = kept[step, probe]
            rows.append([packed, number, {"probe": probe, "layer": layer, "head": head, "table": False}, step])
            of = np.frombuffer(one.maps, np.uint8).reshape(one.shape)
            there = layer < one.shape[0] and (head is None or head < one.shape[1])
            of_heads = slice(None) if head is None else slice(head, head + 1)
            maps.append(of[layer, of_heads].sum(0) / (255 * len(of[layer, of_heads])) if there else None)
        found = modules.each("train/film_maps.js", rows, f"((shot) => shot.absent ? null : [...shot.weights])({shots})")
        for row, weights, wanted in zip(rows, found, maps, strict=True):
            assert (weights is None) == (wanted is None), row[1:]
            if wanted is not None:  # sums of bytes, divided once, as float32
                identical(torch.tensor(weights), torch.tensor(wanted.flatten(), dtype=torch.float32))
    steps = modules.one("train/film_maps.js", packed, "m.unpackFilms(bytes(row)).steps")
    assert steps == [[0, 10, 20, 30, 40]] * len(PROBES)


# ---- colours: draw/palette.py, colour.js and view.css


def test_charts_and_views_have_the_same_colours_which_rise_with_the_weight(modules: Modules) -> None:
    names = ["text", "muted", "line", "less", "none", "more"]
    script = """async ([prefix, names, themes]) => {
      const { inks } = await import(`${prefix}/base/colour.js`);
      const { h } = await import(`${prefix}/base/dom.js`);
      const sheet = await import(`${prefix}/base/view.css`, { with: { type: "css" } });
      document.adoptedStyleSheets = [sheet.default];
      return themes.map((theme) => {
        const view = h("div", { class: "view", "data-theme": theme });
        document.body.append(view);
        const read = inks(view);
        return names.map((name) => read[name]);
      });
    }"""
    wanted = [[own.ink, own.muted, own.line, own.less, own.none, own.more] for own in PALETTES.values()]
    assert modules.page.evaluate(script, [PREFIX, names, list(PALETTES)]) == wanted

    # the colours of a map run from the panel's dark to a light cream, and from white to a deep brown
    pixels = modules.each("base/colour.js", ["dark", "light"], "[...m.palette(row, 'linear', 255)]")
    for theme, ramp in zip(("dark", "light"), pixels, strict=True):
        brightness = [0.299 * (one & 255) + 0.587 * (one >> 8 & 255) + 0.114 * (one >> 16 & 255) for one in ramp]
        steps = np.diff(brightness) if theme == "dark" else -np.diff(brightness)
        assert steps.min() > -0.5, "rounding alone goes back"
        assert steps.sum() > 200


# ---- numbers as words: draw/numbers.py and words.js


def test_numbers_read_alike_and_one_weight_has_one_value_in_every_spelling(modules: Modules) -> None:
    """Near every border of the rules, as float32; no exact halves of a digit, which JavaScript rounds up."""
    borders = np.array([0, 0.00005, 0.005, 0.01, 0.5, 0.99, 0.995, 0.99995, 1], np.float32)
    near = [np.nextafter(borders, np.float32(end)) for end in (-1, 0, 1, 2)] + [borders - 0.001, borders + 0.001]
    floats = np.clip(np.concatenate([borders, *near, np.linspace(0, 1, 997)]), 0, 1).astype(np.float32).tolist()
    weights = [value for value in floats if (value * 200) % 2 != 1]
    cells, readouts, tables, shares = (
        modules.each("base/words.js", weights, each)
        for each in ("m.short(row)", "m.number(row)", "row.toFixed(4)", "m.percent(row)")
    )
    assert readouts == [numbers.weight(value) for value in weights]
    assert cells == [numbers.cell_text(value) for value in weights]
    for weight, cell, read, table, share in zip(weights, cells, readouts, tables, shares, strict=True):
        if weight >= 0.005:
            assert float(cell) == float(read) == float(share.removesuffix(" %")) / 100, (weight, cell, read, share)
            quoted(weight, f"{float(cell):.2f}")
            quoted(weight, table)
    rest = {0: "0 %", 0.000001: "less than 0.1 %", 0.0049: "0.5 %", 0.996: "100 %", 1: "100 %"}
    assert modules.each("base/words.js", list(rest), "m.percent(row)") == list(rest.values())
    # a weight that is known to 1/510 is never said to be 0; what rounds to 1 is, known or not
    known = [byte / 255 for byte in range(2, 256)]
    wanted = ["<0.01", "<0.01", *(numbers.weight(value) for value in known)]
    assert modules.each("train/film_maps.js", [0, 1 / 255, *known], "m.digits(row)") == wanted
    counts = [0, 1, 2, 999, 1000, 123456]
    written = modules.each("base/words.js", counts, "m.counted(row, 'key')")
    assert written == [numbers.count(many, "key") for many in counts]


# ---- the questions that a site has recorded: website/requests.py and requests.js

LINK_KEYS = [*FIELDS, "v", "unknown"]
LINK_TEXTS = st.sampled_from(
    ["none", "1", "minilm", "smollm2", "3.1.10", "linear_all_hide3.1", "renorm_own", "all_words"]
)


@given(
    st.sampled_from(["maps", "focus", "pair", "masks", "steps", "lesson", "overview"]),
    st.lists(st.tuples(st.sampled_from(LINK_KEYS), LINK_TEXTS | st.text(max_size=12)), max_size=8),
)
def test_a_question_has_the_same_form_and_key_in_both(
    modules: Modules, route: str, pairs: list[tuple[str, str]]
) -> None:
    query = urlencode(pairs, errors="replace")
    _compare_questions(modules, [(route, query)])


def test_the_links_of_all_lessons_have_the_same_form_and_key_in_both(modules: Modules) -> None:
    steps = [step for lesson in course().lessons.values() for step in lesson.steps]
    _compare_questions(
        modules, [(route, step.query) for step in steps for route in ("lesson", "maps", "pair", "masks")]
    )


def _compare_questions(modules: Modules, questions: list[tuple[str, str]]) -> None:
    forms = [site_requests.canonical_request(*question) for question in questions]
    rows = [{"route": route, "query": query, "rules": site_requests.RULES} for route, query in questions]
    form = "m.canonicalRequest(row.route, new URLSearchParams(row.query), row.rules)"
    assert modules.each("site/requests.js", rows, form) == forms
    assert modules.each("site/requests.js", forms, "m.indexKey(row)") == list(map(site_requests.index_key, forms))
