"""The strict reader of link queries, which parses them by the table of fields into the settings of a picture.

A value that no control could have raises an error; `link_query.LinkQuery` replaces it and adds a warning.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from headlight.link import link_version, mask_codec, rules
from headlight.link.cursor import (
    Cursor,
    DisplayOptions,
    ablated_parts,
    parse_at,
    parse_look,
    parse_places,
    parts_by_name,
)
from headlight.link.fields import FIELDS, MASKS, Field
from headlight.link.limits import MAX_CHOICES, MAX_QUERY_BYTES, POSITIONS
from headlight.registry import MINILM, get_source, models
from mha_core import Model
from mha_core import device as devices
from mha_core.errors import HeadlightError

from . import pictures
from .settings import Settings

T = TypeVar("T")
MAX_PAIRS = 2_000
# kind of a mask that has a written rule -> key of the rule
RULE_KEYS = {"combination": "rule", "painted": "on"}
MAX_NAMED = 12  # choices that an error lists
_SWITCHES = {"true": True, "false": False}


@dataclass(frozen=True)
class ParsedQuery:
    """A query parsed by the table of fields."""

    pairs: tuple[tuple[str, str], ...]  # sorted keys and texts, of the keys in the table
    texts: Mapping[str, list[str]]  # key -> its texts
    values: Mapping[str, Any]  # key -> its value
    errors: Mapping[str, str]  # key -> why its texts are invalid, in a sentence
    version: list[str]  # texts of the link's format version


def parse(raw: bytes, ignored_key: str = "") -> ParsedQuery:
    """Parse a query string, ignoring unknown keys and `ignored_key`.

    Raises:
        HeadlightError: the query is too long or not encoded text.
    """
    if len(raw) > MAX_QUERY_BYTES:
        raise HeadlightError(f"a query may have {MAX_QUERY_BYTES:,} bytes, this one has {len(raw):,}")
    try:
        raw_pairs = parse_qsl(raw.decode("ascii"), True, encoding="utf-8", errors="strict", max_num_fields=MAX_PAIRS)
    except ValueError:
        raise HeadlightError("the query is not UTF-8 (percent-encoded)") from None
    pairs = tuple(sorted((key, text) for key, text in raw_pairs if key in FIELDS and key != ignored_key))
    by_key: dict[str, list[str]] = {}
    for key, text in pairs:
        by_key.setdefault(key, []).append(text)
    values, errors = dict[str, Any](), dict[str, str]()
    for key, texts in by_key.items():
        try:
            values[key] = _value(FIELDS[key], texts)
        except HeadlightError as error:
            errors[key] = str(error)
    return ParsedQuery(pairs, by_key, values, errors, [text for key, text in raw_pairs if key == link_version.KEY])


class Query:
    """The values of a page's controls, read from a link's query. Raises as `parse`.

    `minilm_cursor` is the page's default cursor in MiniLM, "" for that of the model.
    """

    def __init__(self, raw: bytes, *, minilm_cursor: str = "", ignored_key: str = "") -> None:
        self.parsed = parse(raw, ignored_key)
        self.pairs, self._minilm_cursor = self.parsed.pairs, minilm_cursor
        self.name = self.parsed.texts.get("model", [MINILM])[0]  # of the model, not yet checked

    def __getitem__(self, key: str) -> Any:
        """Return the value of a control, its default if the query does not set it. Raises for an invalid value."""
        if key in self.parsed.errors:
            raise HeadlightError(self.parsed.errors[key])
        return self.parsed.values[key] if key in self.parsed.values else self.default(key)

    def default(self, key: str) -> Any:
        """Return the default of a key."""
        return self.defaults.get(key, FIELDS[key].default)

    def read(self, key: str) -> Any:
        """Return the model-specific value of a key of `READERS`. Raises a HeadlightError if there is none."""
        return READERS[key](self, key)

    def reject(self, key: str, sentence: str, fallback: T, usable: Sequence[str] = (), more: str = "") -> T:
        """Raise a HeadlightError for a value that the model does not support.

        A lenient query returns `fallback`, the nearest supported value, of which the link has the texts `usable`; its
        warning ends with `more`.
        """
        raise HeadlightError(sentence)

    @cached_property
    def model(self) -> Model:
        """The model. Raises a HeadlightError for an unknown name."""
        return pictures.model_on(self.device, self.name)

    def lacks(self, ability: str) -> str:
        """Return why the model lacks an ability, in a sentence; "" if it has it."""
        return "" if ability in self.model.can else models.reason(self.model, ability)

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of layers and heads of the model."""
        return self.model.sizes.n_layers, self.model.sizes.n_heads

    @cached_property
    def device(self) -> str:
        """The device, as in `Settings`, where the best one is "auto"."""
        device, present, error = self.parsed.values.get("dev"), devices.available(), self.parsed.errors.get("dev")
        if device not in (None, *present):
            error = f"the device “{device:.20}” is not available; choose one of {', '.join(present)}"
        if error:
            device = self.reject("dev", error, present[0])
        return "auto" if device in (None, present[0]) else device

    def settings(self, side: str = "", text: str = "") -> Settings:
        """Return the settings of a picture, of the right of two sides with the suffix "2".

        `text` is the sentence if the link has none.
        """
        rule, painted = self.mask(side)
        return Settings(
            text=self[f"s{side}"] or text,
            mask=rule,
            position=self.read(f"pos{side}"),
            temperature=self[f"t{side}"],
            device=self.device,
            painted=painted,
            model=self.name,
            values_off=self.read(f"unheard{side}"),
            **self.read(f"off{side}"),
        )

    @property
    def cursor(self) -> Cursor:
        """The cursor, whose row and key may be outside the sentence."""
        cursor: Cursor = self.read("at")
        return cursor

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """Defaults that differ from the table on this page and for this model."""
        first = {"at": self._minilm_cursor} if self._minilm_cursor and self.name == MINILM else {}
        return get_source(self.name).defaults | first

    def mask(self, side: str) -> tuple[str, str]:
        """Return the rule as an expression and the painted cells."""
        kind = self[f"mask{side}"]
        if kind not in RULE_KEYS:
            return ":".join([kind, *(str(self[f"{key}{side}"]) for key in MASKS[kind])]), ""
        return self.rule(f"{RULE_KEYS[kind]}{side}"), self.read(f"p{side}")

    def rule(self, key: str) -> str:
        """Return the rule of a key in its normal form."""
        rule = self[key]
        if not rules.is_usable(rule):
            raise HeadlightError("this is not a valid rule of a mask")
        return rules.normalize(rule)


