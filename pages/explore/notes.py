"""What must be explained of a picture: of its tokens, of the columns that are taken out, and of the mean over heads."""

from collections.abc import Sequence
from dataclasses import replace

from headlight.link import rules
from headlight.link.place import head_name
from headlight.picture import pictures
from headlight.picture.means import Heads, mean_of
from headlight.picture.pictures import Picture
from headlight.registry import MINILM, SMOLLM2, source_of
from headlight.ui import numbers
from mha_core import Run
from mha_core.measure import measures
from mha_core.models.run import Heard
from mha_core.models.words import mask_token


def of_tokens(picture: Picture) -> list[str]:
    """A sentence each on words that are unknown, masks, pieces of words, bytes, and the model's own tokens."""
    tokens = picture.run.tokens
    if picture.run.extras.patches is not None:
        return [_of_patches(tokens[: picture.run.extras.patches.own])]
    told, n = list[str](), len(tokens)
    if picture.run.extras.heard is not None and picture.model.group != "decoder":
        told.append(_of_moments(picture.run, picture.run.extras.heard))
    if picture.run.extras.heard is not None and picture.model.group == "encoder":
        return told
    unknown = tokens.count("[UNK]")
    if picture.settings.model == MINILM and 2 * _foreign(tokens) > n - sum(picture.run.ends):
        told.append("This model reads English. It reads every unknown word as [UNK].")
        if source_of(SMOLLM2).exists:
            told[-1] += " SmolLM2 reads other languages byte by byte; choose it above."
    elif unknown:
        told.append(f"This model does not know {unknown} of these {n} tokens; it reads each of them as [UNK].")
    if (mask := mask_token(picture.model)) in tokens:
        told.append(f"{mask} hides a word; models of this kind learned to predict the hidden word.")
    if piece := next((token for token in tokens if token.startswith("##")), ""):
        told.append(f"Rare words are split: “{piece}” continues the piece before it.")
    if any(token.startswith("<0x") for token in tokens):
        told.append("A character that is not in the vocabulary is read byte by byte, for example as <0xF0>.")
    first, last = picture.run.ends
    if marks := list(dict.fromkeys([*tokens[:first], *tokens[n - last :]])):
        where = " and ".join(["the start"] * (first > 0) + ["the end"] * (last > 0))
        mark = "mark" if len(marks) > 1 else "marks"
        sinks = (
            " Many heads put their weight there when nothing else matches." if picture.model.group != "cross" else ""
        )
        told.append(f"{' and '.join(marks)} {mark} {where}.{sinks}")
    return told


def _of_patches(own: Sequence[str]) -> str:
    """How the tokens of a picture are named."""
    none = f"{', '.join(own)} {'stands' if len(own) == 1 else 'stand'} for no patch. " if own else ""
    return f"{none}A patch is named by its row and column from the top left, counted from 0."


def _of_moments(run: Run, heard: Heard) -> str:
    """How the tokens of a sound are named, and what is with those that are not shown."""
    said = f"A moment is named by its start time; the next one starts {1000 * heard.step / heard.rate:.3g} ms later."
    if run.extras.nobody is None:
        return said
    return f"{said} The sound is padded with silence; “{pictures.UNASSIGNED}” is the weight of a row on that silence."


def _foreign(tokens: Sequence[str]) -> int:
    """How many tokens are unknown, or in letters that are not Latin."""
    return sum(token == "[UNK]" or token.lstrip("#")[:1] > "ɏ" for token in tokens)


def of_columns(picture: Picture) -> str:
    """Which columns are out, and the cosine of the sentence vector to the unchanged one; "" where none is."""
    settings, tokens = picture.settings, picture.run.tokens
    unseen, unheard = (_named(tokens, places) for places in (rules.unseen(settings.mask), settings.values_off))
    said = []
    if unseen:
        said.append(
            f"{unseen} is masked for all other tokens, so the softmax distributes its weight over the other keys."
        )
    if unheard:
        said.append(f"The weights on {unheard} stay, but its value is zeroed for all other tokens.")
    if not said:
        return ""
    alone = replace(settings, mask=rules.without_unseen(settings.mask), values_off=()) == settings.baseline
    why = "" if alone else ", with all that is changed"
    cosine = numbers.precise(picture.cosine)
    return f"{' '.join(said)} The sentence vector’s cosine to the unchanged one is {cosine}{why}."


def _named(tokens: Sequence[str], places: Sequence[int]) -> str:
    return " and ".join(f"“{tokens[place]}”" for place in places if place < len(tokens))


def of_mean(picture: Picture, heads: Heads) -> str:
    """How far the nearest head is from the mean; that of a layer `nn.MultiheadAttention` returns by default."""
    weights, whose = picture.run.weights, mean_of(picture.run.weights, heads)
    if len(heads) == 1:
        layer, _ = heads[0]
        of_one = f"Layer {layer} has one head, so the mean is the map of that head."
        return of_one if weights.shape[1] == 1 else f"The map of {head_name(*heads[0])}."
    far = [float(measures.row_distances(weights[pair], whose).mean()) for pair in heads]
    nearest = min(range(len(far)), key=far.__getitem__)
    of_layer = len({layer for layer, _ in heads}) == 1
    name = f"head {heads[nearest][1]}" if of_layer else head_name(*heads[nearest])
    if far[nearest] == 0:
        return f"The mean of {len(far)} heads. {numbers.capital(name)} has exactly this map."
    return (
        f"The mean of {len(far)} heads; no single head has this map. The nearest is {name}; on average "
        f"{numbers.weight(far[nearest])} of a row’s weight is elsewhere (total variation)."
    )
