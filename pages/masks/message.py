"""What the painter is told of a mask and its weights, by the wire: the answer to a link."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict
from urllib.parse import urlencode

from headlight.link import mask_codec, rules
from headlight.link.fields import FIELDS, MASKS, SIDE_KEYS
from headlight.link.limits import MAX_PAINTED, MAX_PAINTED_LENGTH, check_length
from headlight.link.place import Cursor
from headlight.link.presets import PRESETS
from headlight.link.rules import DrawnRule
from headlight.picture import means, pictures, words
from headlight.picture.link_query import LinkQuery, PictureAnswer, picture_payload
from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.registry import recordings, source_of
from headlight.ui import sheet
from headlight.ui.numbers import count
from headlight.ui.sheet import Block
from mha_core.errors import HeadlightError
from mha_core.show.packing import pack_focus, pack_parts

from . import effects, meaning, padding

# of the link, that the view owns; its mask is always said: what a bare address shows is another one than none
KEYS = ("s", *(key for key in SIDE_KEYS if key != "mask"), "at", "look", "pad", "model", "dev")
# while nothing is chosen, a mask that changes something, so that there is something to see
MASK = "causal"
OF_CAUSAL = "window"  # of a model whose own mask is causal
BARE = {"s": PRESETS[2], "mask": MASK}  # of the address without a query: few words, so that every number has room
# The keys of a link that say a rule; what is painted has `on` and `p`, and stays in the link while it is not in use.
RULE = tuple(dict.fromkeys(["mask", *(key for numbers in MASKS.values() for key in numbers), "rule"]))
Link = dict[str, str]  # the keys of a mask and their values; those of `RULE` that are not in it leave the link


class MaskNumber(TypedDict):
    key: str  # in the link
    name: str
    label: str  # what it does
    value: int
    ends: tuple[float, float]


class Card(DrawnRule):
    clicks: dict[str, Link | None]  # what a click does -> what the link then says of the mask
    meaning: str  # in a sentence
    numbers: list[MaskNumber]


class Masks(PictureAnswer):
    tokens: list[str]
    columns: list[str] | None  # what they look at, where that is others than themselves
    rule: str
    painted: str
    meaning: str  # of the mask in use, in a sentence
    base: str  # cells that the rule forbids, as text
    own: str  # cells that the model itself forbids
    forbidden: list[str]
    forbiddenBefore: list[str]
    ruleKeys: Sequence[str]  # the keys of a link that say a rule
    most: int  # tokens that can be painted
    longest: int  # characters of a painting
    without: str
    typed: str  # the sentence of the picture
    label: str
    look: str  # whether it is of a head or a mean, as in the link
    cards: list[Card]
    sums: str
    begins: dict[str, str]  # what is shown beside what the link says, by key


class MaskOutcomes(TypedDict):
    mask: list[Block]
    padding: list[Block]  # of the second sentence in the batch
    refusal: str  # why it cannot be used: then the usual one is


def masked(raw: bytes) -> bytes:
    """The answer to a query: what is said of the mask, and the weights (i, j) of the head in focus before and after.

    A bare address shows `BARE`; where a link says anything of the picture, no mask is none. Raises a HeadlightError.
    """
    return _message(raw, {} if any(key != "big" for key, _ in LinkQuery(raw).pairs) else dict(BARE))


def entered(raw: bytes) -> bytes:
    """The same for who comes from another page, where no mask was chosen. Raises a HeadlightError."""
    query = LinkQuery(raw)
    return _message(
        raw, {} if "mask" in query.fixed else {"mask": OF_CAUSAL if query.model.own_mask == "causal" else MASK}
    )


def first(raw: bytes) -> bytes:
    """What a page begins with: as `masked`, of a sentence that is not too long for that. Raises a HeadlightError."""
    pictures.fits_at_first(LinkQuery(raw).fitted_settings()[0])
    return masked(raw)


def outcomes(raw: bytes) -> bytes:
    """Return the effects of the mask and of padding in a batch with a second sentence: blocks of sheets, as JSON."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    if "mask" in query.fixed:
        return json.dumps(MaskOutcomes(mask=[], padding=[], refusal="")).encode()
    at = query.at.on(pictures.tokens(settings), goes_on=source_of(settings.model).is_generative)
    padded, refusal = _padding(query, settings)
    said: list[Block] = []
    if pictures.picture(settings).run.columns is None:
        said.append(sheet.text(effects.renormalised(settings, at)))
    if "steps" not in query.fixed:
        said += effects.empty_rows(settings, at)
    return json.dumps(MaskOutcomes(mask=said, padding=padded, refusal=refusal)).encode()


def _padding(query: LinkQuery, settings: Settings) -> tuple[list[Block], str]:
    """Return the effect of padding on the second sentence, and why the default one is used instead, or ""."""
    if "batch" in query.fixed:
        return [sheet.text(query.fixed["batch"])], ""
    try:
        check_length(query["pad"])
        return padding.blocks(settings, query["pad"]), ""
    except HeadlightError as error:
        return padding.blocks(settings, query.default("pad")), words.sentence(error)


