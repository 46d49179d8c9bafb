"""The telling heads of a text: those whose unmodified maps link two content words most strongly against chance."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from cachetools import LRUCache

from headlight.link.cursor import Cursor
from headlight.queue.single_flight import single_flight
from headlight.registry import get_source
from headlight.ui import numbers
from mha_core.heads.word_pairs import WordPair, word_pairs
from mha_core.token_text import quote

from .link_query import LinkQuery
from .pictures import Picture, among_tokens


class TellingHead(TypedDict):
    """A telling head with its pair."""

    cursor: str  # as in a link, without the key if it has the largest weight of the row
    text: str  # why it is shown


def spans(tokens: Sequence[str]) -> list[tuple[str, range]]:
    """Return the words that tokens form, as `word_pairs` takes them: "" for special tokens.

    Read from the tokens alone, which takes a tenth of the time of `split_words`.
    """
    words = list[tuple[str, range]]()
    for index, token in enumerate(tokens):
        is_special = len(token) > 2 and token[0] + token[-1] in ("[]", "<>")
        word, start = words.pop() if words and token.startswith("##") else ("", range(index, index))
        text = "" if is_special else token.removeprefix("##").strip("▁ ")
        words.append((word + text, range(start.start, index + 1)))
    return words


@single_flight(LRUCache(256), lambda baseline: baseline.settings)
def telling_pairs(baseline: Picture) -> list[WordPair]:
    """Return the pairs of a picture of the unmodified model, none unless it is of one text."""
    weights = among_tokens(baseline.run) if baseline.model.reads == "text" else None
    return [] if weights is None else word_pairs(weights, spans(baseline.run.tokens))


def telling_heads(pairs: list[WordPair], tokens: list[str]) -> list[TellingHead]:
    """Return the heads of the pairs, each with the reason."""
    return [{"cursor": str(_cursor(pair)), "text": _reason(pair, tokens)} for pair in pairs]


def place(query: LinkQuery, baseline: Picture) -> Cursor:
    """Return the cursor of a query; what its link leaves open follows the first telling head of the unmodified model.

    So no change of the model moves it. A sentence with a known head has that one, with the row of `LinkQuery.place`. A
    picture has its centre patch, a sound its middle token.
    """
    run, source, requested = baseline.run, get_source(baseline.settings.model), query.cursor
    cursor, has_head = query.place(run.tokens, run.key_tokens), "at" in query.parsed.texts
    if has_head and requested.row is not None:
        return cursor
    if run.extras.image is not None:
        offset, rows, columns = run.extras.image.n_special, run.extras.image.rows, run.extras.image.columns
        return replace(cursor, row=offset + rows // 2 * columns + columns // 2)
    if run.extras.audio is not None and baseline.model.group == "encoder":
        return replace(cursor, row=len(run.tokens) // 2)
    if head := source.known_heads.get(baseline.settings.text):
        return cursor if has_head else replace(Cursor.from_text(head), row=cursor.row)
    first = follow(cursor, telling_pairs(baseline))
    return replace(cursor, row=first.row) if has_head else first


def follow(cursor: Cursor, pairs: list[WordPair]) -> Cursor:
    """Return the cursor of the first pair, or the one given if there is none."""
    return _cursor(pairs[0]) if pairs else cursor


def _cursor(pair: WordPair) -> Cursor:
    return Cursor(pair.layer, pair.head, pair.row, None if pair.is_largest else pair.key)


def _reason(pair: WordPair, tokens: list[str]) -> str:
    """Compare the weight of a pair with its chance."""
    query, key = (
        quote(word) if tokens[token].strip("▁ ") == word else f"{quote(tokens[token])} of {quote(word)}"
        for token, word in zip((pair.row, pair.key), pair.words, strict=True)
    )
    others = "keys at this distance get" if pair.is_distance else "the other queries give this key"
    weight, chance = numbers.weight(pair.weight), numbers.weight(pair.chance)
    return f"Why this head: it links {query} to {key} with weight {weight}, while {others} {chance} on average."
