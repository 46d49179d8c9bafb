"""The maps of models while they learn, as one message for the browser, which plays them. No streamlit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from mha_core.training.events import History, Snapshot
from pages.kit.draw.figures import candidate_colour
from pages.kit.draw.packing import pack as packed

__all__ = ["MOST_BYTES", "MOST_LETTERS", "MOST_TOKENS", "Choice", "pack", "parse_choice"]

MOST_BYTES = 1_500_000  # of maps in a message
MOST_TOKENS = 64  # of a probe: its first ones; smaller cells cannot be read side by side
MOST_LETTERS = 60  # of a probe's text where it can be chosen
_SEEN = {" ": "␣", "\n": "↵", "\t": "⇥"}  # characters that are tokens and cannot be seen


@dataclass(frozen=True)
class Choice:
    """What is looked at, all counted from 0: a probe, a layer, a head (None = the mean of the heads), as a table."""

    probe: int = 0
    layer: int = 0
    head: int | None = None
    table: bool = False

    def __str__(self) -> str:
        """As it stands in the link: "1.0.m", "0.1.3.t"."""
        return f"{self.probe}.{self.layer}.{'m' if self.head is None else self.head}{'.t' if self.table else ''}"


def parse_choice(text: str, histories: Sequence[History]) -> Choice | None:
    """The choice of a link, None when none of these runs has such a map."""
    found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})\.(m|\d{1,4})(\.t)?", text, re.ASCII)
    if found is None:
        return None
    probe, layer, head = int(found[1]), int(found[2]), None if found[3] == "m" else int(found[3])
    has = any(
        history.start is not None
        and probe < len(history.start.probes)
        and layer < history.recipe.n_layers
        and (head is None or head < history.recipe.n_heads)
        for history in histories
    )
    return Choice(probe, layer, head, found[4] is not None) if has else None


def pack(
    histories: Sequence[History],
    names: Sequence[str],
    *,
    colours: Sequence[int] | None = None,
    probe: int | None = None,
) -> bytes:
    """The films of these runs: for each probe the maps after every step that was kept, round(255 · weight).

    Above `MOST_BYTES` every second snapshot is left out, as often as it takes; the first and the last one stay.
    Equal runs give equal bytes.

    Args:
        histories: one run for each film; one that has not begun is left out.
        names: what each is called.
        colours: their numbers for `figures.candidate_colour`; default 0, 1, 2, ….
        probe: the only one to be sent; default all.
    """
    numbers = range(len(histories)) if colours is None else colours
    parts: list[bytes] = []
    films = [_Film(history, probe) for history in histories]
    every, notes = _every(films), ["numbers are exact to 1/510"]
    if every > 1:
        notes.append(f"every {_ordinal(every)} snapshot is shown")
    header: dict[str, Any] = {"steps": 0, "probes": [], "films": [], "notes": notes}
    at = 0
    for film, name, number in zip(films, names, numbers, strict=True):
        start = film.history.start
        if start is None:
            continue
        probes: list[dict[str, Any] | None] = []
        for own, tokens in enumerate(start.probes):
            shown = film.snapshots.get(own, [])
            kept = [*shown[:-1][::every], *shown[-1:]]
            if probe is not None and own != probe:
                probes.append(None)
                continue
            probes.append(
                {
                    "tokens": [_SEEN.get(token, token) for token in tokens[:MOST_TOKENS]],
                    "steps": [one.step for one in kept],
                    "at": at,
                }
            )
            for one in kept:
                parts.append(_cut(one))
                at += len(parts[-1])
        header["films"].append(
            {
                "name": name,
                "colours": {theme: candidate_colour(number, theme) for theme in ("dark", "light")},
                "layers": film.history.recipe.n_layers,
                "heads": film.history.recipe.n_heads,
                "causal": not start.classes,
                "step": film.history.step,
                "over": film.history.end is not None,
                "probes": probes,
            }
        )
        header["steps"] = max(header["steps"], film.history.recipe.steps)
        header["probes"] = header["probes"] or [_text(tokens) for tokens in start.probes]
        longest = max(map(len, start.probes), default=0)
        note = f"of longer texts the first {MOST_TOKENS} tokens are shown"
        if longest > MOST_TOKENS and note not in notes:
            notes.append(note)
    return packed(header, *parts)


class _Film:
    """The snapshots of a run as they are now, by probe: the run may go on in another thread."""

    def __init__(self, history: History, probe: int | None) -> None:
        self.history = history
        self.snapshots: dict[int, list[Snapshot]] = {}
        for one in list(history.snapshots):
            if probe is None or one.probe == probe:
                self.snapshots.setdefault(one.probe, []).append(one)


def _every(films: Sequence[_Film]) -> int:
    """1, 2, 4, …: of how many snapshots one is sent, so that all of them fit."""

    def size(every: int) -> int:
        runs = [own for film in films for own in film.snapshots.values()]
        return sum(-(-(len(own) - 1) // every) * _size(own[0]) + _size(own[0]) for own in runs)

    longest = max((len(own) for film in films for own in film.snapshots.values()), default=1)
    every = 1
    while every < longest and size(every) > MOST_BYTES:
        every *= 2
    return every


def _size(one: Snapshot) -> int:
    layers, heads, n, _ = one.shape
    return layers * heads * min(n, MOST_TOKENS) ** 2


def _cut(one: Snapshot) -> bytes:
    """The maps of the first `MOST_TOKENS` tokens."""
    if one.shape[-1] <= MOST_TOKENS:
        return one.maps
    maps = torch.frombuffer(bytearray(one.maps), dtype=torch.uint8).reshape(one.shape)
    return maps[..., :MOST_TOKENS, :MOST_TOKENS].contiguous().numpy().tobytes()


def _text(tokens: Sequence[str]) -> str:
    """The words of a probe, to choose it by."""
    words = [token for token in tokens if token not in ("[CLS]", "[SEP]")]
    by_characters = len(words) == len(tokens) and all(len(word) == 1 for word in words)
    between = "" if by_characters else " "
    text = between.join(words).replace(" ##", "")
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _ordinal(number: int) -> str:
    return {2: "second"}.get(number, f"{number}th")