def _message(raw: bytes, begins: dict[str, str]) -> bytes:
    """As `masked`; `begins`: what is shown beside what the query says."""
    query = LinkQuery(b"&".join(part for part in (raw, urlencode(begins).encode()) if part))
    recordings.refuse(query.model)
    settings, left_out = query.fitted_settings()
    unmasked, picture = pictures.compute_pair(before(settings), settings)
    at = query.place(picture.run.tokens, picture.run.columns)
    runs = [unmasked.run, picture.run]
    heads = means.heads_of(query.look, at, *query.sizes)
    weights = [means.map_of(run.weights, at, heads) for run in runs]
    fixed = "mask" in query.fixed
    of_runs = [said for run in runs for said in run.notices]
    notices = [*left_out, *of_runs, *words.of_no_words(query.model), *([query.fixed["mask"]] if fixed else [])]
    place = f"Layer {at.layer}, head {at.head}" if heads is None else f"Mean over {count(len(heads), 'head')}"
    model, tokens, other = picture.model, picture.run.tokens, before(settings)
    own, (n, n_heads), keys = model.own_mask, (len(tokens), model.sizes.n_heads), picture.run.weights.shape[-1]
    header: Masks = {
        **picture_payload(
            query, KEYS, at, settings.digest, notices, s=settings.text, rule=settings.mask, on=settings.mask
        ),
        "tokens": tokens,
        "columns": picture.run.columns,
        "rule": settings.mask,
        "painted": settings.painted,
        "meaning": meaning.painted_on(settings.mask, own) if settings.painted else meaning.of_rule(settings.mask, own),
        "base": mask_codec.forbidden(settings.mask, "", n, n_heads)[0],
        "own": mask_codec.forbidden(own, "", n, n_heads)[0],
        "forbidden": settings.forbidden_cells(model, n, keys),
        "forbiddenBefore": other.forbidden_cells(model, n, keys),
        "ruleKeys": RULE,
        "most": MAX_PAINTED,
        "longest": MAX_PAINTED_LENGTH,
        "without": _without(other.mask, own),
        "typed": settings.text,
        "label": f"{place}, {words.label(settings, model)}, {model.origin} weights",
        "look": str(query.look),
        "cards": [] if fixed else _cards(picture, at, *_kept(query, n)),
        "sums": effects.sums_in_words(weights[1]),
        "begins": begins,
    }
    return pack_parts(pack_focus(header, *weights))


def before(settings: Settings) -> Settings:
    """Return the settings to compare with: the rule alone where cells are painted, otherwise no mask."""
    return settings.without_painting if settings.painted else replace(settings, mask="none")


def _cards(picture: Picture, at: Cursor, beneath: str, painted: str) -> list[Card]:
    """The gallery, each card with what a click on it makes of the link."""
    rule, heads, own = picture.settings.mask, picture.model.sizes.n_heads, picture.model.own_mask
    cards = rules.gallery(picture.run.tokens, heads, at.head, rule, beneath, painted, own)
    return [
        {
            **card,
            "clicks": _clicks(card, rule),
            "meaning": meaning.of_card(card, own),
            "numbers": [] if card["painted"] else _numbers(card["rule"]),
        }
        for card in cards
    ]


def _clicks(card: DrawnRule, now: str) -> dict[str, Link | None]:
    """What a click can do, "use" or one of `rules.JOINS` -> what the link then says.

    Args:
        now: the rule in use, which the card's rule is joined to; only rules can be joined.

    Returns:
        nothing for a card that cannot be used; None where the joined rule would be longer than a rule may be.
    """
    if card["why_not"]:
        return {}
    found: dict[str, Link | None] = {"use": _click(card["rule"], card["painted"])}
    if not card["painted"]:
        for join in rules.JOINS:
            rule = rules.joined(now, join, card["rule"])
            found[join] = None if rule is None else _click(rule)
    return found


def _click(rule: str, painted: str = "") -> Link:
    return {key: str(value) for key, value in rules.controls_of(rule, painted).items()}


def _without(rule: str, built_in: str) -> str:
    """What the weights are compared with, in words."""
    if rule != "none":
        return f"{rule} alone"
    return "no mask" if built_in == "none" else "its own mask alone"


def _numbers(rule: str) -> list[MaskNumber]:
    """The numbers that a rule takes, each with its key in the link, its name and what it does, and its ends."""
    kind, *values = rule.split(":")
    return [
        {"key": key, "name": FIELDS[key].label, "label": label, "value": int(value), "ends": FIELDS[key].range}
        for (key, label), value in zip(MASKS.get(kind, {}).items(), values, strict=False)
    ]


def _kept(query: LinkQuery, n: int) -> tuple[str, str]:
    """The rule that is painted on and what is painted on it, in use or not, as far as it is for so many tokens."""
    on, text = query["on"], mask_codec.usable(query["p"], query.sizes[1]) or ""
    return on if rules.usable(on) else "none", text if text and mask_codec.tokens_of(text) == n else ""
