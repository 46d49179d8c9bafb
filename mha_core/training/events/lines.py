"""Events as lines of JSON, and back; a line may come from a stranger, so every field is checked."""

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_type_hints

from ...errors import HeadlightError
from ..recipe import Recipe
from ..typed import fits
from .kinds import End, Evaluation, Event, Snapshot, Start, Step

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
        unfit = [name for name, value in vars(event).items() if not fits(value, hints[name])]
        if unfit:
            raise TypeError(", ".join(unfit))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _no_event(error) from error
    return event


def _no_event(error: Exception) -> HeadlightError:
    return HeadlightError(f"this is no event of a training run ({type(error).__name__}: {error!s:.80})")
