"""The models whose weights come from packages: MiniLM, and SmolLM2, which goes on with a text."""

import os
from contextlib import suppress

from headlight.link.place import DEFAULT_AT
from headlight.link.presets import CONTINUED
from headlight.queue.single_flight import single_flight
from mha_core import Model, load_model
from mha_core.errors import HeadlightError
from mha_core.pretrained import smollm2

from .source import About, ModelSource
from .trained import BOTH_WAYS, ONE_WAY

MINILM, SMOLLM2 = "minilm", "smollm2"
GROUP = "Pretrained"
TITLE = "MiniLM · pretrained"
SMOLLM2_TITLE = "SmolLM2 · predicts the next word"
SWITCH = "HEADLIGHT_SMOLLM2"  # "off" in the environment: this server offers SmolLM2 to nobody


class Pretrained(ModelSource):
    """The model of a package. Its size is known before it is loaded; a test holds it against the model."""

    is_large = True

    @staticmethod
    @single_flight({}, keep=True)
    def load_shared(device: str, name: str) -> Model:
        return load_model(name, device=device)


class MiniLM(Pretrained):
    """The model that is shown where a link names none; it is loaded when the app starts."""

    names = (MINILM,)
    first_at = DEFAULT_AT
    about = About(TITLE, GROUP, f"6 × 12 heads, English, {BOTH_WAYS}")
    is_loaded = True


class SmolLM2(Pretrained):
    """The model that writes; the title says so where its package is missing."""

    names = (SMOLLM2,)
    first_at = next(iter(CONTINUED.values()))
    goes_on = True
    places = CONTINUED

    def check(self) -> None:
        if os.environ.get(SWITCH, "").lower() == "off":
            raise HeadlightError("SmolLM2 is disabled on this server; choose another model")

    @property
    def about(self) -> About:
        title = f"{SMOLLM2_TITLE} (not installed)"
        with suppress(HeadlightError):  # whether the file is whole is found out when somebody asks for the model
            title = SMOLLM2_TITLE if smollm2.file().is_file() else title
        return About(title, GROUP, f"30 × 9 heads, English, {ONE_WAY}", presets=tuple(CONTINUED))
