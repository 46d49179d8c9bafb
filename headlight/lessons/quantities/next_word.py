"""What a model that writes says next, beyond how likely one word is."""

import torch
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.picture.query import Query
from headlight.picture.settings import Settings


def choice(query: Query, settings: Settings, word: str, temperature: float = 1.0) -> Value:
    """`choice("Paris")`: the place of a word among all that may come next, 1 = the first choice.

    Of a word of several tokens the first one counts. `temperature` divides the logits of the answer, as in `softened`.
    """
    picture = pictures.picture(settings)
    chances = _chances(picture, temperature)
    return Value.number(float(1 + (chances > chances[_token(picture, word)]).sum()))


def softened(query: Query, settings: Settings, word: str, temperature: float) -> Value:
    """`softened("cold", 2)`: how likely a word is at this temperature of the answer, not of the attention."""
    picture = pictures.picture(settings)
    return Value.number(float(_chances(picture, temperature)[_token(picture, word)]))


def first_choice(query: Query, settings: Settings) -> Value:
    """`first_choice`: how likely the word is that the untouched model would say first."""
    untouched = _chances(pictures.picture(settings.untouched), 1.0)
    return Value.number(float(_chances(pictures.picture(settings), 1.0)[untouched.argmax()]))


def _chances(picture: Picture, temperature: float) -> Tensor:
    """(v,) in float64."""
    if picture.run.logits is None:
        raise RuleError("this model says no next word")
    if not temperature > 0:
        raise RuleError(f"a temperature is above 0, not {temperature:g}")
    return torch.softmax(picture.run.logits[-1].double() / temperature, dim=-1)


def _token(picture: Picture, word: str) -> int:
    """The number of the token with which a word begins behind the text."""
    text, ids = picture.settings.text, list(picture.run.ids)
    gap = "" if not text or text[-1:].isspace() or not word[:1].isalnum() else " "
    longer = list(picture.model.tokenize(f"{text}{gap}{word}")[1])
    if len(longer) <= len(ids) or longer[: len(ids)] != ids:
        raise RuleError(f"“{word}” does not stand alone behind this text")
    return longer[len(ids)]
