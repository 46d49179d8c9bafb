"""The right side: its initial values for a client from another page, and its own model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from headlight.link.cursor import Cursor
from headlight.link.fields import DEFAULTS, SIDE_KEYS
from headlight.picture.link_query import SHARPER_TEMPERATURE, LinkQuery, UnusableText, to_param
from headlight.picture.settings import Settings
from headlight.registry import MINILM, models
from mha_core import Model

MAX_PAINTED_LENGTH_PER_SIDE = 1000  # characters of a painted mask that a link can hold for both sides
Values = dict[str, Any]  # key of the left side's control -> value


@dataclass(frozen=True)
class RightSide:
    """The right side of a link."""

    settings: Settings
    cursor: Cursor | None  # layer and head of another model; None if both sides have one model
    query: LinkQuery  # the query for that model, with the keys of a left side
    notices: Sequence[str]  # the notices on its settings


def from_query(query: LinkQuery, left: Settings) -> RightSide:
    """Return the right side of a query.

    Raises:
        HeadlightError: a value cannot be used.
    """
    other = _other_query(query, left)
    if other is None:
        settings, notices = query.fitted_settings("2", left.text)
        return RightSide(settings, None, query, notices)
    try:
        settings, notices = other.fitted_settings()
    except UnusableText as error:
        is_left = error.key == "s" and not query["s2"]
        raise UnusableText(error.key if is_left else f"{error.key}2", str(error), error.fits) from error
    cursor = other.cursor
    query.unusable.update((f"{key}2", usable) for key, usable in other.unusable.items())
    query.warnings.update((f"{key}2", warning) for key, warning in other.warnings.items())
    return RightSide(settings, cursor, other, notices)


def _other_query(query: LinkQuery, left: Settings) -> LinkQuery | None:
    """Return the right side's controls as a query of its own; None if it has no other model."""
    name = query["model2"]
    if not name or name == query.name:
        return None
    text = query["s2"] or left.text
    controls = [(key[:-1], value) for key, value in query.pairs if key[-1] == "2" and key[:-1] in (*SIDE_KEYS, "at")]
    shared = [(key, value) for key, value in query.pairs if key == "dev"]
    raw = urlencode([*controls, *shared, ("model", name), ("s", text)]).encode()
    other = LinkQuery(raw)
    if other.name == name:
        return other
    query.unusable["model2"] = []
    warning = other.warnings["model"].replace("model=", "model2=")
    query.warnings["model2"] = warning.replace(f"{MINILM} is used", "the left one is used")
    return None


def initial_values(query: LinkQuery) -> dict[str, str | list[str]]:
    """Return the initial values of the right side by key, without defaults; {} if the link has any of its own."""
    if {f"{key}2" for key in (*SIDE_KEYS, "model")} & {key for key, _ in query.pairs}:
        return {}
    left = {key: query[key] for key in SIDE_KEYS}
    right = {f"{key}2": value for key, value in one_change(left, query.model).items()}
    return {key: to_param(value) for key, value in right.items() if value != query.default(key)}


def one_change(left: Values, model: Model) -> Values:
    """Return the values with one change that the model allows: positions, otherwise mask, otherwise temperature.

    The positions are not changed either if a painted mask is too long for a link to hold twice.
    """
    right = left if left["mask"] == "painted" else left | {"p": ""}
    fixed = models.disabled_controls(model)
    if {"pos", "mask"} <= set(fixed):
        return right | ({} if "t" in fixed else {"t": SHARPER_TEMPERATURE if left["t"] == 1 else 1.0})
    stack = model.encoder
    no_positions = stack is not None and model.sizes.position == "none" and left["pos"] in ("as trained", "none")
    if not no_positions and "pos" not in fixed and len(right["p"]) <= MAX_PAINTED_LENGTH_PER_SIDE:
        return right | {"pos": "none" if left["pos"] == "as trained" else "as trained"}
    other = "window" if model.own_mask == "causal" else "causal"
    return right | {"mask": other if left["mask"] == "none" else "none", "p": "", "on": DEFAULTS["on"]}
