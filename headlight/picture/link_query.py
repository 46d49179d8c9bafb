"""The query of a visitor's link, as far as it can be used: the nearest picture, and a sentence for each other value."""

from bisect import bisect
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from math import floor
from typing import Any, TypedDict, TypeVar

from headlight.link import link_version
from headlight.link.fields import FIELDS, SIDE_KEYS
from headlight.link.limits import MAX_RULE_LENGTH, MAX_TEXT_LENGTH, MAX_TOKENS
from headlight.link.place import Cursor, DisplayOptions
from headlight.link.presets import NAMES
from headlight.registry import MINILM, album, models, source_of
from headlight.ui.numbers import count, cut
from mha_core import Model
from mha_core import device as devices
from mha_core.errors import HeadlightError, TooLong, Unsupported
from mha_core.masks.written import FORMS
from mha_core.pretrained.audio_processor import AudioProcessor
from mha_core.pretrained.hf_model import HfModel

from . import pictures, words
from .query import READERS, Query, Unusable
from .settings import Settings

T = TypeVar("T")
EVERYWHERE = (link_version.KEY, "model", "dev", "big")  # keys of every page
SHARPER = 0.5  # the temperature of a right side of which nothing else can be changed
# What a person types: while such a text cannot be used, the view keeps the last one that could.
TYPED = ("s", "s2", "rule", "rule2", "on", "on2", "order", "pad")
WRITTEN_FORMS = f"Write {FORMS}: documents:5 starts a document at token 5, and unseen:4 hides token 4 from all others."
NOT_A_RULE = (
    f"This is not a valid mask rule (at most {MAX_RULE_LENGTH} characters, numbers below 1,000). {WRITTEN_FORMS}"
)


class PictureAnswer(TypedDict):
    """What every picture says, to the query that it answers."""

    digest: str
    model: str  # its name in the link
    used: dict[str, str]  # key of a typed text -> what the picture is of
    unusable: dict[str, list[str]]  # keys of the link that cannot be used, with what of them can
    told: list[str]  # what must be said of them, which stands in notices too
    defaults: dict[str, str | list[str]]  # key -> what a link means where it says nothing
    notices: list[str]
    presets: Sequence[str]
    presetNames: Sequence[str]  # what each of them shows, in a few words; "" where its task alone says it
    positions: list[tuple[str, str]]  # that the model can take, each with what it does to it
    fixed: Mapping[str, str]  # keys of controls without effect in this model -> why
    groups: Sequence[str]  # its kinds of attention; the picture is of one of them
    group: str
    groupNames: Sequence[str]  # what they are called
    layers: int
    heads: int
    layer: int
    head: int
    row: int
    key: int | None


class Refused(HeadlightError):
    """A typed text cannot be used: `key` is that of its field, `fits` how many of its characters could be, if any."""

    def __init__(self, key: str, sentence: str, fits: int = 0) -> None:
        super().__init__(sentence)
        self.key = key
        self.fits = fits


