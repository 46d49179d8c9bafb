"""One claim as blocks: who says it, the question, and once it is answered the verdict with its numbers."""

from urllib.parse import urlencode

from pages.kit.draw import pages, sheet
from pages.kit.draw.numbers import cosine, number, scientific, weight
from pages.kit.draw.sheet import Block

from . import evidence
from .catalog import CLAIMS
from .claim import SHOW, Claim, See
from .rules.verdict import Verdict

WORDS = {"holds": "It holds.", "does not hold": "It does not hold.", "depends": "It depends."}


def panel(name: str, given: str, timed: int) -> Block:
    """The chosen claim.

    Args:
        name: its own, in the link.
        given: the number of the answer, counted from 1; `SHOW`; or "", and nothing is computed.
        timed: another number has times taken anew.
    """
    claim = CLAIMS[name]
    answers = [(answer, {"say": str(at)}, given == str(at)) for at, answer in enumerate(claim.answers, 1)]
    asked = [
        *([sheet.text(claim.about, muted=True)] if claim.about else []),
        sheet.text(claim.question, live=True),
        sheet.buttons("", [*answers, ("compute it without an answer", {"say": SHOW}, given == SHOW)]),
    ]
    found = evidence.verdict(claim.judge, timed if claim.timed else 0) if given else None
    told = _verdict(claim, given, found)
    names = list(CLAIMS)
    behind = names[(names.index(name) + 1) % len(names)]
    again = [("time it again", {"again": True}, None)] if claim.timed and found else []
    after = sheet.buttons("", [*again, ("next claim", {"claim": behind}, None)])
    # one name for all claims: the panel stays, and with it the focus
    return sheet.panel(claim.heading, [*asked, *told, after], claim.source) | {"name": "claim"}


def _verdict(claim: Claim, given: str, found: Verdict | None) -> list[Block]:
    """The verdict; its place is there before, or it would not be read aloud when it comes."""
    if found is None:
        return [sheet.verdict("", "", "")]
    bars = sheet.bars(
        found.unit, [what for what, _ in found.numbers], [value for _, value in found.numbers], most=found.full
    )
    return [
        sheet.verdict(found.result, f"{WORDS[found.result]} {_compared(claim, given, found)}", found.said),
        sheet.row([bars | {"values": [_written(value) for _, value in found.numbers]}, *_map(found)]),
        _link(claim.see),
    ]


def _written(value: float) -> str:
    """Four decimals, which say 1 only of what is 1, and a power of ten for what they would say 0 of."""
    return cosine(value) if 0.5 < value < 1 else scientific(value, 2) if 0 < value < 5e-5 else number(value)


def _compared(claim: Claim, given: str, found: Verdict) -> str:
    """The answer that the tensors give, beside the visitor's."""
    computed = "none of the answers" if found.answer is None else f"“{claim.answers[found.answer]}”"
    if given == SHOW:
        return f"To the question the numbers answer {computed}."
    own = claim.answers[int(given) - 1]
    if found.answer == int(given) - 1:
        return f"You said “{own}”, and so do the numbers."
    return f"You said “{own}”; the numbers say {computed}."


def _map(found: Verdict) -> list[Block]:
    if found.map is None:
        return []
    tokens = list(found.map.tokens)
    return [
        sheet.matrix(
            found.map.name,
            found.map.weights.tolist(),
            rows=tokens,
            cols=tokens,
            colour="weights",
            write=weight,
            compact=True,
        )
    ]


def _link(see: See) -> Block:
    """The page where one sees it, with the values of its link."""
    query = f"?{urlencode(see.link)}" if see.link else ""
    named = pages.PAGES[see.page]
    return sheet.terms("see", [("See it", see.what, f"{pages.path(see.page)}{query}", named.title)])
