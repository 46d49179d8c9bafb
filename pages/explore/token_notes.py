"""What must be explained of the tokens of a sentence."""

from collections.abc import Sequence

from mha_core import Run
from mha_core.models.run import Heard
from pages.kit.picture import models, pictures
from pages.kit.picture.pictures import Picture

from . import masked_word


def in_words(picture: Picture) -> list[str]:
    """A sentence each on words that are unknown, masks, pieces of words, bytes, and the model's own tokens."""
    tokens = picture.run.tokens
    if picture.run.patches is not None:
        return [_of_patches(tokens[: picture.run.patches.own])]
    told, n = list[str](), len(tokens)
    if picture.run.heard is not None and picture.model.group != "decoder":
        told.append(_of_moments(picture.run, picture.run.heard))
    if picture.run.heard is not None and picture.model.group == "encoder":
        return told
    unknown = tokens.count("[UNK]")
    if picture.settings.model == models.MINILM and 2 * _foreign(tokens) > n - sum(picture.run.ends):
        told.append("This model reads English. To it, all unknown words are the same word, [UNK].")
        if models.is_there(models.SMOLLM2):
            told[-1] += " SmolLM2 reads other languages byte by byte: choose it above."
    elif unknown:
        told.append(f"{unknown} of {n} tokens are unknown to this model: to it they are all one word, [UNK].")
    if mask := masked_word.in_words(picture.model, tokens):
        told.append(mask)
    if piece := next((token for token in tokens if token.startswith("##")), ""):
        told.append(f"Rare words are split: “{piece}” continues the piece before it.")
    if any(token.startswith("<0x") for token in tokens):
        told.append("A character that the model does not know whole is read byte by byte, as <0xF0>.")
    first, last = picture.run.ends
    if marks := list(dict.fromkeys([*tokens[:first], *tokens[n - last :]])):
        where = " and ".join(["the start"] * (first > 0) + ["the end"] * (last > 0))
        mark = "mark" if len(marks) > 1 else "marks"
        sinks = " Many heads put much of their weight there." if picture.model.group != "cross" else ""
        told.append(f"{' and '.join(marks)} {mark} {where}.{sinks}")
    return told


def _of_patches(own: Sequence[str]) -> str:
    """How the tokens of a picture are named."""
    none = f"{', '.join(own)} {'stands' if len(own) == 1 else 'stand'} for no patch. " if own else ""
    return f"{none}A patch is named by its row and column from the top left, counted from 0."


def _of_moments(run: Run, heard: Heard) -> str:
    """How the tokens of a sound are named, and what is with those that are not shown."""
    said = f"A moment is named by when it begins; the next one begins {1000 * heard.step / heard.rate:.3g} ms later."
    if run.nobody is None:
        return said
    return f"{said} The model hears silence behind the sound: “{pictures.NOBODY}” is what a row gives to that."


def _foreign(tokens: Sequence[str]) -> int:
    """How many tokens are unknown, or in letters that are not Latin."""
    return sum(token == "[UNK]" or token.lstrip("#")[:1] > "ɏ" for token in tokens)
