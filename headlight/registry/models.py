"""What a model is asked once it is loaded, of whatever kind it is."""

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
from mha_core.training import inference

# what a model can, as `Model.can` has it -> the key of the control that needs it
CONTROLS = {"mask": "mask", "positions": "pos", "temperature": "t", "heads": "off", "values": "unheard"}
OF_ONE_TEXT = ("mask", "unheard")
TWO_TEXTS = (
    "These maps attend from one text to another, or to a sound; masks and zeroed values need positions within one text."
)
MAX_ANSWERS = 3  # classes whose probabilities are told
MAX_UNKNOWN = 5  # tokens that are named
# how one looks at a model of one's own, which the app cannot open
OWN_CODE = """\
from mha_core import load_model
run = load_model("my-folder").run("The dog bit the man")
run.show(layer=0, head=0).save("my-model.html")
"""


def heads(model: Model) -> int:
    """All heads of all layers, as `places.turn` asks for them."""
    return model.sizes.n_layers * model.sizes.n_heads


def with_full_implementation(model: Model) -> Model:
    """The same model, its attention in “fused” where it was trained in an implementation that cannot do everything.

    The weights stay the same; only so can heads be switched off in it, and positions and temperature be changed.
    """
    if model.encoder is None:
        return model
    return model if IMPLEMENTATIONS[model.sizes.implementation].can == EVERYTHING else model.as_implementation("fused")


def encodings(model: Model) -> list[str]:
    """The positions that a model can take, as `Model.run` does; only a table can be altered."""
    stack = model.encoder
    if stack is None:
        return ["trained", "none"] if "positions" in model.can else ["trained"]
    table = isinstance(stack.position, Learned)
    return [core for core in POSITIONS.values() if table or not is_altered(core)]


def answer(model: Model, run: Run) -> list[str]:
    """The answer of a classifier, ["dog 0.98", "cat 0.01", …]: the most probable classes; nothing from other models."""
    if isinstance(model, HfModel) and model.reads == "picture":
        return [] if run.logits is None else _best(run.logits[0].softmax(dim=-1).tolist(), model.classes)
    if not isinstance(model.encoder, Classifier):
        return []
    last, everyone = run.hidden[-1:], torch.ones(1, len(run.tokens), dtype=torch.bool)

    def compute(stack: Stack) -> list[float]:
        logits = cast(Classifier, stack).answer(last.to(stack.device), everyone.to(stack.device))
        found: list[float] = logits.softmax(dim=-1)[0].tolist()
        return found

    return _best(model.run_on_stack(compute)[0], inference.classes(model))


def _best(chances: Sequence[float], classes: Sequence[str]) -> list[str]:
    """The most probable classes, with their probabilities."""
    best = sorted(zip(chances, classes, strict=False), key=lambda pair: -pair[0])[:MAX_ANSWERS]
    return [f"{name} {share(chance, 2)}" for chance, name in best]


def unknown(model: Model, text: str) -> list[str]:
    """A sentence on the words that a model lacks in its vocabulary, or the characters, if there are any."""
    if isinstance(model.tokenizer, ByteLevel):
        lost = model.tokenizer.unknown(text)
        return [f"{len(lost)} of these characters have no token in this model; they are skipped."] if lost else []
    if model.history is None or (missing := model.tokenizer.token_to_id("[UNK]")) is None:
        return []
    coded = model.tokenizer.encode(text)
    pieces = zip(coded.ids, coded.offsets, strict=True)
    words = list(dict.fromkeys(text[first:last] for number, (first, last) in pieces if number == missing))
    if not words:
        return []
    named = ", ".join(f"“{word:.20}”" for word in words[:MAX_UNKNOWN]) + (", …" if len(words) > MAX_UNKNOWN else "")
    count = "One word is" if len(words) == 1 else f"{len(words)} words are"
    return [f"{count} not in this model’s vocabulary ({named}), so it reads [UNK] instead."]


def fixed(model: Model) -> Mapping[str, str]:
    """Key of a control, or "steps", "batch", "lengths" for what asks for it -> why it has no effect, in a sentence."""
    lacks = [ability for ability in (*CONTROLS, "steps", "batch") if ability not in model.can]
    found = {CONTROLS.get(ability, ability): reason(model, ability) for ability in lacks}
    if "lengths" in model.reasons:
        found["lengths"] = reason(model, "lengths")
    if "text" in model.reasons:
        found["s"] = reason(model, "text")
    if model.group == "cross":
        found = dict.fromkeys(OF_ONE_TEXT, TWO_TEXTS) | found
    return found


def reason(model: Model, ability: str) -> str:
    said = model.reasons.get(ability, f"This model has no {ability}.")
    return f"{capital(said).rstrip('.')}."


def require(model: Model, ability: str) -> None:
    """Raises Unsupported where the model lacks what a page is made of, and says with which one it goes."""
    if ability not in model.can:
        why = model.reasons.get(ability, f"it has no {ability}").rstrip(".")
        raise Unsupported(f"{model.name} cannot do this: {why}; choose MiniLM in the bar (the link is kept)")
