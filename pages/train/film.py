"""The attention maps of models during training, packed into one message that the browser plays as a film."""

from collections.abc import Sequence
from itertools import count
from math import prod
from typing import TypedDict

import numpy as np
import streamlit as st

from headlight.ui.numbers import cut
from headlight.ui.palette import candidate_colour
from mha_core.show import packing
from mha_core.training.events import Snapshot, Start
from pages.frame.view import View

from .curves import Candidate
from .handlers import StoredFilms

MAX_BYTES = 1_500_000  # of maps in a message
MAX_TOKENS = 64  # of a probe, from its beginning; with more tokens the cells are too small side by side
MAX_LETTERS = 60  # of a probe's label
_VISIBLE = {" ": "␣", "\n": "↵", "\t": "⇥"}  # for tokens that are whitespace


class FilmProbe(TypedDict):
    """The maps of one probe text."""

    tokens: list[str]
    columns: list[str] | None  # the keys' tokens, if they differ from the queries'
    steps: list[int]
    offset: int  # of its maps in the message's bytes


class FilmHeader(TypedDict):
    """The film of one candidate: its sizes, colours and probes."""

    name: str
    colours: dict[str, str]  # by theme
    layers: int
    heads: int
    causal: bool
    isFinished: bool
    probes: list[FilmProbe]


class FilmsHeader(TypedDict):
    """The header of a message of films."""

    steps: int
    probes: list[str]
    films: list[FilmHeader]
    notes: list[str]


class FilmState(TypedDict):
    """The state that the film view gets from the page."""

    digest: str  # the name of the films, by which they are requested
    clicks: int  # the number of clicks on steps in the curves
    step: int  # of the last click


VIEW = View("film_view", "film", "train/film.js")


def seek(step: float) -> None:
    """Open the film at the last snapshot up to this step; a callback of the curves."""
    number, _ = st.session_state.get("film_sought", (0, 0))
    st.session_state.update(film_sought=(number + 1, int(step)), film_opens=True, tab="Film")


def show(packed: bytes) -> None:
    """Mount the film view with packed films, which the browser fetches only when they have changed."""
    films = st.session_state.get("films")
    if films is None or films.packed != packed:
        films = st.session_state["films"] = StoredFilms(packed)
    number, step = st.session_state.get("film_sought", (0, 0))
    VIEW.show(FilmState(digest=films.name, clicks=number, step=step))


def pack(candidates: Sequence[Candidate]) -> bytes:
    """Pack the films of the candidates' first seeds: for each probe the maps of every snapshot as round(255 · weight).

    Above `MAX_BYTES` only every second, fourth, … snapshot is packed, always with the first and the last one. Runs that
    have not started are omitted. Equal runs give equal bytes.
    """
    films = [(candidate, start) for candidate in candidates if (start := candidate.histories[0].start)]
    stride, maps = _stride([_snapshots(candidate, start) for candidate, start in films]), list[bytes]()
    listed = [_film(candidate, start, stride, maps) for candidate, start in films]
    texts = next((start.columns or start.probes for _, start in films if start.probes), [])
    header: FilmsHeader = {
        "steps": max((start.recipe.steps for _, start in films), default=0),
        "probes": [_text(tokens) for tokens in texts],
        "films": listed,
        "notes": _notes([tokens for _, start in films for tokens in start.probes], stride),
    }
    return packing.pack(header, *maps)


def _snapshots(candidate: Candidate, start: Start) -> list[list[Snapshot]]:
    """Return the snapshots of each probe."""
    shots = candidate.histories[0].snapshots
    return [[shot for shot in shots if shot.probe == number] for number in range(len(start.probes))]


def _film(candidate: Candidate, start: Start, stride: int, maps: list[bytes]) -> FilmHeader:
    """Return the header of a film, and append its maps to `maps`."""
    probes = list[FilmProbe]()
    for number, (tokens, shots) in enumerate(zip(start.probes, _snapshots(candidate, start), strict=True)):
        sent, offset = [*shots[:-1][::stride], *shots[-1:]], sum(map(len, maps))
        maps += [_first_tokens(shot) for shot in sent]
        columns = _visible(start.columns[number]) if start.columns else None
        steps = [shot.step for shot in sent]
        probes.append({"tokens": _visible(tokens), "columns": columns, "steps": steps, "offset": offset})
    return {
        "name": candidate.name,
        "colours": {theme: candidate_colour(candidate.colour, theme) for theme in ("dark", "light")},
        "layers": start.recipe.n_layers,
        "heads": start.recipe.n_heads,
        "causal": not start.columns and not start.classes,
        "isFinished": candidate.histories[0].end is not None,
        "probes": probes,
    }


def _notes(probes: Sequence[Sequence[str]], stride: int) -> list[str]:
    notes = ["weights are exact to 1/510"]
    if stride > 1:
        notes.append(f"every {'second' if stride == 2 else f'{stride}th'} snapshot is shown")
    if any(len(tokens) > MAX_TOKENS for tokens in probes):
        notes.append(f"only the first {MAX_TOKENS} tokens of longer texts are shown")
    return notes


def _stride(films: Sequence[Sequence[list[Snapshot]]]) -> int:
    """Return the smallest power of two so that one of that many snapshots is sent and all of them fit."""
    runs = [(len(shots), _size(shots[0])) for film in films for shots in film if shots]
    max_length = max((length for length, _ in runs), default=1)
    strides = (1 << power for power in count())
    return next(
        n for n in strides if n >= max_length or sum((1 - (1 - m) // n) * size for m, size in runs) <= MAX_BYTES
    )


def _size(snapshot: Snapshot) -> int:
    layers, heads, *sides = snapshot.shape
    return layers * heads * prod(min(n, MAX_TOKENS) for n in sides)


def _first_tokens(snapshot: Snapshot) -> bytes:
    """Return the maps cropped to the first `MAX_TOKENS` tokens."""
    maps = np.frombuffer(snapshot.maps, np.uint8).reshape(snapshot.shape)
    return maps[..., :MAX_TOKENS, :MAX_TOKENS].tobytes()


def _visible(tokens: Sequence[str]) -> list[str]:
    """Return the first `MAX_TOKENS` tokens with whitespace made visible."""
    return [_VISIBLE.get(token, token) for token in tokens[:MAX_TOKENS]]


def _text(tokens: Sequence[str]) -> str:
    """Return the text of a probe, shortened to a label."""
    words = [token for token in tokens if token not in ("[CLS]", "[SEP]")]
    by_characters = len(words) == len(tokens) and all(len(word) == 1 for word in words)
    return cut(("" if by_characters else " ").join(words).replace(" ##", ""), MAX_LETTERS)
