"""The query of a public link: parsed once by the table of fields, and read as the settings of a picture in its model.

What no control could say is an error here, one sentence; `link_query.LinkQuery` leaves it out and says so.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from headlight.link import link_version, mask_codec, rules
from headlight.link.fields import FIELDS, MASKS, Field
from headlight.link.limits import MAX_CHOSEN, POSITIONS
from headlight.link.place import Cursor, DisplayOptions, named_heads, parse_at, parse_look, parse_places
from headlight.registry import MINILM, models, source_of
from mha_core import Model
from mha_core import device as devices
from mha_core.errors import HeadlightError

from . import pictures
from .settings import Settings

MAX_BYTES = 60_000  # bytes: two sentences and a pinned one, whose every character may take nine
MAX_PAIRS = 2_000
# The kinds of masks that are written out, each with the key of its rule.
WRITTEN = {"combination": "rule", "painted": "on"}
MAX_NAMED = 12  # choices that an error lists
_SWITCHES = {"true": True, "false": False}


class Unusable(HeadlightError):
    """What a link says of a key cannot be used in its model: the nearest value that can, and what of the text can."""

    def __init__(self, sentence: str, nearest: Any, usable: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.nearest, self.usable = nearest, list(usable)


@dataclass(frozen=True)
class Parsed:
    """What a link says, as far as the table of fields tells.

    Attributes:
        pairs: sorted keys and texts, of the keys that a control has.
        said: the same, key -> its texts.
        values: key -> what its control says.
        errors: key -> why no control could say that, in a sentence.
        version: of the link's format, as it stands there.
    """

    pairs: tuple[tuple[str, str], ...]
    said: Mapping[str, list[str]]
    values: Mapping[str, Any]
    errors: Mapping[str, str]
    version: list[str]


def parse(raw: bytes, without: str = "") -> Parsed:
    """Parse what stands behind the question mark; `without`: a key that does not count, as those of no control.

    Raises:
        HeadlightError: it is too long, or no text.
    """
    if len(raw) > MAX_BYTES:
        raise HeadlightError(f"a query may have {MAX_BYTES:,} bytes, this one has {len(raw):,}")
    try:
        found = parse_qsl(raw.decode("ascii"), True, encoding="utf-8", errors="strict", max_num_fields=MAX_PAIRS)
    except ValueError:
        raise HeadlightError("the query is not UTF-8 in percent signs") from None
    pairs = tuple(sorted((key, text) for key, text in found if key in FIELDS and key != without))
    said: dict[str, list[str]] = {}
    for key, text in pairs:
        said.setdefault(key, []).append(text)
    values, errors = dict[str, Any](), dict[str, str]()
    for key, texts in said.items():
        try:
            values[key] = _value(FIELDS[key], texts)
        except HeadlightError as error:
            errors[key] = str(error)
    return Parsed(pairs, said, values, errors, [text for key, text in found if key == link_version.KEY])


class Query:
    """The values that a link gives to the controls of a page.

    Args:
        raw: as of `parse`.
        minilm_at: where the page looks first in MiniLM, if not where others do.
        without: as of `parse`.

    Attributes:
        pairs: as of `Parsed`.
        name: of its model; whether there is one, `model` says.

    Raises:
        HeadlightError: as `parse`.
    """

    def __init__(self, raw: bytes, *, minilm_at: str = "", without: str = "") -> None:
        self.parsed = parse(raw, without)
        self.pairs, self._minilm_at = self.parsed.pairs, minilm_at
        self.name = self.parsed.said.get("model", [MINILM])[0]

    def __getitem__(self, key: str) -> Any:
        """The value of a control, its default where the query says nothing.

        Raises:
            HeadlightError: no control of that key could say this.
        """
        if key in self.parsed.errors:
            raise HeadlightError(self.parsed.errors[key])
        return self.parsed.values[key] if key in self.parsed.values else self.default(key)

    def default(self, key: str) -> Any:
        """Return the default of a key."""
        return self.defaults.get(key, FIELDS[key].default)

    def read(self, key: str) -> Any:
        """Return the reading of a key of `READERS` in the model. Raises a HeadlightError where it has none."""
        return READERS[key](self, key)

    @cached_property
    def model(self) -> Model:
        """Its model. Raises a HeadlightError for a name that is not in the list."""
        return pictures.model_on(self.device, self.name)

    @property
    def sizes(self) -> tuple[int, int]:
        """Layers and heads of the model."""
        return self.model.sizes.n_layers, self.model.sizes.n_heads

    @property
    def device(self) -> str:
        """As in `Settings`: the best one is "auto"."""
        chosen, present = Query.__getitem__(self, "dev"), devices.available()
        if chosen not in (None, *present):
            raise HeadlightError(f"the device “{chosen:.20}” is not available; choose one of {', '.join(present)}")
        return "auto" if chosen in (None, present[0]) else chosen

    def settings(self, side: str = "", text: str = "") -> Settings:
        """What a picture is asked with; of two sides one has a key of its own for everything.

        Args:
            text: the sentence where the link has none.
        """
        rule, painted = self.mask(side)
        return Settings(
            text=self[f"s{side}"] or text,
            mask=rule,
            position=self.read(f"pos{side}"),
            temperature=self[f"t{side}"],
            heads_off=self.read(f"off{side}"),
            device=self.device,
            painted=painted,
            model=self.name,
            values_off=self.read(f"unheard{side}"),
        )

    @property
    def at(self) -> Cursor:
        """The place looked at; the sentence may lack its row or key."""
        found: Cursor = self.read("at")
        return found

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """Those that differ on this page, for this model."""
        first = {"at": self._minilm_at} if self._minilm_at and self.name == MINILM else {}
        return source_of(self.name).defaults | first

    def mask(self, side: str) -> tuple[str, str]:
        """The rule in written form, and what is painted on it."""
        kind = self[f"mask{side}"]
        if kind not in WRITTEN:
            return ":".join([kind, *(str(self[f"{key}{side}"]) for key in MASKS[kind])]), ""
        return self.rule(f"{WRITTEN[kind]}{side}"), self.read(f"p{side}")

    def rule(self, key: str) -> str:
        """The rule that a control of this key says, in its one spelling."""
        rule = self[key]
        if not rules.usable(rule):
            raise HeadlightError("this is not a valid rule of a mask")
        return rules.plain(rule)


def _painted(query: Query, key: str) -> str:
    """The cells that are painted, in their one spelling; "" while they are not in use."""
    if query[f"mask{key[1:]}"] != "painted":
        return ""
    cells = mask_codec.usable(query[key], query.sizes[1])
    if cells is None:
        raise Unusable("this is not a valid painted mask", "")
    return cells


def _position(query: Query, key: str) -> str:
    """The encoding, as `Model.run` takes it."""
    core = POSITIONS[query[key]]
    if core not in models.encodings(query.model):
        raise Unusable("this model cannot take these positions", "trained")
    return core


def _heads_off(query: Query, key: str) -> tuple[tuple[int, int], ...]:
    """Heads that are switched off, as sorted (layer, head) pairs."""
    pairs, chosen = named_heads(*query.sizes), query[key]
    usable = [name for name in chosen if name in pairs]
    found = tuple(sorted({pairs[name] for name in usable}))
    if len(usable) < len(chosen):
        raise Unusable(f"this model has no head “{min(set(chosen) - set(pairs)):.20}”", found, usable)
    return found


def _values_off(query: Query, key: str) -> tuple[int, ...]:
    """Sorted places of tokens whose value no other token mixes in."""
    places = parse_places(query[key])
    if places is None:
        raise Unusable("“unheard” of a link has places of tokens, as 0-4", ())
    return places


def _at(query: Query, key: str) -> Cursor:
    found = parse_at(query[key], *query.sizes)
    if found is None:
        raise Unusable(f"this model has no head “{query[key]:.20}”", Cursor.of(query.default(key)))
    return found


def _look(query: Query, key: str) -> DisplayOptions:
    """Display options of the maps."""
    found = parse_look(query[key], *query.sizes)
    if found is None:
        raise Unusable("“look” of a link is how the maps are drawn, as linear_nospecials", DisplayOptions())
    return found


_OF_SIDE = {"p": _painted, "pos": _position, "off": _heads_off, "unheard": _values_off}
# what a key means in a model: its head, its encoding …
READERS: dict[str, Callable[[Query, str], Any]] = {
    "at": _at,
    "look": _look,
    **{f"{key}{side}": reader for key, reader in _OF_SIDE.items() for side in ("", "2")},
}


def _value(field: Field, texts: Sequence[str]) -> Any:
    """Return the value of a key. Raises a HeadlightError for a value that no control could have."""
    if len(texts) > (MAX_CHOSEN if field.kind == "choices" else 1):
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
    """Raises a HeadlightError for a text that is too long, or not among the choices."""
    if len(text) > field.longest:
        had = f"{field.longest:,} characters, here it has {len(text):,}"
        raise HeadlightError(f"“{field.key}” of a link may have {had}")
    if field.choices and text not in field.choices:
        several = len(field.choices) > MAX_NAMED
        named = f"{field.choices[0]} to {field.choices[-1]}" if several else f"one of {', '.join(field.choices)}"
        raise HeadlightError(f"“{field.key}” of a link is {named}")


def _number(field: Field, text: str) -> float:
    """A number within the ends of its field, whole where its default is."""
    least, most = field.range
    try:
        number = float(text) if len(text) <= 30 else math.nan
    except ValueError:
        number = math.nan
    whole = isinstance(field.default, int)
    if not least <= number <= most or (whole and number != int(number)):
        raise HeadlightError(f"“{field.key}” of a link is a {'whole ' * whole}number from {least:g} to {most:g}")
    return int(number) if whole else number
