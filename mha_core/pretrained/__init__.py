"""Pretrained models: MiniLM and SmolLM2 in our own layers, models of transformers, and `watch` for any module."""

from .bert import MINILM_SHA256
from .load import load_model
from .recorder import Recorder
from .recordings import Recording
from .smollm2 import SMOLLM2_SHA256
from .watcher import Watcher, watch

__all__ = ["MINILM_SHA256", "SMOLLM2_SHA256", "Recorder", "Recording", "Watcher", "load_model", "watch"]
