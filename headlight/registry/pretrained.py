"""The models whose weights come from packages: MiniLM, and the language model SmolLM2."""

import os
from contextlib import suppress

from headlight.link.cursor import DEFAULT_AT
from headlight.link.presets import CURSORS, NEXT_TOKEN_CURSORS
from headlight.queue.single_flight import single_flight
from mha_core import Model, load_model
from mha_core.errors import HeadlightError
from mha_core.pretrained import smollm2

from .source import About, ModelSource
from .trained import BOTH_WAYS, ONE_WAY

MINILM, SMOLLM2 = "minilm", "smollm2"
GROUP = "Pretrained"
TITLE = "MiniLM · pretrained"
SMOLLM2_TITLE = "SmolLM2-135M-Instruct, four-bit"
SWITCH = "HEADLIGHT_SMOLLM2"  # environment variable; "off" disables SmolLM2 on this server


class Pretrained(ModelSource):
    """A model of a package. Its size is stated before it is loaded; a test compares it with the model."""

    is_large = True

    @staticmethod
    @single_flight({}, keep=True)
    def load_shared(device: str, name: str) -> Model:
        """See `ModelSource`."""
        return load_model(name, device=device)


class MiniLM(Pretrained):
    """The default model, which is loaded when the app starts."""

    names = (MINILM,)
    first_at = DEFAULT_AT
    known_heads = CURSORS
    about = About(TITLE, GROUP, f"6 × 12 heads, English, {BOTH_WAYS}")
    is_loaded = True


class SmolLM2(Pretrained):
    """The bundled language model; its title says so if its package is not installed."""

    names = (SMOLLM2,)
    first_at = next(iter(NEXT_TOKEN_CURSORS.values()))
    is_generative = True
    known_heads = NEXT_TOKEN_CURSORS

    def check(self) -> None:
        """See `ModelSource`."""
        if os.environ.get(SWITCH, "").lower() == "off":
            raise HeadlightError("SmolLM2, the language model, is switched off on this server; choose another model")

    @property
    def about(self) -> About:
        """See `ModelSource`."""
        title = f"{SMOLLM2_TITLE} (not installed)"
        with suppress(HeadlightError):  # a damaged file is reported when the model is loaded
            title = SMOLLM2_TITLE if smollm2.file().is_file() else title
        return About(
            title, GROUP, f"predicts the next word, 30 × 9 heads, English, {ONE_WAY}", presets=tuple(NEXT_TOKEN_CURSORS)
        )
