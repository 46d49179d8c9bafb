"""The recipe of a training run, which determines its weights bitwise for given data and threads."""

import math
import re
from dataclasses import dataclass, fields, replace
from typing import Any, Self, get_args, get_origin, get_type_hints

from ..errors import HeadlightError, SizeError

NOT_A_NUMBER = "not a number"
ENDS = ("steps", "target", "time", "stopped", NOT_A_NUMBER)  # the reasons why a run may end
_MAX_NAME_LENGTH = 100  # characters of a name
_MAX_INTEGER = 2**53  # larger integers are not all exact as floats
_SURROGATE = re.compile("[\ud800-\udfff]")  # a lone surrogate is no character
# fields that runs of earlier versions lack
_NEWER_FIELDS = frozenset({"bias", "dropout", "all_rows", "vocabulary_of", "out_bias"})


@dataclass(frozen=True)
class Recipe:
    """Configuration of a training run, without its data.

    Attributes:
        task: a name of `tasks.NAMES`, or "csv", "news", "text" for external data.
        implementation: a name of `IMPLEMENTATIONS`.
        position: a name of `positions.NAMES`.
        amplitude: of "sinusoidal" the factor on its waves, of "learned" the spread of its random start.
        mask_padding: False lets every token attend to the padding of its batch, to demonstrate that bug.
        d_model: the width of the model.
        n_heads: heads of a layer.
        n_layers: the number of layers.
        d_feed_forward: width of the feed-forward network; 0 = there is none.
        bias: biases in the attention, on q, k, v and the output.
        out_bias: the bias of its output; None = like `bias`.
        dropout: probability of dropping an attention weight while training.
        residual: the input of each part, attention and feed-forward, is added to its output.
        norm: the input of each part is normalised.
        pooling: a classifier reads the row of "[CLS]", or the "mean" over all tokens.
        all_rows: also compute the rows of the last layer that "[CLS]" pooling does not need, for timing.
        vocabulary: the maximum number of tokens.
        vocabulary_of: the tokenizer is trained on the "training rows", or on "all texts" including the test rows.
        max_len: tokens of a text; longer ones are cut, and counted in the notes.
        steps: the maximum number of steps.
        batch: rows of a batch.
        rate: the learning rate of AdamW.
        weight_decay: of AdamW.
        beta2: of AdamW; betas are (0.9, beta2).
        schedule: "one-cycle" up to `rate` and down again, or "constant".
        start: initial weights, "shared" by all implementations of a seed, or each one's "own" by its own distribution.
        evaluations: the number of evaluations after the first one, which precedes the first step; evenly spaced.
        seed: of weights and batches.
        data_seed: of the data and their split.
        device: as in `device.pick`.
        threads: of torch, on the CPU.
        seconds: the time budget of this run alone.
        target: the run ends at this accuracy on the test rows; None = it does not.
    """

    task: str = "who"
    implementation: str = "fused"
    position: str = "sinusoidal"
    amplitude: float = 1.0
    mask_padding: bool = True
    d_model: int = 64
    n_heads: int = 4
    n_layers: int = 1
    d_feed_forward: int = 0
    bias: bool = True
    out_bias: bool | None = None
    dropout: float = 0.0
    residual: bool = False
    norm: bool = False
    pooling: str = "[CLS]"
    all_rows: bool = False
    vocabulary: int = 1000
    vocabulary_of: str = "training rows"
    max_len: int = 512
    steps: int = 400
    batch: int = 64
    rate: float = 2e-3
    weight_decay: float = 0.01
    beta2: float = 0.999
    schedule: str = "one-cycle"
    start: str = "shared"
    evaluations: int = 40
    seed: int = 1
    data_seed: int = 0
    device: str = "cpu"
    threads: int = 1
    seconds: float = 60.0
    target: float | None = None

    def check(self) -> None:
        """Check that the recipe can be trained.

        Raises:
            SizeError: a size is out of bounds.
            HeadlightError: another field is.
        """
        if self.n_heads < 1 or self.d_model < 1 or self.d_model % self.n_heads:
            raise SizeError(
                f"d_model={self.d_model} cannot be split into {self.n_heads} equal heads; "
                f"choose a multiple of {max(1, self.n_heads)}"
            )
        for name, minimum, maximum in (
            ("d_model", 1, 1024),
            ("n_heads", 1, 64),  # "naive" has three layers per head: thousands would take seconds to build
            ("n_layers", 1, 8),
            ("d_feed_forward", 0, 4096),
            ("vocabulary", 8, 50_000),
            ("max_len", 2, 1024),
            ("steps", 1, 100_000),
            ("batch", 1, 1024),
            ("evaluations", 1, 1000),
            ("threads", 1, 256),
            ("seed", 0, 2**31),
            ("data_seed", 0, 2**31),
        ):
            if not minimum <= getattr(self, name) <= maximum:
                raise SizeError(f"{name}={getattr(self, name)}: choose {minimum} to {maximum:,}")
        for name, low, high in (("rate", 0.0, 10.0), ("seconds", 0.0, math.inf), ("amplitude", -math.inf, math.inf)):
            if not low < getattr(self, name) < high:
                raise HeadlightError(f"{name}={getattr(self, name)} is not a number between {low:g} and {high:g}")
        for name, limit in (("weight_decay", 10.0), ("beta2", 1.0), ("dropout", 1.0)):
            if not 0 <= getattr(self, name) < limit:
                raise HeadlightError(f"{name}={getattr(self, name)}: choose 0 or more, below {limit:g}")
        if self.target is not None and not 0 <= self.target <= 1:
            raise HeadlightError(f"target={self.target} is no accuracy; choose 0 to 1")
        for name, choices in (
            ("pooling", ("[CLS]", "mean")),
            ("vocabulary_of", ("training rows", "all texts")),
            ("schedule", ("one-cycle", "constant")),
            ("start", ("shared", "own")),
        ):
            if getattr(self, name) not in choices:
                raise HeadlightError(f"{name}={getattr(self, name)!r}: choose {' or '.join(choices)}")

    @property
    def biases(self) -> str:
        """Description of the attention's biases."""
        output = self.bias if self.out_bias is None else self.out_bias
        if self.bias == output:
            return "all" if output else "none"
        return "output alone" if output else "query, key and value alone"

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """Build a validated recipe from a file's values; missing newer fields get their defaults.

        Raises:
            HeadlightError: something is missing, unknown, of the wrong type or out of bounds.
        """
        known_names = {field.name for field in fields(cls)}
        if not isinstance(values, dict) or not known_names - _NEWER_FIELDS <= set(values) <= known_names:
            raise HeadlightError("this is no recipe: its fields are not those of this version")
        hints = get_type_hints(cls)
        for name, value in values.items():
            is_invalid_text = isinstance(value, str) and not (value.isprintable() and len(value) <= _MAX_NAME_LENGTH)
            if is_invalid_text or not fits(value, hints[name]):
                raise HeadlightError(f"this is no recipe: {name} is {value!r:.40}")
        recipe = cls(**values)
        recipe.check()
        return recipe


