"""The lenient reader of link queries, which replaces unusable values by defaults and adds warnings."""

from bisect import bisect
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from math import floor
from typing import Any, TypedDict, TypeVar

from headlight.link import link_version
from headlight.link.cursor import Cursor, DisplayOptions
from headlight.link.fields import FIELDS, SIDE_KEYS
from headlight.link.limits import MAX_RULE_LENGTH, MAX_TEXT_LENGTH, MAX_TOKENS
from headlight.link.presets import NAMES
from headlight.queue.policy import QueueFull
from headlight.registry import MINILM, album, get_source, models
from headlight.ui.numbers import count, cut
from mha_core import Model
from mha_core import device as devices
from mha_core.errors import HeadlightError, TooLong, Unsupported
from mha_core.masks.syntax import FORMS
from mha_core.pretrained.audio_processor import AudioProcessor
from mha_core.pretrained.hf_model import HfModel

from . import pictures, words
from .query import READERS, Query
from .settings import Settings

T = TypeVar("T")
COMMON_KEYS = (link_version.KEY, "model", "dev", "big")  # keys of every page
SHARPER_TEMPERATURE = 0.5  # the temperature of a right side of which nothing else can be changed
# While one of these texts cannot be used, the view keeps the last one that could.
TEXT_KEYS = ("s", "s2", "rule", "rule2", "on", "on2", "order", "pad")
WRITTEN_FORMS = f"Write {FORMS}: documents:5 starts a document at token 5, and unseen:4 hides token 4 from all others."
NOT_A_RULE = (
    f"This is not a valid mask rule (at most {MAX_RULE_LENGTH} characters, numbers below 1,000). {WRITTEN_FORMS}"
)


class PictureAnswer(TypedDict):
    """The fields that every picture's answer has."""

    digest: str
    model: str  # its name in the link
    texts: dict[str, str]  # key -> the text that the picture is of
    unusable: dict[str, list[str]]  # unusable keys of the link, each with its usable part
    warnings: list[str]  # the warnings about them, also among the notices
    defaults: dict[str, str | list[str]]  # key -> its value if the link does not set it
    notices: list[str]
    presets: Sequence[str]
    presetNames: Sequence[str]  # a short label of each preset, "" if the text itself is clear
    positions: list[tuple[str, str]]  # encodings that the model supports, each with its effect
    ownMask: str  # expression of the mask that is built into the model
    fixed: Mapping[str, str]  # keys of controls without effect in this model -> why
    groups: Sequence[str]  # kinds of attention in the model
    group: str  # that of the picture
    groupNames: Sequence[str]  # their labels
    layers: int
    heads: int
    layer: int
    head: int
    row: int
    key: int | None


class UnusableText(HeadlightError):
    """A text that cannot be used.

    Attributes:
        key: the key of its field.
        fits: number of its leading characters that can be used, 0 if none.
    """

    def __init__(self, key: str, sentence: str, fits: int = 0) -> None:
        super().__init__(sentence)
        self.key = key
        self.fits = fits


