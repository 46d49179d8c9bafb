"""The right side: what it begins with for a visitor who comes from another page, and another model on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from headlight.link.fields import DEFAULTS, SIDE_KEYS
from headlight.link.place import Cursor
from headlight.picture.link_query import SHARPER, LinkQuery, Refused, to_param
from headlight.picture.settings import Settings
from headlight.registry import MINILM, models
from mha_core import Model

MAX_PAINTED_LENGTH_PER_SIDE = 1000  # characters of a painting that a link can hold for both sides
Values = dict[str, Any]  # key of a control of a side, as of the left one -> what it says


@dataclass(frozen=True)
class RightSide:
    """What a link says of the right side.

    Attributes:
        at: layer and head of another model; None where both sides have one.
        query: of that model, as of a left side.
        told: what must be said of its settings.
    """

    settings: Settings
    at: Cursor | None
    query: LinkQuery
    told: Sequence[str]


def of(query: LinkQuery, left: Settings) -> RightSide:
    """The right side of a query whose left one is this. Raises Refused."""
    other = _of_other_model(query, left)
    if other is None:
        settings, told = query.fitted_settings("2", left.text)
        return RightSide(settings, None, query, told)
    try:
        settings, told = other.fitted_settings()
    except Refused as error:
        is_left = error.key == "s" and not query["s2"]
        raise Refused(error.key if is_left else f"{error.key}2", str(error), error.fits) from error
    at = other.at
    query.unusable.update((f"{key}2", usable) for key, usable in other.unusable.items())
    query.warnings.update((f"{key}2", said) for key, said in other.warnings.items())
    return RightSide(settings, at, other, told)


def _of_other_model(query: LinkQuery, left: Settings) -> LinkQuery | None:
    """The right side's controls as those of a left one, where it has a model of its own."""
    name = query["model2"]
    if not name or name == query.name:
        return None
    text = query["s2"] or left.text
    controls = [(key[:-1], said) for key, said in query.pairs if key[-1] == "2" and key[:-1] in (*SIDE_KEYS, "at")]
    both = [(key, said) for key, said in query.pairs if key == "dev"]
    raw = urlencode([*controls, *both, ("model", name), ("s", text)]).encode()
    other = LinkQuery(raw)
    if other.name == name:
        return other
    query.unusable["model2"] = []
    said = other.warnings["model"].replace("model=", "model2=")
    query.warnings["model2"] = said.replace(f"{MINILM} is used", "the left one is used")
    return None


def begun(query: LinkQuery) -> dict[str, str | list[str]]:
    """What a link then says of the right side: key -> values, without defaults.

    Nothing where the link says anything of the right side.
    """
    if {f"{key}2" for key in (*SIDE_KEYS, "model")} & {key for key, _ in query.pairs}:
        return {}
    left = {key: query[key] for key in SIDE_KEYS}
    right = {f"{key}2": value for key, value in one_change(left, query.model).items()}
    return {key: to_param(value) for key, value in right.items() if value != query.default(key)}


def one_change(left: Values, model: Model) -> Values:
    """The same values but for one: positions, or where the model has none, or the link cannot hold it all, the mask.

    Where neither can be changed it is the temperature.
    """
    right = left if left["mask"] == "painted" else left | {"p": ""}
    fixed = models.fixed(model)
    if {"pos", "mask"} <= set(fixed):
        return right | ({} if "t" in fixed else {"t": SHARPER if left["t"] == 1 else 1.0})
    stack = model.encoder
    no_positions = stack is not None and model.sizes.position == "none" and left["pos"] in ("as trained", "none")
    if not no_positions and "pos" not in fixed and len(right["p"]) <= MAX_PAINTED_LENGTH_PER_SIDE:
        return right | {"pos": "none" if left["pos"] == "as trained" else "as trained"}
    other = "window" if model.own_mask == "causal" else "causal"
    return right | {"mask": other if left["mask"] == "none" else "none", "p": "", "on": DEFAULTS["on"]}
