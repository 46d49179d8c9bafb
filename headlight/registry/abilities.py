"""What a model lets nobody change, and why: by the keys of the controls that a link has for it."""

from collections.abc import Mapping

from headlight.ui.numbers import capital
from mha_core import Model
from mha_core.errors import Unsupported

# what a model can, as `Model.can` has it -> the key of the control that needs it
CONTROLS = {"mask": "mask", "positions": "pos", "temperature": "t", "heads": "off", "values": "unheard"}
OF_ONE_TEXT = ("mask", "unheard")
TWO_TEXTS = "These maps look from one text at another, or at a sound; masks, and values left out, go by places in one."


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
        raise Unsupported(f"this needs what {model.name} cannot give: {why}; choose MiniLM in the bar, the link stays")
