"""Real weights in our own models, MiniLM, SmolLM2 or a folder in MiniLM's form, and the maps of any torch module."""

from .bert import MINILM_SHA256
from .load import load_model
from .recorder import Recorder
from .recordings import Recording
from .smollm2 import SMOLLM2_SHA256
from .watcher import Watcher, watch

__all__ = ["MINILM_SHA256", "SMOLLM2_SHA256", "Recorder", "Recording", "Watcher", "load_model", "watch"]