class LinkQuery(Query):
    """A query of which nothing but a typed text is refused: the nearest value stands for every other.

    Args:
        takes_model: the page shows the model that the link names, otherwise MiniLM.

    Attributes:
        warnings: key -> what is said of a value that cannot be used.
        unusable: the same keys, each with what of it can be used, which the address must say instead.
    """

    def __init__(self, raw: bytes, *, minilm_at: str = "", takes_model: bool = True) -> None:
        super().__init__(raw, minilm_at=minilm_at, without="" if takes_model else "model")
        version = link_version.in_words(self.parsed.version)
        self.warnings = {link_version.KEY: version} if version else {}
        self.unusable: dict[str, list[str]] = {link_version.KEY: []} if version else {}
        try:
            source_of(self.name).check()
        except HeadlightError as error:
            self.name = self.ignore("model", MINILM, f" {words.sentence(error)}")

    def __getitem__(self, key: str) -> Any:
        return self.default(key) if key in self.unusable else self.values[key]

    def read(self, key: str) -> Any:
        """Return the reading of a key as `Query` does, or the nearest that the model has."""
        return self.readings[key]

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """What every control says; the default in place of what none could say.

        A typed text is cut to its bound, beyond which its own check refuses it.
        """
        _ = self.model  # first: it may not be the one that the link names
        return {key: self._value(key) for key in FIELDS}

    @cached_property
    def readings(self) -> Mapping[str, Any]:
        """Readings of all keys of `READERS` in the model, or the nearest that it has."""
        found = {}
        for key, reader in READERS.items():
            try:
                found[key] = reader(self, key)
            except Unusable as error:
                found[key] = error.nearest
                self.ignore(key, usable=error.usable)
        return found

    def _value(self, key: str) -> Any:
        base, said, parsed = key.removesuffix("2"), self.parsed.said.get(key), self.parsed.values
        if said is None or key in self.unusable:
            return self.default(key)
        if base in SIDE_KEYS and (why := self.fixed.get(base)):
            return self.ignore(key, FIELDS[base].default, f" {why}")
        if key in ("s", "s2") and (why := self._no_text(key, said[0])):
            return self.ignore(key, self.default(key), f" {why}")
        if key in parsed:
            return parsed[key]
        is_one_text = key in TYPED and len(said) == 1
        return said[0][: FIELDS[key].longest] if is_one_text else self.ignore(key, self.default(key))

    def _no_text(self, key: str, said: str) -> str:
        """Why the sentence of the link is none that the model reads, where it reads a few alone."""
        is_others = key == "s2" and (not said or self.parsed.values.get("model2"))
        known = is_others or said in source_of(self.name).presets or album.is_there(said)
        return "" if known else self.fixed.get("s", "")

    @cached_property
    def fixed(self) -> Mapping[str, str]:
        """As `models.fixed` of its model."""
        return models.fixed(self.model)

    def default(self, key: str) -> Any:
        """What a control says while the link says nothing of it."""
        if key == "t2" and {"pos", "mask"} <= set(self.fixed) and "t" not in self.fixed:
            return SHARPER  # what is left to compare
        if key == "pos2" and ("pos" in self.fixed or self.parsed.values.get("model2")):
            return "as trained"  # another model is the one thing that differs
        return devices.available()[0] if key == "dev" else super().default(key)

    @cached_property
    def model(self) -> Model:
        """Its model; as a whole where it has no attention of the kind that is named."""
        source = source_of(self.name)
        try:
            return pictures.model_on(self.device, self.name)
        except Unsupported as error:
            if not source.group:
                raise
            self.name = source.name
            self.ignore("model", more=f" {words.sentence(error)}", usable=[source.name])
            return pictures.model_on(self.device, source.name)

    @cached_property
    def device(self) -> str:
        """As in `Settings`; the best one where the one that is named is not here."""
        try:
            return super().device
        except HeadlightError:
            return self.ignore("dev", "auto")

    def fitted_settings(
        self, side: str = "", text: str = "", *, most: int | None = MAX_TOKENS
    ) -> tuple[Settings, list[str]]:
        """The settings of a side as far as its sentence can take them, and what must be said of the rest.

        Args:
            text: the sentence where the link has none.
            most: as in `pictures.within`.

        Raises:
            Refused: a sentence or a rule that cannot be used.
        """
        settings = self.settings(side, text)
        try:
            fitting, left_out = pictures.fitted(settings, most)
            pictures.tokens(fitting)
        except HeadlightError as error:
            fits = _longest_fit(settings, most)
            said = words.sentence(error)
            if isinstance(error, TooLong):
                said = _too_long(self.model, error, settings.text[fits:])
            raise Refused(f"s{side}" if self[f"s{side}"] else "s", said, fits) from error
        return fitting, left_out

    def place(self, tokens: Sequence[str], columns: Sequence[str] | None = None) -> Cursor:
        """`at` on a sentence, which must have row and key; `columns`: what has the key, where that is another."""
        at = self.at
        if not at.fits(tokens, columns):
            self.ignore("at", usable=[f"{at.layer}.{at.head}"])
        return at.on(tokens, columns, goes_on=source_of(self.name).is_generative)

    @property
    def look(self) -> DisplayOptions:
        """How the maps are drawn."""
        found: DisplayOptions = self.read("look")
        return found

    def rule(self, key: str) -> str:
        """As of a `Query`. Raises Refused for what is no rule."""
        try:
            return super().rule(key)
        except HeadlightError as error:
            raise Refused(key, NOT_A_RULE) from error

    def ignore(self, key: str, instead: T = None, more: str = "", usable: Sequence[str] = ()) -> T:  # type: ignore[assignment]
        """Says, once, that what the link says of a key cannot be used, or what of it; returns what is used instead."""
        if key not in self.unusable:
            self.unusable[key] = list(usable)
            meant = "the default"
            if FIELDS[key].kind != "text":
                default = to_param(self.default(key))
                meant = cut(default if isinstance(default, str) else ", ".join(default), 40) or "nothing"
            used = cut(", ".join(usable), 40) or meant
            self.warnings[key] = warning_text(key, self.parsed.said.get(key, []), used) + more
        return instead

    def warning_texts(self, keys: Iterable[str]) -> dict[str, str]:
        """The warnings of these keys, and of those that every page has."""
        return {key: said for key, said in self.warnings.items() if key in (*keys, *EVERYWHERE)}


