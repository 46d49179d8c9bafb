"""The film: every kept map comes back where the header says, the message is bounded, found by its name."""

from __future__ import annotations

import gc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from mha_core.errors import HeadlightError
from mha_core.training.events import End, Event, History, Snapshot, Start
from mha_core.training.recipe import Recipe
from pages.train import film
from pages.train.curves import Candidate
from pages.train.handlers import StoredFilms
from pages.train.handlers import film as asked

from .conftest import unpacked

PROBES = [["[CLS]", "the", "dog", "##s", "[SEP]"], ["[CLS]", "a", "[SEP]"]]


def filmed(
    steps: range = range(0, 41, 10),
    *,
    layers: int = 2,
    heads: int = 4,
    over: bool = True,
    columns: list[list[str]] | None = None,
    seed: int = 0,
) -> History:
    """A run with a snapshot of every probe after each of these steps."""
    recipe = Recipe(steps=40, n_layers=layers, n_heads=heads)
    classes, written = ([], 5) if columns else (["cat", "dog"], 0)
    start = Start(recipe, "t", classes, 8, 4, "f", [], 30, 100, 5, PROBES, {}, "cpu", columns or [], written)
    events: list[Event] = [start]
    generator = torch.Generator().manual_seed(seed)
    for step in steps:
        for number, tokens in enumerate(PROBES):
            shape = [layers, heads, len(tokens), len(columns[number] if columns else tokens)]
            maps = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
            events.append(Snapshot(step, number, shape, maps.numpy().tobytes()))
    if over:
        events.append(End("steps", 40, 0.5))
    return History.from_events(events)


def packed(*histories: History) -> bytes:
    """The message with a film of each of these runs."""
    films = zip("ab", (0, 3), histories, strict=False)
    return film.pack([Candidate(name, colour, (run,)) for name, colour, run in films])


def maps_of(header: dict[str, Any], body: bytes, number: int, probe: int) -> np.ndarray[Any, Any]:
    """The maps (snapshots, layers, h, i, j) of a film, read where its header says."""
    own = header["films"][number]
    part = own["probes"][probe]
    n, wide = len(part["tokens"]), len(part["columns"] or part["tokens"])
    shape = (len(part["steps"]), own["layers"], own["heads"], n, wide)
    return np.frombuffer(body, np.uint8, int(np.prod(shape)), part["offset"]).reshape(shape)


def test_every_map_comes_back_where_the_header_says() -> None:
    read = [["may", "4", ",", "1999"], ["june"]]
    histories = [filmed(seed=1), filmed(range(0, 21, 10), layers=1, heads=2, over=False, columns=read, seed=2)]
    header, body = unpacked(packed(*histories))
    assert (header["steps"], header["probes"]) == (40, ["the dogs", "a"])
    assert [own["name"] for own in header["films"]] == ["a", "b"]
    assert [own["isFinished"] for own in header["films"]] == [True, False]
    assert [probe["columns"] for probe in header["films"][1]["probes"]] == read, "a translation has those that it reads"
    for number, history in enumerate(histories):
        for probe, tokens in enumerate(PROBES):
            assert header["films"][number]["probes"][probe]["tokens"] == tokens
            kept = [one for one in history.snapshots if one.probe == probe]
            assert header["films"][number]["probes"][probe]["steps"] == [one.step for one in kept]
            wanted = np.stack([np.frombuffer(one.maps, np.uint8).reshape(one.shape) for one in kept])
            assert np.array_equal(maps_of(header, body, number, probe), wanted)
    assert len(body) == sum(len(one.maps) for history in histories for one in history.snapshots)


def test_too_many_snapshots_are_thinned_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (10_000, 2_000, 700, 1):
        monkeypatch.setattr(film, "MAX_BYTES", most)
        history = filmed(range(41))
        header, body = unpacked(packed(history))
        steps = header["films"][0]["probes"][0]["steps"]
        assert (steps[0], steps[-1]) == (0, 40), "the first and the last stay"
        assert len(body) <= most or steps == [0, 40], most
        gaps = {after - before for before, after in pairwise(steps[:-1])}
        assert len(gaps) <= 1, most
        if most < len(history.snapshots[0].maps) * 41:
            assert any("snapshot is shown" in note for note in header["notes"]), most


def test_film_is_found_by_name_while_it_is_referenced() -> None:
    kept = StoredFilms(packed(filmed()))
    assert unpacked(asked(f"name={kept.name}".encode()))[0]["parts"] == [len(kept.packed)]
    for raw in (b"", b"name=", b"name=../../etc/passwd", f"name={kept.name}x".encode(), b"name=" + b"a" * 22):
        with pytest.raises(HeadlightError, match="no longer stored"):
            asked(raw)
    name = kept.name
    del kept
    gc.collect()
    with pytest.raises(HeadlightError, match="no longer stored"):
        asked(f"name={name}".encode())
