"""The maps of models while they learn, as one message for the browser, which plays them."""

from collections.abc import Sequence
from math import prod
from typing import TypedDict

import streamlit as st
import torch

from headlight.ui.numbers import cut
from headlight.ui.palette import candidate_colour
from mha_core.show import packing
from mha_core.training.events import Snapshot, Start
from pages.frame.view import View

from .curves import Candidate
from .message import HeldFilms

MAX_BYTES = 1_500_000  # of maps in a message
MAX_TOKENS = 64  # of a probe: its first ones; smaller cells cannot be read side by side
MAX_LETTERS = 60  # of a probe's text where it can be chosen
_VISIBLE = {" ": "␣", "\n": "↵", "\t": "⇥"}  # characters that are tokens and cannot be seen


class FilmProbe(TypedDict):
    tokens: list[str]
    columns: list[str] | None  # what the tokens look at, where it is others
    steps: list[int]
    at: int  # where its maps begin


class FilmHeader(TypedDict):
    name: str
    colours: dict[str, str]  # by theme
    layers: int
    heads: int
    causal: bool
    over: bool
    probes: list[FilmProbe]


class FilmsHeader(TypedDict):
    steps: int
    probes: list[str]
    films: list[FilmHeader]
    notes: list[str]


class FilmState(TypedDict):
    wanted: str  # name of the films that are to be shown
    query: str  # that asks for them
    sought: int  # how often a step was asked for in the curves
    step: int  # the last one


VIEW = View("film_view", "film", "train/film.js")


def seek(step: float) -> None:
    """Opens the film at the last look up to this step; a callback."""
    number, _ = st.session_state.get("film_sought", (0, 0))
    st.session_state.update(film_sought=(number + 1, int(step)), film_opens=True, tab="Film")


def is_sought() -> bool:
    """Tells, once, whether a step of the film was just asked for, which stands in another tab."""
    return bool(st.session_state.pop("film_opens", False))


def show(packed: bytes) -> None:
    """Plays packed films; they go over the wire, and only when they have changed. What is looked at the view knows."""
    kept = st.session_state.get("films")
    if kept is None or kept.packed != packed:
        kept = st.session_state["films"] = HeldFilms(packed)
    number, step = st.session_state.get("film_sought", (0, 0))
    VIEW.show(FilmState(wanted=kept.name, query=f"name={kept.name}", sought=number, step=step))


def pack(candidates: Sequence[Candidate]) -> bytes:
    """The films of first seeds: for each probe the maps after every step that was kept, round(255 · weight).

    Above `MAX_BYTES` every second snapshot is left out, as often as it takes; the first and the last one stay. A run
    that has not begun is left out. Equal runs give equal bytes.
    """
    films = [(one, start) for one in candidates if (start := one.histories[0].start)]
    every, maps = _every([_snapshots(one, start) for one, start in films]), list[bytes]()
    listed = [_film(one, start, every, maps) for one, start in films]
    texts = next((start.columns or start.probes for _, start in films if start.probes), [])
    header: FilmsHeader = {
        "steps": max((start.recipe.steps for _, start in films), default=0),
        "probes": [_text(tokens) for tokens in texts],
        "films": listed,
        "notes": _notes([tokens for _, start in films for tokens in start.probes], every),
    }
    return packing.pack(header, *maps)


def _snapshots(candidate: Candidate, start: Start) -> list[list[Snapshot]]:
    """Those of each probe."""
    shots = candidate.histories[0].snapshots
    return [[shot for shot in shots if shot.probe == number] for number in range(len(start.probes))]


def _film(candidate: Candidate, start: Start, every: int, maps: list[bytes]) -> FilmHeader:
    """The header of a film; its maps are added to those of the message."""
    probes = list[FilmProbe]()
    for number, (tokens, shots) in enumerate(zip(start.probes, _snapshots(candidate, start), strict=True)):
        kept, at = [*shots[:-1][::every], *shots[-1:]], sum(map(len, maps))
        maps += [_first_tokens(shot) for shot in kept]
        read = _visible(start.columns[number]) if start.columns else None
        probes.append({"tokens": _visible(tokens), "columns": read, "steps": [shot.step for shot in kept], "at": at})
    return {
        "name": candidate.name,
        "colours": {theme: candidate_colour(candidate.colour, theme) for theme in ("dark", "light")},
        "layers": start.recipe.n_layers,
        "heads": start.recipe.n_heads,
        "causal": not start.columns and not start.classes,
        "over": candidate.histories[0].end is not None,
        "probes": probes,
    }


def _notes(probes: Sequence[Sequence[str]], every: int) -> list[str]:
    notes = ["weights are exact to 1/510"]
    if every > 1:
        notes.append(f"every {'second' if every == 2 else f'{every}th'} snapshot is shown")
    if any(len(tokens) > MAX_TOKENS for tokens in probes):
        notes.append(f"only the first {MAX_TOKENS} tokens of longer texts are shown")
    return notes


def _every(films: Sequence[Sequence[list[Snapshot]]]) -> int:
    """1, 2, 4, …: of how many snapshots one is sent, so that all of them fit."""
    runs = [shots for film in films for shots in film if shots]

    def size(every: int) -> int:
        return sum((1 - (1 - len(run)) // every) * _size(run[0]) for run in runs)

    longest = max(map(len, runs), default=1)
    every = 1
    while every < longest and size(every) > MAX_BYTES:
        every *= 2
    return every


def _size(snapshot: Snapshot) -> int:
    layers, heads, *sides = snapshot.shape
    return layers * heads * prod(min(n, MAX_TOKENS) for n in sides)


def _first_tokens(snapshot: Snapshot) -> bytes:
    """The maps of the first `MAX_TOKENS` tokens."""
    if max(snapshot.shape[-2:]) <= MAX_TOKENS:
        return snapshot.maps
    maps = torch.frombuffer(bytearray(snapshot.maps), dtype=torch.uint8).reshape(snapshot.shape)
    return maps[..., :MAX_TOKENS, :MAX_TOKENS].contiguous().numpy().tobytes()


def _visible(tokens: Sequence[str]) -> list[str]:
    """The first `MAX_TOKENS` tokens, each to be seen."""
    return [_VISIBLE.get(token, token) for token in tokens[:MAX_TOKENS]]


def _text(tokens: Sequence[str]) -> str:
    """The words of a probe, to choose it by."""
    words = [token for token in tokens if token not in ("[CLS]", "[SEP]")]
    by_characters = len(words) == len(tokens) and all(len(word) == 1 for word in words)
    return cut(("" if by_characters else " ").join(words).replace(" ##", ""), MAX_LETTERS)