class LinkQuery(Query):
    """A lenient query: only an unusable text raises, and every other unusable value is replaced by the nearest one.

    With `takes_model` the page shows the model of the link, otherwise MiniLM.
    """

    def __init__(self, raw: bytes, *, minilm_cursor: str = "", takes_model: bool = True) -> None:
        super().__init__(raw, minilm_cursor=minilm_cursor, ignored_key="" if takes_model else "model")
        version = link_version.version_warning(self.parsed.version)
        self.warnings = {link_version.KEY: version} if version else {}  # about unusable values, by key
        # the same keys, each with the part of its values that is usable, which the address must show instead
        self.unusable: dict[str, list[str]] = {link_version.KEY: []} if version else {}
        try:
            get_source(self.name).check()
        except HeadlightError as error:
            self.name = self.ignore("model", MINILM, f" {words.error_sentence(error)}")

    def __getitem__(self, key: str) -> Any:
        return self.default(key) if key in self.unusable else self.values[key]

    def read(self, key: str) -> Any:
        """Return the model-specific value of a key of `READERS`, or the nearest that the model supports."""
        return self.readings[key]

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """Values of all controls, with defaults in place of unusable ones.

        Texts are only cut to their bound; each is checked where it is used.
        """
        _ = self.model  # loaded first, as a fallback changes the model's name and defaults
        return {key: self._value(key) for key in FIELDS}

    @cached_property
    def readings(self) -> Mapping[str, Any]:
        """Model-specific values of all keys of `READERS`, or the nearest that the model supports."""
        return {key: reader(self, key) for key, reader in READERS.items()}

    def reject(self, key: str, sentence: str, fallback: T, usable: Sequence[str] = (), more: str = "") -> T:
        """Mark a key as unusable and return the nearest value that the model supports."""
        return self.ignore(key, fallback, more, usable)

    def _value(self, key: str) -> Any:
        base, texts, parsed = key.removesuffix("2"), self.parsed.texts.get(key), self.parsed.values
        if texts is None or key in self.unusable:
            return self.default(key)
        if base in SIDE_KEYS and (why := self.fixed.get(base)):
            return self.ignore(key, FIELDS[base].default, f" {why}")
        if key in ("s", "s2") and (why := self._text_rejection(key, texts[0])):
            return self.ignore(key, self.default(key), f" {why}")
        if key in parsed:
            return parsed[key]
        is_one_text = key in TEXT_KEYS and len(texts) == 1
        return texts[0][: FIELDS[key].max_length] if is_one_text else self.ignore(key, self.default(key))

    def _text_rejection(self, key: str, text: str) -> str:
        """Return why a model that reads preset sentences alone rejects this one, "" if it accepts it."""
        is_unset = key == "s2" and (not text or self.parsed.values.get("model2"))
        is_allowed = is_unset or text in get_source(self.name).presets or album.has_media(text)
        return "" if is_allowed else self.fixed.get("s", "")

    @cached_property
    def fixed(self) -> Mapping[str, str]:
        """Controls without effect in the model, as `models.fixed`."""
        return models.disabled_controls(self.model)

    def default(self, key: str) -> Any:
        """Return the value of a control that the link does not set."""
        if key == "t2" and {"pos", "mask"} <= set(self.fixed) and "t" not in self.fixed:
            return SHARPER_TEMPERATURE  # only the temperature can differ
        if key == "pos2" and ("pos" in self.fixed or self.parsed.values.get("model2")):
            return "as trained"  # the sides differ in their models or not at all
        return devices.available()[0] if key == "dev" else super().default(key)

    @cached_property
    def model(self) -> Model:
        """The model, with the default kind of attention if it lacks the one in the link.

        Raises:
            UnusableText: it cannot be loaded.
        """
        source = get_source(self.name)
        try:
            return pictures.model_on(self.device, self.name)
        except QueueFull:
            raise
        except HeadlightError as error:
            if not (source.group and isinstance(error, Unsupported)):
                raise UnusableText("model", words.error_sentence(error)) from error
            self.name = source.name
            self.ignore("model", more=f" {words.error_sentence(error)}", usable=[source.name])
            return pictures.model_on(self.device, source.name)

    def fitted_settings(
        self, side: str = "", text: str = "", *, max_tokens: int | None = MAX_TOKENS
    ) -> tuple[Settings, list[str]]:
        """Return the settings of a side that its sentence supports, and warnings about the others.

        The arguments are those of `settings` and `pictures.fit_settings`.

        Raises:
            UnusableText: a sentence or a rule cannot be used.
        """
        settings = self.settings(side, text)
        try:
            fitted, warnings = pictures.fit_settings(settings, max_tokens)
            return fitted, [*warnings, *words.ablation_notes(fitted, self.model)]
        except HeadlightError as error:
            fits = _longest_fit(settings, max_tokens)
            message = words.error_sentence(error)
            if isinstance(error, TooLong):
                message = _too_long(self.model, error, settings.text[fits:])
            raise UnusableText(f"s{side}" if self[f"s{side}"] else "s", message, fits) from error

    def place(self, tokens: Sequence[str], columns: Sequence[str] | None = None) -> Cursor:
        """Return the cursor in a sentence, with a row and a key; `columns` are the keys if they differ."""
        cursor = self.cursor
        if not cursor.fits(tokens, columns):
            self.ignore("at", usable=[f"{cursor.layer}.{cursor.head}"])
        return cursor.resolve(tokens, columns, is_generative=get_source(self.name).is_generative)

    @property
    def look(self) -> DisplayOptions:
        """Display options of the maps."""
        options: DisplayOptions = self.read("look")
        return options

    def rule(self, key: str) -> str:
        """Return the rule in its normal form, as `Query.rule`. Raises UnusableText for an invalid rule."""
        try:
            return super().rule(key)
        except HeadlightError as error:
            raise UnusableText(key, NOT_A_RULE) from error

    def ignore(self, key: str, value: T = None, more: str = "", usable: Sequence[str] = ()) -> T:  # type: ignore[assignment]
        """Mark a key as unusable and add a warning, once; return `value`, which is used instead.

        `more` is a further sentence of the warning, `usable` the part of the link's values that is used.
        """
        if key not in self.unusable:
            self.unusable[key] = list(usable)
            fallback = "the default"
            if FIELDS[key].kind != "text":
                default = to_param(self.default(key))
                fallback = cut(default if isinstance(default, str) else ", ".join(default), 40) or "nothing"
            replacement = cut(", ".join(usable), 40) or fallback
            self.warnings[key] = warning_text(key, self.parsed.texts.get(key, []), replacement) + more
        return value

    def warning_texts(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the warnings about these keys and about those of every page."""
        return {key: warning for key, warning in self.warnings.items() if key in (*keys, *COMMON_KEYS)}


def _longest_fit(settings: Settings, max_tokens: int | None = MAX_TOKENS) -> int:
    """Return the length of the longest prefix of a text that fits, cut at a word; 0 if all fits."""
    text, model = settings.text[:MAX_TEXT_LENGTH], pictures.model_for(settings)

    def is_too_long(end: int) -> bool:
        try:
            tokens, _ = model.tokenize(text[:end])
        except HeadlightError:
            return True
        return max_tokens is not None and len(tokens) > max_tokens

    length = bisect(range(1, len(text) + 1), 0, key=is_too_long)
    if length == len(settings.text):
        return 0
    cut = text[: length + 1] if settings.text[length].isspace() else text[:length].rpartition(" ")[0]
    return len(cut.rstrip()) or length


def _too_long(model: Model, error: TooLong, rest: str) -> str:
    """Return the message about too many tokens; `rest` is the part of the text that does not fit."""
    limit = f"{'here it may have' if error.limit < model.sizes.max_len else 'the model can read'} {error.limit}"
    if isinstance(model, HfModel) and isinstance(model.preprocessor, AudioProcessor):
        seconds = error.limit * model.preprocessor.step / model.preprocessor.rate
        return f"This sound has {error.got} moments; {limit}. Shorten it to {floor(10 * seconds) / 10} s."
    return f"This text has {error.got} tokens; {limit}. Remove about {count(len(rest.split()), 'word')}."


def picture_payload(
    query: LinkQuery, keys: Collection[str], cursor: Cursor, digest: str, notices: Iterable[str], **texts: str
) -> PictureAnswer:
    """Return the fields that every picture's answer has.

    `keys` are the link's keys that the view owns, `texts` the texts of the picture by their keys.
    """
    (layers, heads), presets = query.sizes, get_source(query.name).presets
    _ = query.readings  # adds all warnings
    warnings = query.warning_texts((*keys, "mask"))  # Masks does not own the key, but reads it
    return {
        "digest": digest,
        "model": query.name,
        "texts": texts,
        "unusable": {key: query.unusable[key] for key in warnings},
        "warnings": list(warnings.values()),
        "defaults": {key: to_param(query.default(key)) for key in keys},
        "notices": list(dict.fromkeys([*warnings.values(), *words.row_notes(query.model), *notices])),
        "presets": presets,
        "presetNames": [NAMES.get(text, "") for text in presets],
        "positions": words.encodings(query.model),
        "ownMask": query.model.own_mask,
        "fixed": query.fixed,
        "groups": query.model.groups,
        "group": query.model.group,
        "groupNames": getattr(query.model, "group_names", query.model.groups),
        "layers": layers,
        "heads": heads,
        "layer": cursor.layer,
        "head": cursor.head,
        "row": cursor.row or 0,
        "key": cursor.key,
    }


def to_param(value: Any) -> str | list[str]:
    """Return a control's value as a parameter of a link, a list for several."""
    if isinstance(value, (list, tuple)):
        return list(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def warning_text(key: str, texts: Sequence[str], instead: str = "the default") -> str:
    """Return the warning that the link's texts of a key cannot be used."""
    length = max(map(len, texts), default=0)
    why = f"{length:,} characters, too long to be" if length > FIELDS[key].max_length else "which cannot be"
    return f"The link says {key}={cut(', '.join(texts), 40)}, {why} used here; {instead} is used instead."