def defaults(task: str) -> Recipe:
    """Return a recipe that trains this task well: a name of `tasks.NAMES`, or "csv", "news", "text"."""
    order = Recipe(task=task, max_len=64)
    language = replace(order, n_layers=2, residual=True, norm=True, position="rotary", rate=4e-3, beta2=0.98)
    match task:
        case "food":  # its loss has a long plateau and then drops suddenly
            return replace(order, steps=600)
        case "words":
            return replace(language, steps=300)
        case "dates":  # with one head its cross-attention map is the alignment
            lone = replace(order, n_heads=1, d_feed_forward=128, residual=True, norm=True, max_len=16)
            return replace(lone, steps=1000, rate=3e-3, beta2=0.98, evaluations=20, seconds=300)
        case "shapes":
            patches = replace(order, n_layers=2, d_feed_forward=128, residual=True, norm=True)
            return replace(patches, steps=1000, rate=3e-3, beta2=0.98, evaluations=15, seconds=300)
        case "names":
            return replace(language, steps=500)
        case "text":
            # small batches and many steps give better text in the same time than large batches
            return replace(language, d_feed_forward=256, max_len=96, batch=16, steps=1000, evaluations=20)
        case "csv" | "news" | "made_up":
            # the long post's recipe, with its ten epochs of 918 rows; other texts are cut, to be quick
            length = {"news": 512, "made_up": 256}.get(task, 128)
            post = replace(order, max_len=length, n_heads=8, rate=1e-3, batch=32, steps=290, schedule="constant")
            return replace(post, evaluations=10, seconds=600)
    return order


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value from an untrusted file has the type of its field."""
    if hint is int or hint is float:  # tested first, as nearly every value is a number
        number = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_INTEGER
        return number or (hint is float and isinstance(value, float) and math.isfinite(value))
    if hint is str:
        return isinstance(value, str) and not _SURROGATE.search(value)
    kind, arguments = get_origin(hint), get_args(hint)
    if kind is list:
        return isinstance(value, list) and all(fits(item, arguments[0]) for item in value)
    if kind is dict:
        return isinstance(value, dict) and all(fits(part, str) for item in value.items() for part in item)
    if arguments:  # a union
        return any(fits(value, alternative) for alternative in arguments)
    return isinstance(value, hint)
