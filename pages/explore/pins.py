"""A pinned picture as one text for the link."""

from headlight.link import mask_codec, rules
from headlight.link.limits import MAX_PIN_LENGTH, MAX_TEXT_LENGTH, POSITIONS, TEMPERATURES
from headlight.link.place import Cursor, parse_at, parse_heads, parse_places, write_heads, write_places
from headlight.picture import pictures
from headlight.picture.pictures import Pinned
from headlight.picture.settings import Settings
from headlight.registry import MINILM, source_of
from mha_core.errors import HeadlightError


def pin_tail(settings: Settings) -> str:
    """A pinned picture as a text for the link, but for the head in front, which the browser knows: "0.1@who-rotary-1…".

    A model other than MiniLM comes first, the sentence last because it may hold any character.
    """
    mask = f"{settings.mask}/{settings.painted}" if settings.painted else settings.mask
    model = "" if settings.model == MINILM else f"@{settings.model.replace('~', '!')}"
    off = write_heads(settings.heads_off)
    off += f"!{write_places(settings.values_off)}" if settings.values_off else ""
    return "~".join((model, mask, settings.position, f"{settings.temperature:g}", off, settings.text))


def parse_pin(text: str, device: str) -> tuple[Settings, Cursor] | None:
    """What a whole text says, the head and `pin_tail`; None when a part cannot be used."""
    parts = text.split("~", 5)
    if len(parts) != 6 or len(text) > MAX_PIN_LENGTH:
        return None
    at_text, mask, position, temperature, off_text, words = parts
    at_text, _, model = at_text.partition("@")
    rule, _, cells = mask.partition("/")
    off_text, _, values_text = off_text.partition("!")
    model = model.replace("!", "~") or MINILM  # which parts the rest
    try:
        degrees, found = float(temperature), pictures.model_on("auto", model).sizes
    except (HeadlightError, ValueError):
        return None
    sizes = found.n_layers, found.n_heads
    at, off, values_off = parse_at(at_text, *sizes), parse_heads(off_text, *sizes), parse_places(values_text)
    painted = mask_codec.usable(cells, sizes[1])
    if at is None or off is None or values_off is None or painted is None:
        return None
    is_known = rules.usable(rule) and position in POSITIONS.values() and len(words) <= MAX_TEXT_LENGTH
    if not is_known or not TEMPERATURES[0] <= degrees <= TEMPERATURES[1]:
        return None
    return Settings(words, rules.plain(rule), position, degrees, off, device, painted, model, values_off), at


def pinned(text: str, device: str) -> tuple[Pinned, Cursor] | None:
    """The pinned map and what is looked at in it, None when the link's cannot be used."""
    try:
        if (parsed := parse_pin(text, device)) is None:
            return None
        settings, at = parsed
        found = pictures.pinned(settings, at.layer, at.head)
    except HeadlightError:
        return None
    return found, at.on(found.tokens, found.columns, goes_on=source_of(settings.model).is_generative)
