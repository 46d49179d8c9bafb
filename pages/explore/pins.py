"""A pinned picture as one text for the link."""

from headlight.link import mask_codec, rules
from headlight.link.limits import LONGEST_PIN, LONGEST_TEXT, POSITIONS, TEMPERATURES
from headlight.link.place import At, parse_at, parse_heads, parse_places, write_heads, write_places
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.registry import MINILM


def pin_tail(settings: Settings) -> str:
    """A pinned picture as a text for the link, but for the head in front, which the browser knows: "0.1@who-rotary-1…".

    A model other than MiniLM comes first, the sentence last because it may hold any character.
    """
    mask = f"{settings.mask}/{settings.painted}" if settings.painted else settings.mask
    model = "" if settings.model == MINILM else f"@{settings.model.replace('~', '!')}"
    off = write_heads(settings.heads_off)
    off += f"!{write_places(settings.values_off)}" if settings.values_off else ""
    return "~".join((model, mask, settings.position, f"{settings.temperature:g}", off, settings.text))


def parse_pin(text: str, device: str) -> tuple[Settings, At] | None:
    """What a whole text says, the head and `pin_tail`; None when a part cannot be used."""
    parts = text.split("~", 5)
    if len(parts) != 6 or len(text) > LONGEST_PIN:
        return None
    at_text, mask_text, position_name, temperature_text, off_text, words = parts
    at_text, _, model = at_text.partition("@")
    model = model.replace("!", "~")  # which parts the rest
    off_text, _, values_text = off_text.partition("!")
    sizes = pictures.sizes_of(model or MINILM)
    if sizes is None:
        return None
    layers, heads = sizes
    rule, _, cells = mask_text.partition("/")
    painted_cells = mask_codec.usable(cells, heads)
    if not rules.usable(rule) or painted_cells is None:
        return None
    at, off = parse_at(at_text, layers, heads), parse_heads(off_text, layers, heads)
    values_off = parse_places(values_text)
    try:
        degrees = float(temperature_text)
    except ValueError:
        return None
    if (
        at is None
        or off is None
        or values_off is None
        or position_name not in POSITIONS.values()
        or not TEMPERATURES[0] <= degrees <= TEMPERATURES[1]
        or len(words) > LONGEST_TEXT
    ):
        return None
    rule = rules.plain(rule)
    return Settings(words, rule, position_name, degrees, off, device, painted_cells, model or MINILM, values_off), at
