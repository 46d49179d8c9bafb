"""The table of all controls: key in the link, kind, default, range, label and page.

The defaults of links, the validation of requests and the controls themselves are derived from it; `table` renders it
for docs/links.md. A new control is one line here and one line on its page.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

from mha_core.attention import IMPLEMENTATIONS
from mha_core.measure.agreement import BIASES
from mha_core.models.sampling import MAX_TOP_K
from mha_core.positions import NAMES as ENCODINGS

from . import limits
from .cursor import DEFAULT_AT
from .presets import PRESETS

Kind = Literal["text", "number", "choice", "choices", "switch"]

# Kinds of masks -> the numbers of each: key -> label.
MASKS: dict[str, dict[str, str]] = {
    "none": {},
    "causal": {},
    "window": {"w": "Window: keys fewer than this many steps away"},
    "prefix": {"first": "Prefix: the first keys, visible to every query"},
    "sinks": {"first": "Sinks: only the first keys are visible"},
    "dilated": {"w": "Keys on each side, including the token itself", "gap": "Distance between them"},
    "combination": {},
    "painted": {},
}
MAX_LINK_BYTES = 6000  # bytes of the query of a link
DROP_ORDER = ("longer", "ask2", "ask", "pin", "order", "s2", "s")  # keys that a too long link drops first
_AMPLITUDES = (0.01, 2.0)
_KEYS_AND_VALUES = ("both the queries", "keys from elsewhere", "both from elsewhere")
_CHANNELS = 1024
_SHUFFLE = "Shuffle test: type the left words in a new order, or leave it empty for a random one"
_SAMPLING = "sampling temperature, here and on Maps; 0 = the likeliest token"
_TOP_K = "how many of the likeliest tokens may be sampled, here and on Maps; 0 = all"
_TOP_P = "after top-k, the fewest tokens that hold this probability may be sampled, here and on Maps; 1 = all"
_CUT = "tokens of a text, at most; of a text character by character the context, 16 to 256"
_WORD = "the next word whose probability is shown"
_MODEL = (
    "minilm, a model trained by Headlight, such as who-rotary-1, or one of this machine: hf:org/name@revision or "
    "folder:hash, with #text, #vision or #audio for half of a dual encoder; behind it `~encoder`, `~decoder` or "
    "`~cross`, its kind of attention; or recording:name, with ~1 for its second group of maps"
)
_OFF = "ablated heads, MLPs and layers, as `L3 H5`, `L3 MLP`, `L3`"
_IN_BATCH = "the other sentence in the batch"
_PIN = "the pinned picture: at~mask~position~temperature~heads off~sentence; at@model of another model"
_LESSON = (
    "no transpose, wrong axis, products are loops, contiguous, relative, mask shapes, dropout, rope pairs, grouped "
    "heads (with so many key heads: `grouped heads 3`), batch first, add or concatenate, padding rows, write it, bug …"
)
_WROTE = "the chosen lines of “write it”, a number for each of four functions, as `2.3.1.0`; 0 = none yet"
_LOOK = (
    "linear or own (scale), nospecials, all, open (a head over all), table, lines, sort, difference, surprise, "
    "mean, meanall or meanseen (over the layer’s heads, all layers’, those in sight), values, words (tokens joined), "
    "nofirst, renorm (rows without what is not shown sum to 1), hide…, solo…, keys… (beside `at`), joined by `_`"
)
_VIEW = (
    "another view of the run under the large map, `name` or `name.state`, as `heads.previous.entropy`, `flow.norm` or "
    "`channels.sorted`"
)
_VALUES_OFF = "tokens whose value is zeroed for all others, counted from 0, as `0-4`"
# A field accepts more characters than its value may have: a longer value is rejected with a message, not cut silently,
# and the user can shorten it in the field.
_MAX_TEXT, _MAX_RULE = 2 * limits.MAX_TEXT_LENGTH, 2 * limits.MAX_RULE_LENGTH


@dataclass(frozen=True)
class Field:
    """A control."""

    key: str  # key in the link
    kind: Kind  # text, number, one choice, several choices, or switch
    default: Any  # default value; None is an empty field
    label: str  # label on the screen
    page: str = ""  # first page that has it
    choices: tuple[str, ...] = ()  # fixed choices; () if the page determines them
    range: tuple[float, float] = (0, 0)  # minimum and maximum of a number
    step: float | None = None  # step between numbers, None for the control's own
    max_length: int = limits.MAX_CHOICE_LENGTH  # maximum length of a text or of one choice, in characters
    noun: str = ""  # noun phrase for a typed text in messages
    note: str = ""  # meaning in the table, if the label is not enough


def _text(key: str, default: str, label: str, max_length: int = 100, *, noun: str = "", note: str = "") -> Field:
    return Field(key, "text", default, label, max_length=max_length, noun=noun, note=note)


def _number(
    key: str, default: float | None, label: str, low: float, high: float, step: float | None = None, *, note: str = ""
) -> Field:
    return Field(key, "number", default, label, range=(low, high), step=step, note=note)


def _choice(key: str, default: str | None, label: str, *choices: str, note: str = "") -> Field:
    return Field(key, "choice", default, label, choices=choices, note=note)


def _several(key: str, default: list[str], label: str, *choices: str, note: str = "") -> Field:
    return Field(key, "choices", default, label, choices=choices, note=note)


def _switch(key: str, label: str, *, default: bool = False) -> Field:
    return Field(key, "switch", default, label)


_SWITCHES = (  # duplicated on a page that compares two settings
    _choice("mask", "none", "Mask", *MASKS),
    _number("w", 3, "Width", 1, limits.MAX_WINDOW, note="width of the rules window and dilated"),
    _number("first", 1, "First keys", 1, limits.MAX_WINDOW, note="first keys of the rules prefix and sinks"),
    _number("gap", 2, "Gap", 1, limits.MAX_WINDOW, note="steps from one key to the next of the rule dilated"),
    _text("rule", "causal & window:4", "Rules combined with & (and), | (or), ! (not)", _MAX_RULE, noun="the rule"),
    _text("on", "none", "Rule under the painted cells", _MAX_RULE, noun="the rule under the painted cells"),
    _text(
        "p", "", "p", limits.MAX_PAINTED_LENGTH + 1, note="painted cells: how many tokens, then the cells head by head"
    ),
    _choice("pos", "as trained", "Positional encoding", *limits.POSITIONS),
    _number("t", 1.0, "Temperature", *limits.TEMPERATURES, 0.1),
    _several("off", [], "Ablate heads, MLPs or layers", note=_OFF),
    _text("unheard", "", "Values zeroed", noun="the tokens whose value is zeroed", note=_VALUES_OFF),
)


def _right(left: Field) -> Field:
    """Return the control of the right side, with a label of its own for screen readers."""
    label = left.label if left.key in ("w", "first", "gap", "rule", "on", "p") else f"{left.label}, right"
    default = "none" if left.key == "pos" else left.default  # Compare opens with and without positions
    noun = {"rule": "the rule of the right side", "on": "the rule under the painted cells, right,"}.get(left.key, "")
    return replace(
        left, key=f"{left.key}2", label=label, default=default, noun=noun, note=f"as `{left.key}`, right side"
    )


_BY_PAGE: dict[str, tuple[Field, ...]] = {
    "several": (
        _text(
            "s",
            PRESETS[0],
            "Sentence",
            _MAX_TEXT,
            noun="the sentence",
            note="sentence, up to 12,000 characters and 512 tokens, on Maps with SmolLM2 2,048",
        ),
        *_SWITCHES,
        _choice("dev", None, "Device", note="cpu, cuda, mps …; empty: the best one present"),
        _text("model", "minilm", "Model", limits.MAX_MODEL_LENGTH, note=_MODEL),
        _text("at", DEFAULT_AT, "at", note="layer.head, then the row in focus and a chosen key, as `3.1.10.2`"),
        _text("look", "", "look", limits.MAX_LOOK_LENGTH + 1, note=_LOOK),
        _text("word", "", "Word", limits.MAX_WORD_LENGTH, noun="the word", note=_WORD),
        _text("pin", "", "pin", limits.MAX_PIN_LENGTH + 1, noun="the pinned picture", note=_PIN),
        _switch("big", "Large type"),
    ),
    "Maps": (_text("view", "", "view", note=_VIEW),),
    "The model": (
        _text("box", "attention", "box", limits.MAX_WORD_LENGTH, note="the box in focus, as `mlp norm`"),
        _choice("depth", "story", "Depth", "story", "numbers", "formula", "code"),
    ),
    "By hand": (
        _choice("ex", "one head", "Example"),
        _choice("src", "as given", "Scores", "as given", "from Q Kᵀ"),
        _switch("sqrt", "÷ √d"),
        _text("qw", "how are you", "Words of the queries", _MAX_TEXT, noun="the words of the queries"),
        _text("kw", "you can", "Words of the keys", _MAX_TEXT, noun="the words of the keys"),
        _text(
            "m",
            "",
            "m",
            limits.MAX_MATRICES_LENGTH + 1,
            note="edited matrices, a name and its numbers row by row: `s_0.5_0.9_…`",
        ),
        _text("qs", "2, 3, 6", "Shape of the queries: two to five sizes", noun="the shape of the queries"),
        _choice("kv", "both the queries", "Keys and values", *_KEYS_AND_VALUES),
        _number("nk", None, "Keys, j", 1, limits.MAX_AXIS_LENGTH),
        _number("wv", None, "Width of the values", 1, limits.MAX_AXIS_LENGTH),
        _number("draw", 0, "Random seed", 0, 9999),
        _text("aat", "3, 10, 256", "Shape of A: three or four sizes", noun="the shape of A"),
    ),
    "Compare": (
        _text(
            "s2", "", "Sentence, right", _MAX_TEXT, noun="the right sentence", note="right sentence; empty: the same"
        ),
        *map(_right, _SWITCHES),
        _text("order", "", _SHUFFLE, _MAX_TEXT, noun="the new order"),
        _number("shuffle", 1, "shuffle", 1, limits.MAX_SHUFFLES, note="the number of a random order"),
        _several(
            "three", [], "Positional encodings to compare", *limits.POSITIONS, note="up to 4; none: the usual three"
        ),
        _switch("mean", "Mean over the heads", default=True),
        _switch("kin", "Models trained with other positional encodings", default=True),
        _text("model2", "", "Model, right", limits.MAX_MODEL_LENGTH, note="as `model`, right side; empty: the same"),
        _text("at2", "", "Head, right", note="layer.head of another right model, empty: its first view"),
    ),
    "Masks": (_text("pad", "how are you", "Another sentence in the same batch", _MAX_TEXT, noun=_IN_BATCH),),
    "Shapes": (
        _text("step", "q.transpose", "step", note="the step in focus"),
        _number("f", 0, "f", 0, limits.MAX_FEATURES - 1, note="the channel of the head in focus"),
        _choice("vs", "none", "Compare with", "none", *IMPLEMENTATIONS),
        _text("lesson", "no transpose", "lesson", note=_LESSON),
        _choice("lw", "the model’s", "Weights of this layer", "the model’s", "random"),
        _choice("biases", "all", "Biases", *BIASES, note="of random weights, here and on Implementations"),
        _number("drop", 0.0, "Dropout of the weights", 0.0, 0.5, 0.05, note="rate, of a layer with random weights"),
        _text("wrote", "", "wrote", noun="the lines of the exercise", note=_WROTE),
    ),
    "Positions": (
        _choice("enc", "sinusoidal", "Encoding", *ENCODINGS),
        _choice("enc2", "learned", "Compare with", *ENCODINGS),
        _several("ch", ["0", "1", "30", "31"], "Channels", *map(str, range(_CHANNELS)), note="up to 6 channels"),
        _number("pair", 0, "Pair of channels", 0, _CHANNELS // 2 - 1),
        _number("at_pos", 1, "Position on the circles, counted from 0", 0, 512 - 1),
        _number("hd", 0, "Visible head", 0, 64 - 1),
        _number("far", 600, "Positions to try", 2, 2048),
        _number("amp", 1.0, "Amplitude of sinusoids", *_AMPLITUDES, 0.01),
    ),
    "Implementations": (
        _number("b", 1, "Texts, b", 1, 64),
        _number("n", 128, "Tokens, n", 1, 1024),
        _number("d", 384, "d_model", 1, _CHANNELS),
        _number("h", 12, "Heads, h", 1, 64),
        _choice("what", "forward with maps", "What is timed"),
        _several("race", list(IMPLEMENTATIONS), "Implementations", *IMPLEMENTATIONS),
        _number("secs", 3, "Seconds", 1, 20),
        _choice("impl", "efficient", "Implementation", *IMPLEMENTATIONS),
        _choice("beside", "einsum", "Compare with", *IMPLEMENTATIONS),
        _text("find", "", "Search the dictionary", limits.MAX_WORD_LENGTH, note="a word to find in the dictionary"),
    ),
    "Train": (  # an empty field means the default of the task
        _choice("task", "who did what", "Task"),
        _choice("post", "my own", "A ready-made comparison of four models"),
        _several("pe", ["none", "sinusoidal", "rotary"], "Positional encodings", *ENCODINGS),
        _several("by", ["fused"], "Implementations", *IMPLEMENTATIONS),
        _several("nl", [], "Attention layers", *map(str, range(1, limits.MAX_LAYERS + 1))),
        _several("keep", ["on"], "Padding mask", "on", "off"),
        _number("ampl", 1.0, "Amplitude of sinusoidal, spread of learned", *_AMPLITUDES, 0.05),
        _number("seeds", 3, "Seeds: runs of each, 1 to 10", 1, 10),
        _number("dm", None, "Width, d_model", *limits.SIZES["d_model"]),
        _number("nh", None, "Heads, h", *limits.SIZES["n_heads"]),
        _number("ff", None, "Feed-forward width, 0 = none", *limits.SIZES["d_feed_forward"]),
        _choice("res", None, "Residual connection", "yes", "no"),
        _choice("nrm", None, "Pre-norm (norm before each sublayer)", "yes", "no"),
        _choice("pool", None, "Classifier input", "row of [CLS]", "mean of the tokens"),
        _choice("init", None, "Initial weights", "shared by all", "each layer's own law"),
        _number("vocab", None, "Vocabulary, at most", *limits.SIZES["vocabulary"]),
        _number("steps", None, "Steps", *limits.SIZES["steps"]),
        _number("batch", None, "Rows in a batch, b", *limits.SIZES["batch"]),
        _number("thr", None, "Threads of torch", *limits.SIZES["threads"]),
        _number("cut", None, "Tokens of a text, at most", *limits.SIZES["max_len"], note=_CUT),
        _number("lr", None, "Learning rate, at most", 1e-5, 0.1),
        _choice("sched", None, "Learning rate", "one-cycle", "constant"),
        _number("budget", None, "Seconds for all runs, at most", 5, limits.MAX_BUDGET),
        _text("tc", "text", "Column of the texts", 1000, noun="the column of the texts"),
        _text("lc", "label", "Column of the labels", 1000, noun="the column of the labels"),
        _switch("dups", "Keep duplicate rows"),
        _text("ask", "", "A sentence", _MAX_TEXT, noun="the question"),
        _text("ask2", "", "Another sentence", _MAX_TEXT, noun="the other question"),
        _number("more", 12, "More tokens", 1, 200),
        _number("temp", 0.0, "Temperature, 0 = most likely", 0.0, 5.0, 0.1, note=_SAMPLING),
        _number("topk", 0, "Top-k, 0 = off", 0, MAX_TOP_K, note=_TOP_K),
        _number("topp", 1.0, "Top-p, 1 = off", 0.0, 1.0, 0.05, note=_TOP_P),
        _number("dice", 0, "Random seed", 0, 9999, note="seed of the draws, here, on Maps and Shapes"),
        _choice(
            "cand", None, "Analyse the answers of", note="the model whose answers are taken apart; empty: the first"
        ),
        _choice("head", "mean of layer 0", "Head"),
        _text("film", "", "film", note="text, layer and head of the film, as `1.0.m`"),
        _choice("cand2", None, "Compare with", note="another model whose answers are taken apart; empty: none"),
        _choice("only", "every row", "Rows"),
        _choice("true", None, "True class", note="of the predictions; empty: any"),
        _choice("said", None, "Predicted class", note="of the predictions; empty: any"),
        _choice("sort", "row", "Sorted by", note="a column of the predictions"),
        _switch("desc", "Largest first"),
        _choice("tab", "Curves", "tab", "Curves", "Ask", "Film", "Report", note="the part of the page that is open"),
        _choice("tbias", None, "Biases in the attention", "yes", "no", "output alone"),
        _number("tdrop", None, "Dropout of the attention weights", 0.0, 0.9, 0.05),
    ),
    "Lessons": (_text("learn", "", "learn", note="the lesson and its step beside the page, as `it.2`"),),
}

SIDE_KEYS = tuple(field.key for field in _SWITCHES)  # controls that a page with two pictures has twice

FIELDS: dict[str, Field] = {
    field.key: replace(field, page=page) for page, fields in _BY_PAGE.items() for field in fields
}
DEFAULTS: dict[str, Any] = {key: field.default for key, field in FIELDS.items()}


def table() -> str:
    """Render all keys as a Markdown table."""
    lines = ["| key | page | meaning | values | default |", "|---|---|---|---|---|"]
    for field in FIELDS.values():
        meaning = field.note or field.label.replace("|", "\\|")
        default = ", ".join(field.default) if isinstance(field.default, list) else field.default
        default_text = "" if default is None else str(default).lower() if isinstance(default, bool) else default
        lines.append(f"| `{field.key}` | {field.page} | {meaning} | {_values(field)} | {default_text} |")
    return "\n".join(lines)


def _values(field: Field) -> str:
    several = len(field.choices) > 10
    choices = ", ".join((field.choices[0], "…", field.choices[-1]) if several else field.choices)
    return {
        "text": "text",
        "number": f"{field.range[0]:g} to {field.range[1]:g}",
        "choice": choices or "as its control names them",
        "choices": f"{choices or 'as its control names them'}; the key repeated",
        "switch": "true, false",
    }[field.kind]