def _longest_fit(settings: Settings, most: int | None = MAX_TOKENS) -> int:
    """How many characters of a text can be shown, cut behind a word; 0 where all of it can, or none.

    `most`: as in `pictures.within`.
    """
    text, model = settings.text[:MAX_TEXT_LENGTH], pictures.model_of(settings)

    def is_too_long(end: int) -> bool:
        try:
            tokens, _ = model.tokenize(text[:end])
        except HeadlightError:
            return True
        return most is not None and len(tokens) > most

    longest = bisect(range(1, len(text) + 1), 0, key=is_too_long)
    if longest == len(settings.text):
        return 0
    cut = text[: longest + 1] if settings.text[longest].isspace() else text[:longest].rpartition(" ")[0]
    return len(cut.rstrip()) or longest


def _too_long(model: Model, error: TooLong, rest: str) -> str:
    """What is said of a text or a sound that is; `rest`: of the text, what does not fit."""
    limit = f"{'here it may have' if error.limit < model.sizes.max_len else 'the model can read'} {error.limit}"
    if isinstance(model, HfModel) and isinstance(model.preprocessor, AudioProcessor):
        seconds = error.limit * model.preprocessor.step / model.preprocessor.rate
        return f"This sound has {error.got} moments; {limit}. Shorten it to {floor(10 * seconds) / 10} s."
    return f"This text has {error.got} tokens; {limit}. Remove about {count(len(rest.split()), 'word')}."


def picture_payload(
    query: LinkQuery, keys: Collection[str], at: Cursor, digest: str, notices: Iterable[str], **used: str
) -> PictureAnswer:
    """What every picture says of its query.

    Args:
        keys: of the link, that the view owns.
        at: the place looked at, in the sentence.
        notices: what must be said beside what cannot be used.
        used: the typed texts that the picture is of, by their keys.
    """
    (layers, heads), presets = query.sizes, source_of(query.name).presets
    _ = query.readings  # with which every warning is there
    told = query.warning_texts((*keys, "mask"))  # which on Masks begins with another value than the table says
    return {
        "digest": digest,
        "model": query.name,
        "used": used,
        "unusable": {key: query.unusable[key] for key in told},
        "told": list(told.values()),
        "defaults": {key: to_param(query.default(key)) for key in keys},
        "notices": list(dict.fromkeys([*told.values(), *words.of_rows(query.model), *notices])),
        "presets": presets,
        "presetNames": [NAMES.get(text, "") for text in presets],
        "positions": words.encodings(query.model),
        "fixed": query.fixed,
        "groups": query.model.groups,
        "group": query.model.group,
        "groupNames": getattr(query.model, "group_names", query.model.groups),
        "layers": layers,
        "heads": heads,
        "layer": at.layer,
        "head": at.head,
        "row": at.row or 0,
        "key": at.key,
    }


def to_param(value: Any) -> str | list[str]:
    """A control's value as a link writes it; several in a list."""
    if isinstance(value, (list, tuple)):
        return list(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def warning_text(key: str, said: Sequence[str], instead: str = "the default") -> str:
    """That what a link says of a key cannot be used."""
    longest = max(map(len, said), default=0)
    why = f"{longest:,} characters, too long to be" if longest > FIELDS[key].longest else "which cannot be"
    return f"The link says {key}={cut(', '.join(said), 40)}, {why} used here; {instead} is used instead."
