"""Real weights in our own models: MiniLM and SmolLM2 from installed packages, or a folder in MiniLM's form."""

from .load import load_model
from .minilm import MINILM_SHA256
from .smollm2 import SMOLLM2_SHA256

__all__ = ["MINILM_SHA256", "SMOLLM2_SHA256", "load_model"]