def _read_painting(query: Query, key: str) -> str:
    """Return the painted cells in their normal form, "" while the mask is not painted."""
    if query[f"mask{key[1:]}"] != "painted":
        return ""
    cells = mask_codec.normalize(query[key], query.sizes[1])
    return query.reject(key, "this is not a valid painted mask", "") if cells is None else cells


def _read_position(query: Query, key: str) -> str:
    """Return the positional encoding as `Model.run` takes it."""
    core = POSITIONS[query[key]]
    is_supported = core in models.encodings(query.model)
    return core if is_supported else query.reject(key, "this model cannot take these positions", "trained")


def _read_parts_off(query: Query, key: str) -> dict[str, Any]:
    """Return the ablated heads, MLPs and layers as arguments of `Settings`."""
    parts, names = parts_by_name(*query.sizes), query[key]
    fixed = {f"{ability}_off": why for ability in ("mlps", "layers") if (why := query.lacks(ability))}
    usable = [name for name in names if name in parts and parts[name][0] not in fixed]
    off = ablated_parts(usable, *query.sizes)
    if len(usable) == len(names):
        return off
    wrong = min(set(names) - set(usable))
    why = fixed.get(parts[wrong][0], "") if wrong in parts else ""
    noun = "MLP" if wrong.endswith(" MLP") else "layer" if wrong[1:].isdigit() else "head"
    return query.reject(key, why or f"this model has no {noun} “{wrong:.20}”", off, usable, why and f" {why}")


def _read_values_off(query: Query, key: str) -> tuple[int, ...]:
    """Return the sorted places of tokens whose values are zeroed."""
    places = parse_places(query[key])
    return query.reject(key, "“unheard” of a link has places of tokens, as 0-4", ()) if places is None else places


def _read_cursor(query: Query, key: str) -> Cursor:
    sentence, default = f"this model has no head “{query[key]:.20}”", Cursor.from_text(query.default(key))
    return parse_at(query[key], *query.sizes) or query.reject(key, sentence, default)


def _read_display_options(query: Query, key: str) -> DisplayOptions:
    sentence = "“look” of a link is how the maps are drawn, as linear_nospecials"
    return parse_look(query[key], *query.sizes) or query.reject(key, sentence, DisplayOptions())


_SIDE_READERS = {"p": _read_painting, "pos": _read_position, "off": _read_parts_off, "unheard": _read_values_off}
# key -> reader of its model-specific value
READERS: dict[str, Callable[[Query, str], Any]] = {
    "at": _read_cursor,
    "look": _read_display_options,
    **{f"{key}{side}": reader for key, reader in _SIDE_READERS.items() for side in ("", "2")},
}


def _value(field: Field, texts: Sequence[str]) -> Any:
    """Return the value of a key. Raises a HeadlightError for a value that no control could have."""
    if len(texts) > (MAX_CHOICES if field.kind == "choices" else 1):
        raise HeadlightError(f"the link says “{field.key}” {len(texts)} times")
    for text in texts:
        _check(field, text)
    if field.kind == "choices":
        return list(texts)
    text = texts[0]
    if field.kind == "switch" and text not in _SWITCHES:
        raise HeadlightError(f"“{field.key}” of a link is true or false")
    return _number(field, text) if field.kind == "number" else _SWITCHES[text] if field.kind == "switch" else text


def _check(field: Field, text: str) -> None:
    """Check the length of a text and that it is one of the choices. Raises a HeadlightError."""
    if len(text) > field.max_length:
        limit = f"{field.max_length:,} characters, here it has {len(text):,}"
        raise HeadlightError(f"“{field.key}” of a link may have {limit}")
    if field.choices and text not in field.choices:
        several = len(field.choices) > MAX_NAMED
        allowed = f"{field.choices[0]} to {field.choices[-1]}" if several else f"one of {', '.join(field.choices)}"
        raise HeadlightError(f"“{field.key}” of a link is {allowed}")


def _number(field: Field, text: str) -> float:
    """Return a number within the range of its field, an int if the default is one."""
    low, high = field.range
    try:
        number = float(text) if len(text) <= 30 else math.nan
    except ValueError:
        number = math.nan
    is_int = isinstance(field.default, int)
    if not low <= number <= high or (is_int and number != int(number)):
        raise HeadlightError(f"“{field.key}” of a link is a {'whole ' * is_int}number from {low:g} to {high:g}")
    return int(number) if is_int else number
