"""A word of the sentence replaced by the model's mask token: another sentence, as a visitor could type it."""

from typing import TypedDict

from headlight.picture.link_query import LinkQuery
from headlight.registry import source_of
from mha_core import Model
from mha_core.errors import HeadlightError
from mha_core.models.words import mask_token, words_of


class MaskedWord(TypedDict):
    text: str
    row: int  # of the mask


def of_link(query: LinkQuery) -> MaskedWord:
    """The sentence of a link without the word that holds its row.

    Raises:
        HeadlightError: the model has no mask token, no word stands there, or nobody can tell where.
    """
    settings, _ = query.within()
    model, text = query.model, settings.text
    token = mask_token(model)
    if not token:
        raise HeadlightError(why_none(query.name))
    tokens, row = model.tokenize(text)[0], query.at.row
    if row is None or row >= len(tokens):
        raise HeadlightError("choose a word first")
    word = next(one for one in words_of(model, text) if one.first <= row < one.stop)
    if not word.text.strip():
        raise HeadlightError(f"{tokens[row]} is the model’s own token and stands for no word")
    start = word.start + len(word.text) - len(word.text.lstrip())
    whole = text[:start] + token + text[word.start + len(word.text.rstrip()) :]
    return {"text": whole, "row": word.first}


def why_none(name: str) -> str:
    return f"{source_of(name).title} has no mask token: it was not trained to guess words that are left out"


def in_words(model: Model, tokens: list[str]) -> str:
    """What a mask token in the sentence is, "" without one."""
    token = mask_token(model)
    if token not in tokens:
        return ""
    return f"{token} hides a word: models of this kind learnt to guess what stood there."
