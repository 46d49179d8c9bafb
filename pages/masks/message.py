"""Data API handlers of the Masks page: the mask and the weights of a head before and after."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict
from urllib.parse import urlencode

from headlight.link import mask_codec, rules
from headlight.link.cursor import Cursor
from headlight.link.fields import MASKS, SIDE_KEYS
from headlight.link.limits import MAX_PAINTED, MAX_PAINTED_LENGTH, check_length
from headlight.link.presets import PRESETS
from headlight.link.rules import DrawnRule
from headlight.picture import pictures, selected_map, words
from headlight.picture.link_query import LinkQuery, PictureAnswer, picture_payload
from headlight.picture.pictures import Picture
from headlight.picture.settings import Settings
from headlight.registry import get_source, recordings
from headlight.ui import sheet
from headlight.ui.numbers import count
from headlight.ui.sheet import Block
from mha_core.errors import HeadlightError
from mha_core.show.packing import pack_focus, pack_parts

from . import effects, padding
from .meaning import describe_card, describe_painting, describe_rule

# link keys owned by the view; the mask is always written, because a bare address shows another one than none
KEYS = ("s", *(key for key in SIDE_KEYS if key != "mask"), "at", "look", "pad", "model", "dev")
# the default is a mask with a visible effect
MASK = "causal"
CAUSAL_MODEL_MASK = "window"  # default for a model whose own mask is causal
BARE = {"s": PRESETS[2], "mask": MASK}  # for an address without a query: few words, so that every number fits
# Link keys of a rule. Painted cells have `on` and `p`, which stay in the link while they are not in use.
RULE = tuple(dict.fromkeys(["mask", *(key for numbers in MASKS.values() for key in numbers), "rule"]))
Link = dict[str, str]  # values of a mask's link keys; keys of `RULE` that are missing here are removed from the link


class Card(DrawnRule):
    """Card of the rule gallery."""

    clicks: dict[str, Link | None]  # action -> the mask's link keys after a click
    meaning: str  # one sentence


class Masks(PictureAnswer):
    """Header of the page's message."""

    tokens: list[str]
    columns: list[str] | None  # key tokens, where they differ from the query tokens
    rule: str
    painted: str
    meaning: str  # of the mask in use, one sentence
    base: str  # cells forbidden by the rule, as text
    modelMask: str  # noqa: N815 - as the browser reads it; cells forbidden by the model itself
    forbidden: list[str]
    forbiddenBefore: list[str]  # noqa: N815 - as the browser reads it
    ruleKeys: Sequence[str]  # noqa: N815 - as the browser reads it; link keys of a rule
    maxTokens: int  # noqa: N815 - as the browser reads it; maximum number of tokens for painting
    maxLength: int  # noqa: N815 - as the browser reads it; maximum characters of a painting in the link
    comparison: str
    sentence: str  # the sentence of the picture
    label: str
    look: str  # head or mean, as in the link
    cards: list[Card]
    sums: str
    initialValues: dict[str, str]  # noqa: N815 - as the browser reads it; defaults used for keys that the link lacks


class MaskOutcomes(TypedDict):
    """Panels below the picture."""

    mask: list[Block]
    padding: list[Block]  # of the second sentence in the batch
    refusal: str  # why the second sentence cannot be used; the default one is used then


def entry_message(raw: bytes) -> bytes:
    """Return as `masks_message` for a user who comes from another page, where no mask was chosen."""
    query = LinkQuery(raw)
    mask = CAUSAL_MODEL_MASK if query.model.own_mask == "causal" else MASK
    return masks_message(raw, {} if "mask" in query.fixed else {"mask": mask})


def first_message(raw: bytes) -> bytes:
    """Return as `masks_message`, for the pre-rendered picture."""
    pictures.check_prerender_size(LinkQuery(raw).fitted_settings()[0])
    return masks_message(raw)


def outcomes(raw: bytes) -> bytes:
    """Return the effects of the mask, and of padding in a batch with a second sentence, as JSON blocks."""
    query = LinkQuery(raw)
    settings, _ = query.fitted_settings()
    if "mask" in query.fixed:
        return json.dumps(MaskOutcomes(mask=[], padding=[], refusal="")).encode()
    cursor = query.cursor.resolve(pictures.tokens(settings), is_generative=get_source(settings.model).is_generative)
    padded, refusal = _padding(query, settings)
    blocks: list[Block] = []
    if pictures.picture(settings).run.key_tokens is None:
        blocks.append(sheet.text(effects.compare_renormalised(settings, cursor)))
    if "steps" not in query.fixed:
        blocks += effects.empty_rows(settings, cursor)
    return json.dumps(MaskOutcomes(mask=blocks, padding=padded, refusal=refusal)).encode()


def _padding(query: LinkQuery, settings: Settings) -> tuple[list[Block], str]:
    """Return the effect of padding, and the reason why the default second sentence is used, or ""."""
    if "batch" in query.fixed:
        return [sheet.text(query.fixed["batch"])], ""
    try:
        check_length(query["pad"])
        return padding.blocks(settings, query["pad"]), ""
    except HeadlightError as error:
        return padding.blocks(settings, query.default("pad")), words.error_sentence(error)


