"""What a model that writes says next, and how surely it says again what a text says twice."""

from collections.abc import Sequence

import torch
from torch import Tensor

from headlight.lessons.grammar import RuleError
from headlight.lessons.values import Value
from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.picture.query import Query
from headlight.picture.settings import Settings
from headlight.queue.slots import pass_slot
from headlight.registry import models
from mha_core import Run


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
    untouched = _chances(pictures.picture(settings.baseline), 1.0)
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


def foreseen(query: Query, settings: Settings) -> Value:
    """`foreseen`: the mean probability that the model gives to the words of the second round."""
    rows, chances = _said_again(settings)
    return Value.number(float(chances.gather(1, rows[:, None]).mean()))


def hits(query: Query, settings: Settings) -> Value:
    """`hits`: the share of the words of the second round that were the model's first choice."""
    rows, chances = _said_again(settings)
    return Value.number(float((chances.argmax(dim=-1) == rows).double().mean()))


def looks_behind(query: Query, settings: Settings, layer: int) -> Value:
    """`looks_behind(1)`, (h): the mean weight of a repeated word on what followed its first mention, in a layer."""
    run = pictures.picture(settings).run
    if layer not in range(len(run.weights)):
        raise RuleError(f"this model has the layers 0 to {len(run.weights) - 1}")
    found = [run.weights[layer, :, row, key] for row, key in _answers(run.ids)]
    return Value.of(torch.stack(found).mean(dim=0), "h")


def _answers(ids: Sequence[int]) -> list[tuple[int, int]]:
    """(row, key): each place whose token stood earlier, once, and what followed it then follows now.

    The row says the next token, and the key is the place where that token is to be found.

    Raises:
        RuleError: there is none.
    """
    found = []
    for row in range(1, len(ids) - 1):
        earlier = [at for at in range(row) if ids[at] == ids[row]]
        if len(earlier) == 1 and ids[earlier[0] + 1] == ids[row + 1]:
            found.append((row, earlier[0] + 1))
    if not found:
        raise RuleError("this text says no words a second time in the same order")
    return found


def _said_again(settings: Settings) -> tuple[Tensor, Tensor]:
    """The tokens of the second round (rows,), and in front of each what the model says comes next (rows, v)."""
    model = pictures.model_of(settings)
    ids = model.tokenize(settings.text)[1]
    rows = [row for row, _ in _answers(ids)]
    with pass_slot(len(ids), models.heads(model)):
        run: Run = settings.run(model, all_logits=True)
    if run.logits is None:
        raise RuleError("this model says no next word")
    return torch.tensor([ids[row + 1] for row in rows]), run.logits[rows].double().softmax(dim=-1)
