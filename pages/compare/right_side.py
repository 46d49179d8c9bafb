"""What the right side begins with for a visitor who comes from another page: the left with one thing changed."""

from typing import Any

from mha_core import Model
from pages.kit.picture import abilities, models
from pages.kit.picture.fields import DEFAULTS, SIDE
from pages.kit.picture.link_query import SHARPER, LinkQuery, in_link

LONGEST_TWICE = 1000  # characters of a painting that a link can hold for both sides
Values = dict[str, Any]  # key of a control of a side, as of the left one -> what it says


def begun(query: LinkQuery) -> dict[str, str | list[str]]:
    """What a link then says of the right side: key -> values, without defaults.

    Nothing where the link says anything of the right side.
    """
    if {f"{key}2" for key in SIDE} & {key for key, _ in query.pairs}:
        return {}
    left = {key: query[key] for key in SIDE}
    right = {f"{key}2": value for key, value in one_change(left, query.model).items()}
    return {key: in_link(value) for key, value in right.items() if value != query.default(key)}


def one_change(left: Values, model: Model) -> Values:
    """The same values but for one: positions, or where the model has none, or the link cannot hold it all, the mask.

    Where neither can be changed it is the temperature.
    """
    right = left if left["mask"] == "painted" else left | {"p": ""}
    fixed = abilities.fixed(model)
    if {"pos", "mask"} <= set(fixed):
        return right | ({} if "t" in fixed else {"t": SHARPER if left["t"] == 1 else 1.0})
    stack = models.stack_of(model)
    no_positions = stack is not None and model.sizes.position == "none" and left["pos"] in ("as trained", "none")
    if not no_positions and "pos" not in fixed and len(right["p"]) <= LONGEST_TWICE:
        return right | {"pos": "none" if left["pos"] == "as trained" else "as trained"}
    other = "window" if model.own_mask == "causal" else "causal"
    return right | {"mask": other if left["mask"] == "none" else "none", "p": "", "on": DEFAULTS["on"]}
