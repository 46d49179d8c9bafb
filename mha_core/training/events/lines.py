"""Events as lines of JSON, and back; a line may come from a stranger, so every field is checked."""

import base64
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args, get_origin, get_type_hints

from ...errors import HeadlightError
from ..recipe import Recipe
from .kinds import End, Evaluation, Event, Snapshot, Start, Step

LARGEST = 2**53  # of a whole number: beyond, not every one is a float
_HALF = re.compile("[\ud800-\udfff]")  # half a surrogate pair: no character
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Start, Step, Evaluation, Snapshot, End)}
_HINTS = {kind: get_type_hints(kind) for kind in _KINDS.values()}


def to_line(event: Event) -> str:
    """An event as one line of JSON."""
    values = asdict(event)
    if isinstance(event, Snapshot):
        values["maps"] = base64.b64encode(event.maps).decode("ascii")
    return json.dumps({"kind": type(event).__name__, **values})


def from_line(line: str) -> Event:
    """The event of a line of `to_line`.

    Raises:
        HeadlightError: it is none.
    """
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _no_event(error) from error
    return from_values(values)


def from_values(values: Mapping[str, Any]) -> Event:
    """The event of plain values, those of a line of `to_line` after `json.loads`.

    Raises:
        HeadlightError: it is none.
    """
    try:
        values = {**values}
        kind = _KINDS[values.pop("kind")]
        if kind is Start:
            values["recipe"] = Recipe.from_json(values["recipe"])
        if kind is Snapshot:
            values["maps"] = base64.b64decode(values["maps"], validate=True)
        event: Event = kind(**values)
        hints = _HINTS[kind]
        unfit = [name for name, value in vars(event).items() if not _fits(value, hints[name])]
        if unfit:
            raise TypeError(", ".join(unfit))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _no_event(error) from error
    return event


def _no_event(error: Exception) -> HeadlightError:
    return HeadlightError(f"this is no event of a training run ({type(error).__name__}: {error!s:.80})")


def _fits(value: Any, hint: Any) -> bool:
    """True when a value that came from a file is of the type of its field."""
    if hint is int or hint is float:  # first, as nearly every value is a number
        number = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST
        return number or (hint is float and isinstance(value, float) and math.isfinite(value))
    if hint is str:
        return isinstance(value, str) and not _HALF.search(value)
    kind, within = get_origin(hint), get_args(hint)
    if kind is list:
        return isinstance(value, list) and all(_fits(item, within[0]) for item in value)
    if kind is dict:
        return isinstance(value, dict) and all(_fits(part, str) for item in value.items() for part in item)
    if within:  # a union
        return any(_fits(value, alternative) for alternative in within)
    return isinstance(value, hint)
