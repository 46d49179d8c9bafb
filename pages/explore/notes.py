"""Explanations of a picture's tokens, of its hidden columns and of the mean over heads."""

from collections.abc import Sequence
from dataclasses import replace

from headlight.link import rules
from headlight.link.cursor import head_name
from headlight.picture import pictures, word_pairs
from headlight.picture.pictures import Picture
from headlight.picture.selected_map import Heads, head_mean
from headlight.registry import MINILM, SMOLLM2, get_source
from headlight.ui import numbers
from mha_core import Run
from mha_core.heads.word_pairs import is_english_function_word
from mha_core.measure import measures
from mha_core.models.run import Audio
from mha_core.models.words import mask_token
from mha_core.token_text import quote, quote_all


def token_notes(picture: Picture) -> list[str]:
    """Return sentences on unknown words, masks, pieces of words, bytes and special tokens."""
    tokens = picture.run.tokens
    if picture.run.extras.image is not None:
        return [_patch_note(tokens[: picture.run.extras.image.n_special])]
    notes, n = list[str](), len(tokens)
    if picture.run.extras.audio is not None and picture.model.group != "decoder":
        notes.append(_moment_note(picture.run, picture.run.extras.audio))
    if picture.run.extras.audio is not None and picture.model.group == "encoder":
        return notes
    unknown = tokens.count("[UNK]")
    foreign = sum(token == "[UNK]" or token.lstrip("#")[:1] > "ɏ" for token in tokens)  # ɏ is the last Latin letter
    if picture.settings.model == MINILM and 2 * foreign > n - sum(picture.run.ends):
        notes.append("MiniLM was trained on English. It reads every unknown word as [UNK].")
        if get_source(SMOLLM2).exists:
            notes[-1] += " SmolLM2 reads other languages byte by byte; choose it above."
    elif unknown:
        notes.append(f"This model does not know {unknown} of these {n} tokens; it reads each of them as [UNK].")
    if (mask := mask_token(picture.model)) in tokens:
        notes.append(f"{mask} hides a word; models of this kind learned to predict the hidden word.")
    if piece := next((token for token in tokens if token.startswith("##")), ""):
        notes.append(f"{_split_note(tokens, picture.settings.model)}: {quote(piece)} continues the piece before it.")
    if any(token.startswith("<0x") for token in tokens):
        notes.append("A character that is not in the vocabulary is read byte by byte, for example as <0xF0>.")
    first, last = picture.run.ends
    if marks := list(dict.fromkeys([*tokens[:first], *tokens[n - last :]])):
        ends = " and ".join(["the start"] * (first > 0) + ["the end"] * (last > 0))
        mark = "mark" if len(marks) > 1 else "marks"
        sinks = " Many heads attend there when no other token matches." if picture.model.group != "cross" else ""
        notes.append(f"{' and '.join(marks)} {mark} {ends}.{sinks}")
    return notes


def _split_note(tokens: Sequence[str], model: str) -> str:
    """Say which words are split: rare ones, or for MiniLM those of another language."""
    words = [(word, span) for word, span in word_pairs.spans(tokens) if any(map(str.isalpha, word))]
    n_split = sum(len(span) > 1 for _, span in words)
    is_english = 4 * sum(is_english_function_word(word) for word, _ in words) > len(words)
    are_most, are_many = 2 * n_split > len(words), 5 * n_split > len(words) and not is_english
    if model != MINILM or not (are_most or are_many):
        return "Rare words are split"
    return f"MiniLM was trained on English and splits {'most' if are_most else 'many'} of these words"


def _patch_note(specials: Sequence[str]) -> str:
    """Explain the names of a picture's tokens."""
    prefix = f"{', '.join(specials)} {'stands' if len(specials) == 1 else 'stand'} for no patch. " if specials else ""
    return f"{prefix}A patch is named by its row and column from the top left, counted from 0."


def _moment_note(run: Run, sound: Audio) -> str:
    """Explain the names of a sound's tokens, and the weight on its padding."""
    text = f"A moment is named by its start time; the next one starts {1000 * sound.step / sound.rate:.3g} ms later."
    if run.extras.unassigned is None:
        return text
    return f"{text} The sound is padded with silence; “{pictures.UNASSIGNED}” is the weight of a row on that silence."


def column_note(picture: Picture) -> str:
    """Name the hidden columns, with the sentence vector's cosine to the unchanged one; "" if there are none."""
    settings, tokens = picture.settings, picture.run.tokens
    unseen, unheard = (
        quote_all(tokens[place] for place in places if place < len(tokens))
        for places in (rules.unseen_tokens(settings.mask), settings.values_off)
    )
    sentences = []
    if unseen:
        sentences.append(
            f"{unseen} is masked for all other tokens, so the softmax distributes its weight over the other keys."
        )
    if unheard:
        sentences.append(f"The weights on {unheard} stay, but its value is zeroed for all other tokens.")
    if not sentences:
        return ""
    is_only_change = replace(settings, mask=rules.without_unseen(settings.mask), values_off=()) == settings.baseline
    suffix = "" if is_only_change else ", with all that is changed"
    cosine = numbers.precise(picture.cosine)
    return f"{' '.join(sentences)} The sentence vector’s cosine to the unchanged one is {cosine}{suffix}."


def mean_note(picture: Picture, heads: Heads) -> str:
    """Describe the head nearest to the mean that is displayed."""
    weights, mean = picture.run.weights, head_mean(picture.run.weights, heads)
    if len(heads) == 1:
        layer, _ = heads[0]
        text = f"Layer {layer} has one head, so the mean is the map of that head."
        return text if weights.shape[1] == 1 else f"The map of {head_name(*heads[0])}."
    distances = [float(measures.row_distances(weights[pair], mean).mean()) for pair in heads]
    best = min(range(len(distances)), key=distances.__getitem__)
    is_one_layer = len({layer for layer, _ in heads}) == 1
    name = f"head {heads[best][1]}" if is_one_layer else head_name(*heads[best])
    if distances[best] == 0:
        return f"The mean of {len(distances)} heads. {numbers.capital(name)} has exactly this map."
    return (
        f"The mean of {len(distances)} heads; no single head has this map. The nearest is {name}; on average "
        f"{numbers.weight(distances[best])} of a row’s weight is elsewhere (total variation)."
    )
