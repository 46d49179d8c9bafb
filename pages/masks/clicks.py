"""What the link says of the mask after a click on a card of the gallery."""

from pages.kit.picture import rules
from pages.kit.picture.fields import MASKS
from pages.kit.picture.rules import DrawnRule

# The keys of a link that say a rule; what is painted has `on` and `p`, and stays in the link while it is not in use.
RULE = tuple(dict.fromkeys(["mask", *(key for numbers in MASKS.values() for key in numbers), "rule"]))

Link = dict[str, str]  # the keys of a mask and their values; those of `RULE` that are not in it leave the link


def clicks(card: DrawnRule, now: str) -> dict[str, Link | None]:
    """What a click can do, "use" or one of `rules.JOINS` -> what the link then says.

    Args:
        now: the rule in use, which the card's rule is joined to; only rules can be joined.

    Returns:
        nothing for a card that cannot be used; None where the joined rule would be longer than a rule may be.
    """
    if card["why_not"]:
        return {}
    found: dict[str, Link | None] = {"use": _link(card["rule"], card["painted"])}
    if not card["painted"]:
        for join in rules.JOINS:
            rule = rules.joined(now, join, card["rule"])
            found[join] = None if rule is None else _link(rule)
    return found


def _link(rule: str, painted: str = "") -> Link:
    return {key: str(value) for key, value in rules.controls_of(rule, painted).items()}
