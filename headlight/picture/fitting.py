"""What a sentence can take of the settings that it is asked with."""

from bisect import bisect
from collections.abc import Sequence

from headlight.link import mask_codec
from headlight.link.limits import LONGEST_TEXT, MOST_TOKENS, check_length
from headlight.registry import MINILM
from mha_core.errors import HeadlightError, TooLong
from mha_core.pretrained.hf_model import HfModel

from . import pictures
from .settings import Settings

MOST_AT_FIRST = 128  # tokens of a picture that comes with the page itself


def fits_at_first(tokens: Sequence[str]) -> None:
    """Raises a HeadlightError when a picture is too large to come with the page."""
    if len(tokens) > MOST_AT_FIRST:
        raise HeadlightError(f"a page begins with at most {MOST_AT_FIRST} tokens, here are {len(tokens)}")


def longest_fit(settings: Settings, most: int | None = MOST_TOKENS) -> int:
    """How many characters of a text can be shown, cut behind a word; 0 where all of it can, or none.

    `most`: as in `within`.
    """
    text, model = settings.text[:LONGEST_TEXT], pictures.model_of(settings)

    def is_too_long(end: int) -> bool:
        try:
            tokens, _ = model.tokenize(text[:end])
        except HeadlightError:
            return True
        return most is not None and len(tokens) > most

    longest = bisect(range(1, len(text) + 1), 0, key=is_too_long)
    if longest == len(settings.text):
        return 0
    cut = text[: longest + 1] if settings.text[longest].isspace() else text[:longest].rpartition(" ")[0]
    return len(cut.rstrip()) or longest


def within(settings: Settings, most: int | None = MOST_TOKENS) -> tuple[Settings, list[str]]:
    """The settings without a painting that was made for a sentence of another length, and a sentence that says so.

    `most`: tokens of the sentence; None = as many as the model reads.

    Raises:
        HeadlightError: a sentence that is too long, or without a token where no special ones stand round it; and what
            `Model.tokenize` raises.
    """
    check_length(settings.text)
    if settings.model == MINILM and not settings.painted:
        return settings, []
    model = pictures.model_of(settings)
    tokens, _ = model.tokenize(settings.text)
    if most is not None and len(tokens) > most:
        raise TooLong(limit=most, got=len(tokens))
    if not tokens:
        raise HeadlightError("this model adds no [CLS] or [SEP]; type at least one word")
    if settings.painted and isinstance(model, HfModel) and model.whole:
        told = f"{model.name} hears silence behind every sound, where no cell is painted; only the mask’s rule applies."
        return settings.unpainted, [told]
    if not settings.painted or mask_codec.tokens_of(settings.painted) == len(tokens):
        return settings, []
    sizes = f"for {mask_codec.tokens_of(settings.painted)} tokens; the sentence has {len(tokens)}"
    applies = f"so only its rule “{settings.mask}” applies. Your painting stays in the link."
    told = f"This mask was painted {sizes}, {applies}"
    return settings.unpainted, [told]
