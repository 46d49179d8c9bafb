"""A pinned picture as a text for the link."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from headlight.link import rules
from headlight.link.cursor import Cursor, parse_heads, parse_places, write_heads, write_places
from headlight.link.limits import MAX_PIN_LENGTH, POSITIONS
from headlight.picture import pictures
from headlight.picture.pictures import CachedMap
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.registry import MINILM, get_source
from mha_core.errors import HeadlightError


def pin_tail(settings: Settings) -> str:
    """Return the settings of a pinned picture as the part of its text after the cursor, such as "@who-rotary-1~…".

    The cursor in front comes from the browser. A model other than MiniLM comes first, the sentence last, because it may
    contain any character.
    """
    mask = f"{settings.mask}/{settings.painted}" if settings.painted else settings.mask
    model = "" if settings.model == MINILM else f"@{settings.model.replace('~', '!')}"
    places = map(write_places, (settings.values_off, settings.mlps_off, settings.layers_off))
    ablations = "!".join((write_heads(settings.heads_off), *places)).rstrip("!")
    return "~".join((model, mask, settings.position, f"{settings.temperature:g}", ablations, settings.text))


def parse_pin(text: str, device: str) -> tuple[Settings, Cursor] | None:
    """Parse the text of a pin, a cursor and a `pin_tail`; None if any part is invalid."""
    parts = text.split("~", 5)
    if len(parts) != 6 or len(text) > MAX_PIN_LENGTH:
        return None
    cursor_text, mask, position, temperature, heads_text, words = parts
    cursor_text, _, model = cursor_text.partition("@")
    rule, _, cells = mask.partition("/")
    heads_text, *places_texts = heads_text.split("!")
    values = rules.to_controls(rule, cells) | {"at": cursor_text, "t": temperature, "s": words}
    values["model"] = model.replace("!", "~") or MINILM  # "~" separates the parts of the text
    try:
        query = Query(urlencode(values, errors="surrogatepass").encode())
        settings, cursor = query.settings(), query.cursor
    except HeadlightError:
        return None
    heads_off = parse_heads(heads_text, *query.sizes)
    switches: dict[str, Any] = dict(
        zip(("values_off", "mlps_off", "layers_off"), map(parse_places, places_texts), strict=False)
    )
    is_known = position in POSITIONS.values() and len(switches) == len(places_texts)
    layers = (*(switches.get("mlps_off") or ()), *(switches.get("layers_off") or ()))
    if heads_off is None or None in switches.values() or not is_known or max(layers, default=0) >= query.sizes[0]:
        return None
    return replace(settings, position=position, heads_off=heads_off, device=device, **switches), cursor


def pinned_map(text: str, device: str) -> tuple[CachedMap, Cursor] | None:
    """Return the pinned map of a link and the cursor in it; None if the text is invalid."""
    try:
        if (parsed := parse_pin(text, device)) is None:
            return None
        settings, cursor = parsed
        pin = pictures.pin_map(settings, cursor.layer, cursor.head)
    except HeadlightError:
        return None
    return pin, cursor.resolve(pin.tokens, pin.columns, is_generative=get_source(settings.model).is_generative)
