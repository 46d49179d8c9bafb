"""Questions to a loaded model of any kind: its answer, unknown tokens, controls without effect."""

from collections.abc import Mapping, Sequence
from typing import cast

import torch

from headlight.link.limits import POSITIONS
from headlight.ui.numbers import capital, share
from mha_core import IMPLEMENTATIONS, Model, Run
from mha_core.attention.switches import EVERYTHING
from mha_core.errors import Unsupported
from mha_core.models.classifier import Classifier
from mha_core.models.stack import Stack
from mha_core.positions import Learned, is_altered
from mha_core.pretrained.byte_level import ByteLevel
from mha_core.pretrained.hf_model import HfModel
from mha_core.token_text import quote
from mha_core.training import inference

# ability of `Model.can` -> key of the control that needs it
CONTROLS = {"mask": "mask", "positions": "pos", "temperature": "t", "heads": "off", "values": "unheard"}
SINGLE_TEXT_CONTROLS = ("mask", "unheard")
TWO_TEXTS = "Queries and keys of these maps are of two texts, or a text and a sound; masks and zeroed values need one."
MAX_ANSWERS = 3  # classes with their probabilities
MAX_UNKNOWN = 5  # examples of unknown tokens
# shown to users whose model the app cannot open
OWN_CODE = """\
from mha_core import load_model
run = load_model("my-folder").run("The dog bit the man")
run.show(layer=0, head=0).save("my-model.html")
"""


def count_heads(model: Model) -> int:
    """Return the number of heads of all layers."""
    return model.sizes.n_layers * model.sizes.n_heads


def with_full_implementation(model: Model) -> Model:
    """Return the model with “fused” attention if its own implementation lacks some abilities.

    The weights are the same; heads can then be ablated, and positions and temperature changed.
    """
    if model.encoder is None:
        return model
    return model if IMPLEMENTATIONS[model.sizes.implementation].can == EVERYTHING else model.as_implementation("fused")


def encodings(model: Model) -> list[str]:
    """Return the positions that `Model.run` accepts for a model; only a learned table can be altered."""
    stack = model.encoder
    if stack is None:
        return ["trained", "none"] if "positions" in model.can else ["trained"]
    table = isinstance(stack.position, Learned)
    return [core for core in POSITIONS.values() if table or not is_altered(core)]


def answer(model: Model, run: Run) -> list[str]:
    """Return a classifier's most probable classes, ["dog 0.98", "cat 0.01", …]; [] for other models."""
    if isinstance(model, HfModel) and model.reads == "picture":
        return [] if run.logits is None else _best(run.logits[0].softmax(dim=-1).tolist(), model.classes)
    if not isinstance(model.encoder, Classifier):
        return []
    last, everyone = run.hidden[-1:], torch.ones(1, len(run.tokens), dtype=torch.bool)

    def compute(stack: Stack) -> list[float]:
        logits = cast(Classifier, stack).to_logits(last.to(stack.device), everyone.to(stack.device))
        chances: list[float] = logits.softmax(dim=-1)[0].tolist()
        return chances

    return _best(model.run_on_stack(compute)[0], inference.classes(model))


def _best(chances: Sequence[float], classes: Sequence[str]) -> list[str]:
    """Format the most probable classes with their probabilities."""
    best = sorted(zip(chances, classes, strict=False), key=lambda pair: -pair[0])[:MAX_ANSWERS]
    return [f"{name} {share(chance, 2)}" for chance, name in best]


def unknown_token_notices(model: Model, text: str) -> list[str]:
    """Return a notice on the words, or characters, that are not in the model's vocabulary, if any."""
    if isinstance(model.tokenizer, ByteLevel):
        lost = model.tokenizer.unknown(text)
        return [f"{len(lost)} of these characters have no token in this model, which skips them."] if lost else []
    if model.history is None or (missing := model.tokenizer.token_to_id("[UNK]")) is None:
        return []
    coded = model.tokenizer.encode(text)
    pieces = zip(coded.ids, coded.offsets, strict=True)
    words = list(dict.fromkeys(text[first:last] for number, (first, last) in pieces if number == missing))
    if not words:
        return []
    examples = ", ".join(quote(word[:20]) for word in words[:MAX_UNKNOWN]) + (", …" if len(words) > MAX_UNKNOWN else "")
    count = "One word is" if len(words) == 1 else f"{len(words)} words are"
    return [f"{count} not in this model’s vocabulary ({examples}), so it reads [UNK] instead."]


def disabled_controls(model: Model) -> Mapping[str, str]:
    """Return the controls without effect on a model: key, or another ability -> reason as a sentence."""
    lacks = [ability for ability in (*CONTROLS, "mlps", "layers", "steps", "batch") if ability not in model.can]
    reasons = {CONTROLS.get(ability, ability): reason(model, ability) for ability in lacks}
    if "lengths" in model.reasons:
        reasons["lengths"] = reason(model, "lengths")
    if "text" in model.reasons:
        reasons["s"] = reason(model, "text")
    if model.group == "cross":
        reasons = dict.fromkeys(SINGLE_TEXT_CONTROLS, TWO_TEXTS) | reasons
    return reasons


def reason(model: Model, ability: str) -> str:
    """Return the sentence that says why a model lacks an ability."""
    sentence = model.reasons.get(ability, f"This model has no {ability}.")
    return f"{capital(sentence).rstrip('.')}."


def require(model: Model, ability: str) -> None:
    """Raise Unsupported if the model lacks an ability that a page needs."""
    if ability not in model.can:
        reason = model.reasons.get(ability, f"it has no {ability}").rstrip(".")
        raise Unsupported(f"{model.name} does not support this: {reason}; choose MiniLM in the bar, the link stays")
