"""The query of a public link, parsed by the table of fields into the settings of a picture: without the app's script.

What no control could say is an error here, one sentence; `link_query.LinkQuery` leaves it out and says so.
"""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from headlight.link import link_version, mask_codec, rules
from headlight.link.fields import FIELDS, MASKS, Field
from headlight.link.limits import MOST_CHOSEN, POSITIONS
from headlight.link.place import At, named_heads, parse_at, parse_places
from headlight.registry import MINILM, models, source_of
from mha_core import Model
from mha_core import device as devices
from mha_core.errors import HeadlightError

from . import pictures
from .settings import Settings

LONGEST = 60_000  # bytes: two sentences and a pinned one, whose every character may take nine
MOST_PAIRS = 2_000
# The kinds of masks that are written out, each with the key of its rule.
WRITTEN = {"combination": "rule", "painted": "on"}
MOST_NAMED = 12  # choices that an error lists
_SWITCHES = {"true": True, "false": False}


class Query:
    """The values that a link gives to the controls of a page; each is checked when it is asked for.

    Args:
        raw: what stands behind the question mark. Keys of no control are left out.
        minilm_at: where the page looks first in MiniLM, if not where others do.

    Raises:
        HeadlightError: it is too long, or no text.
    """

    def __init__(self, raw: bytes, *, minilm_at: str = "") -> None:
        if len(raw) > LONGEST:
            raise HeadlightError(f"a query may have {LONGEST:,} bytes, this one has {len(raw):,}")
        try:
            pairs = parse_qsl(raw.decode("ascii"), True, encoding="utf-8", errors="strict", max_num_fields=MOST_PAIRS)
        except ValueError:
            raise HeadlightError("the query is not UTF-8 in percent signs") from None
        self.pairs = tuple(sorted((key, text) for key, text in pairs if key in FIELDS))
        self.version = [text for key, text in pairs if key == link_version.KEY]
        self._minilm_at = minilm_at

    def __getitem__(self, key: str) -> Any:
        """The value of a control, its default where the query says nothing.

        Raises:
            HeadlightError: no control of that key could say this.
        """
        field, texts = FIELDS[key], [text for own, text in self.pairs if own == key]
        if not texts:
            return self.defaults.get(key, field.default)
        if len(texts) > (MOST_CHOSEN if field.kind == "choices" else 1):
            raise HeadlightError(f"the link says “{key}” {len(texts)} times")
        for text in texts:
            _check(field, text)
        return texts if field.kind == "choices" else _value(field, texts[0])

    @cached_property
    def name(self) -> str:
        """The name of its model; whether there is one, `model` says."""
        return self["model"] if any(key == "model" for key, _ in self.pairs) else MINILM

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
        chosen, present = self["dev"], devices.available()
        if chosen not in (None, *present):
            raise HeadlightError(f"the device “{chosen:.20}” is not here; there are {', '.join(present)}")
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
            position=self.position(side),
            temperature=self[f"t{side}"],
            heads_off=self.heads_off(side),
            device=self.device,
            painted=painted,
            model=self.name,
            values_off=self.values_off(side),
        )

    @property
    def at(self) -> At:
        """The place looked at; the sentence may lack its row or key."""
        found = parse_at(self["at"], *self.sizes)
        if found is None:
            raise HeadlightError(f"this model has no head “{self['at']:.20}”")
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
        return self.rule(f"{WRITTEN[kind]}{side}"), self.painted(side) if kind == "painted" else ""

    def rule(self, key: str) -> str:
        """The rule that a control of this key says, in its one spelling."""
        rule = self[key]
        if not rules.usable(rule):
            raise HeadlightError("this is not a valid rule of a mask")
        return rules.plain(rule)

    def painted(self, side: str) -> str:
        """The cells that are painted, in use or not, in their one spelling."""
        cells = mask_codec.usable(self[f"p{side}"], self.sizes[1])
        if cells is None:
            raise HeadlightError("this is not a valid painted mask")
        return cells

    def position(self, side: str) -> str:
        """The encoding, as `Model.run` takes it."""
        core = POSITIONS[self[f"pos{side}"]]
        if core not in models.encodings(self.model):
            raise HeadlightError("this model cannot take these positions")
        return core

    def heads_off(self, side: str) -> tuple[tuple[int, int], ...]:
        """Heads that are switched off, as sorted (layer, head) pairs."""
        pairs, chosen = named_heads(*self.sizes), set(self[f"off{side}"])
        if not chosen <= set(pairs):
            raise HeadlightError(f"this model has no head “{min(chosen - set(pairs)):.20}”")
        return tuple(sorted(pairs[name] for name in chosen))

    def values_off(self, side: str) -> tuple[int, ...]:
        """Sorted places of tokens whose value no other token mixes in."""
        places = parse_places(self[f"unheard{side}"])
        if places is None:
            raise HeadlightError("“unheard” of a link has places of tokens, as 0-4")
        return places


def _value(field: Field, text: str) -> Any:
    """The value of a control that says one thing, from a text that `_check` lets through."""
    if field.kind == "number":
        return _number(field, text)
    if field.kind == "switch" and text not in _SWITCHES:
        raise HeadlightError(f"“{field.key}” of a link is true or false")
    return _SWITCHES[text] if field.kind == "switch" else text


def _check(field: Field, text: str) -> None:
    """Raises a HeadlightError for a text that is too long, or not among the choices."""
    if len(text) > field.longest:
        had = f"{field.longest:,} characters, here it has {len(text):,}"
        raise HeadlightError(f"“{field.key}” of a link may have {had}")
    if field.choices and text not in field.choices:
        several = len(field.choices) > MOST_NAMED
        named = f"{field.choices[0]} to {field.choices[-1]}" if several else f"one of {', '.join(field.choices)}"
        raise HeadlightError(f"“{field.key}” of a link is {named}")


def _number(field: Field, text: str) -> float:
    """A number within the ends of its field, whole where its default is."""
    least, most = field.ends
    try:
        number = float(text) if len(text) <= 30 else math.nan
    except ValueError:
        number = math.nan
    whole = isinstance(field.default, int)
    if not least <= number <= most or (whole and number != int(number)):
        raise HeadlightError(f"“{field.key}” of a link is a {'whole ' * whole}number from {least:g} to {most:g}")
    return int(number) if whole else number
