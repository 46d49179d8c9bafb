"""A pinned picture as a text for the link."""

from headlight.link import mask_codec, rules
from headlight.link.cursor import Cursor, parse_at, parse_heads, parse_places, write_heads, write_places
from headlight.link.limits import MAX_PIN_LENGTH, MAX_TEXT_LENGTH, POSITIONS, TEMPERATURES
from headlight.picture import pictures
from headlight.picture.pictures import CachedMap
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
    ablations = write_heads(settings.heads_off)
    ablations += f"!{write_places(settings.values_off)}" if settings.values_off else ""
    return "~".join((model, mask, settings.position, f"{settings.temperature:g}", ablations, settings.text))


def parse_pin(text: str, device: str) -> tuple[Settings, Cursor] | None:
    """Parse the text of a pin, a cursor and a `pin_tail`; None if any part is invalid."""
    parts = text.split("~", 5)
    if len(parts) != 6 or len(text) > MAX_PIN_LENGTH:
        return None
    cursor_text, mask, position, temperature, heads_text, words = parts
    cursor_text, _, model = cursor_text.partition("@")
    rule, _, cells = mask.partition("/")
    heads_text, _, values_text = heads_text.partition("!")
    model = model.replace("!", "~") or MINILM  # "~" separates the parts of the text
    try:
        degrees, model_sizes = float(temperature), pictures.model_on("auto", model).sizes
    except (HeadlightError, ValueError):
        return None
    sizes = model_sizes.n_layers, model_sizes.n_heads
    cursor, values_off = parse_at(cursor_text, *sizes), parse_places(values_text)
    heads_off = parse_heads(heads_text, *sizes)
    painted = mask_codec.normalize(cells, sizes[1])
    if cursor is None or heads_off is None or values_off is None or painted is None:
        return None
    is_known = rules.is_usable(rule) and position in POSITIONS.values() and len(words) <= MAX_TEXT_LENGTH
    if not is_known or not TEMPERATURES[0] <= degrees <= TEMPERATURES[1]:
        return None
    return Settings(
        words, rules.normalize(rule), position, degrees, heads_off, device, painted, model, values_off
    ), cursor


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
