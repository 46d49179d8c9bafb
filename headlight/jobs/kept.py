"""What the store knows of a visit: the names of its runs and of its data, by which another server takes it up."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headlight.server import store
from mha_core.errors import HeadlightError

FORMAT = "headlight visit 1"
MOST_NAMES = 200  # of runs; the newest


@dataclass(frozen=True)
class KeptNames:
    """Names of the store: of runs in the order in which they were made, and of data by their kinds."""

    runs: list[str] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)


def read(visit: str) -> KeptNames:
    """What is known of a visit; nothing of one that is not there.

    Raises:
        HeadlightError: what is there cannot be read.
    """
    content = store.read("visit", visit)
    if content is None:
        return KeptNames()
    try:
        said = json.loads(content)
        kept = KeptNames([*said["runs"]][-MOST_NAMES:], {**said["data"]})
        if said["format"] != FORMAT or not all(map(store.NAME.fullmatch, [*kept.runs, *kept.data.values()])):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise HeadlightError("another version of Headlight keeps what was trained here, or it is damaged") from None
    return kept


def add(visit: str, runs: Iterable[str], data: Mapping[str, str]) -> None:
    """Adds to what is known; runs that are gone go. Another server may have added some meanwhile, for another tab.

    Raises:
        HeadlightError: as of `read`, or it cannot be written.
    """
    known = read(visit)
    there = [run for run in dict.fromkeys([*known.runs, *runs]) if store.has("model", run)]
    wanted = KeptNames(there, {**known.data, **data})
    if wanted != known and there:
        said = {"format": FORMAT, "runs": wanted.runs, "data": wanted.data}
        store.keep("visit", json.dumps(said).encode(), visit)
