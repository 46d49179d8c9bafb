"""What a sentence can take of the settings that it is asked with."""

from collections.abc import Sequence

from mha_core.errors import HeadlightError

from . import mask_codec, pictures
from .limits import check_length
from .models import MINILM
from .settings import Settings

MOST_AT_FIRST = 128  # tokens of a picture that comes with the page itself


def fits_at_first(tokens: Sequence[str]) -> None:
    """Raises a HeadlightError when a picture is too large to come with the page."""
    if len(tokens) > MOST_AT_FIRST:
        raise HeadlightError(f"a page begins with at most {MOST_AT_FIRST} tokens, here are {len(tokens)}")


def within(settings: Settings) -> tuple[Settings, list[str]]:
    """The settings without a painting that was made for a sentence of another length, and a sentence that says so.

    Raises:
        HeadlightError: a sentence that is too long, or without a token where no special ones stand round it; and what
            `Model.tokenize` raises.
    """
    check_length(settings.text)
    if settings.model == MINILM and not settings.painted:
        return settings, []
    tokens, _ = pictures.model_of(settings).tokenize(settings.text)
    if not tokens:
        raise HeadlightError("this model adds no [CLS] or [SEP]; type at least one word")
    if not settings.painted or mask_codec.tokens_of(settings.painted) == len(tokens):
        return settings, []
    sizes = f"for {mask_codec.tokens_of(settings.painted)} tokens; the sentence has {len(tokens)}"
    applies = f"so only its rule “{settings.mask}” applies. Your painting stays in the link."
    told = f"This mask was painted {sizes}, {applies}"
    return settings.unpainted, [told]
