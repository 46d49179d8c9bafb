"""What is said of columns that are taken out: keys hidden from all others, and values zeroed for them."""

from collections.abc import Sequence
from dataclasses import replace

from pages.kit.draw import numbers
from pages.kit.picture import rules
from pages.kit.picture.pictures import Picture


def in_words(picture: Picture) -> str:
    """Which columns are out, and the cosine of the sentence vector to the unchanged one; "" where none is."""
    settings, tokens = picture.settings, picture.run.tokens
    unseen, unheard = (_named(tokens, places) for places in (rules.unseen(settings.mask), settings.values_off))
    said = []
    if unseen:
        said.append(f"No other token may look at {unseen}: the softmax shares its weight out among the rest.")
    if unheard:
        said.append(f"The weights on {unheard} stay, its value is zeroed for all others.")
    if not said:
        return ""
    alone = replace(settings, mask=rules.without_unseen(settings.mask), values_off=()) == settings.untouched
    why = "" if alone else ", with all that is changed"
    cosine = numbers.precise(picture.cosine)
    return f"{' '.join(said)} The sentence vector’s cosine to the unchanged one is {cosine}{why}."


def _named(tokens: Sequence[str], places: Sequence[int]) -> str:
    return " and ".join(f"“{tokens[place]}”" for place in places if place < len(tokens))