def masks_message(raw: bytes, defaults: dict[str, str] | None = None) -> bytes:
    """Return the mask of a query, and the weights (i, j) of the head in focus without and with it.

    `defaults` are values for keys that the query lacks. By default a bare address shows `BARE`; if the link has any key
    of a picture, a missing mask means none.
    """
    if defaults is None:
        defaults = {} if any(key != "big" for key, _ in LinkQuery(raw).pairs) else BARE
    query = LinkQuery(b"&".join(part for part in (raw, urlencode(defaults).encode()) if part))
    recordings.reject(query.model)
    settings, link_notices = query.fitted_settings()
    unmasked, picture = pictures.compute_pair(comparison_settings(settings), settings)
    cursor = query.place(picture.run.tokens, picture.run.key_tokens)
    runs = [unmasked.run, picture.run]
    heads = selected_map.heads_to_average(query.look, cursor, *query.sizes)
    weights = [selected_map.focus_map(run.weights, cursor, heads) for run in runs]
    fixed = "mask" in query.fixed
    run_notices = [notice for run in runs for notice in run.notices]
    notices = [
        *link_notices,
        *run_notices,
        *words.modality_notes(query.model),
        *([query.fixed["mask"]] if fixed else []),
    ]
    place = f"Layer {cursor.layer}, head {cursor.head}" if heads is None else f"Mean over {count(len(heads), 'head')}"
    model, tokens, comparison = picture.model, picture.run.tokens, comparison_settings(settings)
    own_mask, (n, n_heads), keys = model.own_mask, (len(tokens), model.sizes.n_heads), picture.run.weights.shape[-1]
    unmasked_text = "no mask" if own_mask == "none" else "its own mask alone"
    header: Masks = {
        **picture_payload(
            query, KEYS, cursor, settings.digest, notices, s=settings.text, rule=settings.mask, on=settings.mask
        ),
        "tokens": tokens,
        "columns": picture.run.key_tokens,
        "rule": settings.mask,
        "painted": settings.painted,
        "meaning": (describe_painting if settings.painted else describe_rule)(settings.mask, own_mask),
        "base": mask_codec.forbidden_cells(settings.mask, "", n, n_heads)[0],
        "modelMask": mask_codec.forbidden_cells(own_mask, "", n, n_heads)[0],
        "forbidden": settings.forbidden_cells(model, n, keys),
        "forbiddenBefore": comparison.forbidden_cells(model, n, keys),
        "ruleKeys": RULE,
        "maxTokens": MAX_PAINTED,
        "maxLength": MAX_PAINTED_LENGTH,
        "comparison": f"{comparison.mask} alone" if comparison.mask != "none" else unmasked_text,
        "sentence": settings.text,
        "label": f"{place}, {words.label(settings, model)}, {words.weights(model)}",
        "look": str(query.look),
        "cards": [] if fixed else _cards(picture, cursor, *_painting(query, n)),
        "sums": effects.sums_in_words(weights[1]),
        "initialValues": defaults,
    }
    return pack_parts(pack_focus(header, *weights))


def comparison_settings(settings: Settings) -> Settings:
    """Return the settings to compare with: the rule alone where cells are painted, otherwise no mask."""
    return settings.without_painting if settings.painted else replace(settings, mask="none")


def _cards(picture: Picture, cursor: Cursor, base: str, painted: str) -> list[Card]:
    """Return the cards of the gallery with the link of each click."""
    rule, heads, own_mask = picture.settings.mask, picture.model.sizes.n_heads, picture.model.own_mask
    cards = rules.gallery(picture.run.tokens, heads, cursor.head, rule, base, painted, own_mask)
    return [{**card, "clicks": _clicks(card, rule), "meaning": describe_card(card, own_mask)} for card in cards]


def _clicks(card: DrawnRule, current: str) -> dict[str, Link | None]:
    """Return the link of each click on a card, by action: "use", or one of `rules.JOINS` with the current rule.

    Only rules can be joined. It is empty for a card that cannot be used; a joined rule above the length limit is None.
    """
    if card["why_not"]:
        return {}
    clicks: dict[str, Link | None] = {"use": _click(card["rule"], card["painted"])}
    if not card["painted"]:
        for join in rules.JOINS:
            rule = rules.join_rules(current, join, card["rule"])
            clicks[join] = None if rule is None else _click(rule)
    return clicks


def _click(rule: str, painted: str = "") -> Link:
    return {key: str(value) for key, value in rules.to_controls(rule, painted).items()}


def _painting(query: LinkQuery, n: int) -> tuple[str, str]:
    """Return the painted cells and the rule below them, if they fit this many tokens."""
    base, text = query["on"], mask_codec.normalize(query["p"], query.sizes[1]) or ""
    return base if rules.is_usable(base) else "none", text if text and mask_codec.token_count(text) == n else ""
