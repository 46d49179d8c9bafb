"""The pairs of content words that a head links more strongly than by chance.

A large weight alone says little: every query gives it to a sink, and a previous-token head gives it at every step. So
the chance of a weight is what its head gives, on average over the sentence, to the same key from the other queries, or
to the other keys at the same distance, whichever is more; its gain is the weight minus this chance. That single heads
follow grammar and reference is shown, with such baselines, by Clark et al. 2019, "What Does BERT Look At?".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

LEAST_GAIN = 0.1  # of a pair that is returned
REFERENCE_GAIN = 0.2  # with which a pronoun and an earlier word come before all other pairs
PORTION = 1_000_000  # weights that are compared at once: few enough for the processor's cache
CANDIDATES = 8  # pairs of a head whose distances are compared
# function words are known for English; in other languages they are taken to be the short words
MIN_LETTERS_ENGLISH, MIN_LETTERS = 3, 4
_SHORT_SCRIPTS = "\u0590"  # from this letter on scripts write short words: Hebrew, Arabic, Thai, Han and others
_PRONOUN = re.compile("i|you|he|she|it|we|they|(hi|the)m|her|(him|her|it)self|themselves|his|its|their")
_FUNCTION_WORD = re.compile(
    "an?|the|th(is|at|ese|ose)|some|any|each|every|all|both|not?|and|or|but|nor|so|yet|if|because|al(so|though)|though|"
    "whil?e|when|where|wh(o|om|ose|ich|at|y)|how|than|as|of|in|on|at|by|to|from|with(out)?|into|onto|over|under|about|"
    "after|before|behind|between|through|during|since|until|for|up|down|out|off|is|am|are|was|were|be(en|ing)?|do(es)?|"
    "did|ha(ve|s|d)|will|would|shall|should|can|could|may|might|must|my|our|your|me|us|t?here|then|too|very|just|only|"
    "even|still|again|(ai|are|ca|could|did|do|does|had|has|have|is|must|should|was|were|wo|would)n('t)?"
)


@dataclass(frozen=True)
class WordPair:
    """A weight of one head between two content words, in the cell of the tokens `row` and `key`.

    Attributes:
        words: the words of both tokens.
        chance: the mean of the other weights at this distance (`is_distance`), or to this key.
        is_largest: whether the weight is the largest of its row.
    """

    layer: int
    head: int
    row: int
    key: int
    words: tuple[str, str]
    weight: float
    chance: float
    is_distance: bool
    is_largest: bool


def is_english_function_word(word: str) -> bool:
    """Return whether a word is an English article, conjunction, preposition, auxiliary, pronoun or the like."""
    folded = word.lower().replace("’", "'")
    return bool(_FUNCTION_WORD.fullmatch(folded) or _PRONOUN.fullmatch(folded))


def is_content(words: Sequence[str]) -> list[bool]:
    """Return for each word whether it is a content word or a pronoun, not a function word or punctuation."""
    folded = [word.lower().replace("’", "'") for word in words]
    shortest = MIN_LETTERS_ENGLISH if any(map(_FUNCTION_WORD.fullmatch, folded)) else MIN_LETTERS
    is_long = [len(word) >= shortest or word[:1] >= _SHORT_SCRIPTS for word in folded]
    return [
        bool(_PRONOUN.fullmatch(word)) or (long and any(map(str.isalpha, word)) and not _FUNCTION_WORD.fullmatch(word))
        for word, long in zip(folded, is_long, strict=True)
    ]


def word_pairs(weights: Tensor, words: Sequence[tuple[str, range]], limit: int = 6) -> list[WordPair]:
    """Return the pairs with the largest gain, at most one for each head and for each two words.

    Pronouns that attend most to an earlier word come first, pairs of two whole words before those with a piece of a
    word, and last the pairs whose key is a sink. A pronoun is never the key, nor is the first token of causal maps. The
    pieces of a word, and equal words, make no pair.

    Args:
        weights: (layers, h, i, i) of the unmodified model.
        words: the words with their tokens, "" for special and unknown tokens.
        limit: the number of pairs.
    """
    maps, texts = weights.detach().flatten(0, 1), [word.lower() for word, _ in words]
    usable = is_content(texts)
    owner = [index for index, (_, span) in enumerate(words) for _ in span]
    # of each token the first word with its text, -1 unless that is a content word
    number = torch.tensor([texts.index(texts[index]) if usable[index] else -1 for index in owner])
    if len({*number.tolist()} - {-1}) < 2:
        return []
    is_pronoun = torch.tensor([bool(_PRONOUN.fullmatch(texts[index])) for index in owner])
    is_causal = not maps[:, 0, 1:].any()
    is_key = (number >= 0) & ~is_pronoun
    is_key[0] &= not is_causal
    is_pair = (number >= 0)[:, None] & is_key & (number[:, None] != number)
    head, row, key, by_key = (x.cpu() for x in _candidates(maps, is_pair.to(maps.device), is_causal=is_causal))
    weight = maps[head, row, key].to(by_key.dtype).cpu()
    by_distance = _means_at_distance(maps, head, row, key, weight)
    gain = weight - torch.maximum(by_key, by_distance)
    is_whole = torch.tensor([len(words[index][1]) == 1 for index in owner])
    is_largest = maps[head, row].argmax(-1).cpu() == key
    is_reference = is_pronoun[row] & (key < row) & (gain >= REFERENCE_GAIN) & is_largest
    # a key to which many other queries give nearly as much is a sink, although its mean over all queries may be small
    is_sink = (maps[head, :, key].cpu() > weight[:, None] / 2).sum(1) > 1 + len(owner) / 4
    preference = 1 * (is_whole[row] & is_whole[key]) + 2 * is_reference - 4 * is_sink
    order = (gain + preference).argsort(descending=True, stable=True)
    order = order[(gain[order] >= LEAST_GAIN) & is_pair[row[order], key[order]]]
    pairs = dict[int, WordPair]()
    columns = (head, row, key, is_largest, weight, by_key, by_distance)
    for m, i, j, is_top, w, *means in zip(*(x[order].tolist() for x in columns), strict=True):
        names = words[owner[i]][0], words[owner[j]][0]
        if len(pairs) < limit and m not in pairs and names not in [pair.words for pair in pairs.values()]:
            layer, h = divmod(m, weights.shape[1])
            pairs[m] = WordPair(layer, h, i, j, names, w, max(means), means[1] > means[0], is_top)
    return list(pairs.values())


def _candidates(maps: Tensor, is_pair: Tensor, *, is_causal: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return head, row, key and chance of the pairs with the largest gain over their key."""
    n, dtype = maps.shape[-1], torch.promote_types(maps.dtype, torch.float32)
    others = (n - 1 - torch.arange(n, device=maps.device) * is_causal).clamp(min=1)  # other queries with this key
    received = maps.sum(1, dtype=dtype)
    blocked = -9 * (~is_pair).to(dtype)
    cells, size = [], max(1, PORTION // n**2)
    for start in range(0, len(maps), size):
        # weight - (sum - weight) / others in two passes over the maps, without a copy of all of them
        sums = received[start : start + size] / others
        gains = (blocked - sums[:, None]).addcmul_(maps[start : start + size].to(dtype), 1 + 1 / others)
        row = gains.amax(-1).topk(min(CANDIDATES, n)).indices
        part = torch.arange(len(gains), device=maps.device)[:, None]
        cells.append(torch.stack((part.expand_as(row) + start, row, gains[part, row].argmax(-1))).flatten(1))
    head, row, key = torch.cat(cells, 1)
    return head, row, key, (received[head, key] - maps[head, row, key]) / others[key]


def _means_at_distance(maps: Tensor, head: Tensor, row: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """Return the mean of the other weights at the distance of each cell."""
    i = torch.arange(maps.shape[-1])
    j = i + (key - row)[:, None]
    is_inside = (j >= 0) & (j < len(i))
    diagonal = maps[head[:, None], i, j.clamp(0, len(i) - 1)].to(weight.dtype).cpu()
    return ((diagonal * is_inside).sum(-1) - weight) / (is_inside.sum(-1) - 1).clamp(min=1)
