"""Attention in plain PyTorch with a trace of every tensor, usable in a notebook without the app.

The shortest use:

    from mha_core import load_model
    run = load_model("minilm").run("The animal didn't cross the street because it was too tired")
    run.weights[3, 1]          # layer 3, head 1, counted from 0: rows are queries, columns are keys
"""

from . import errors, masks, positions
from .attention import IMPLEMENTATIONS, MultiHeadAttention, Weights, attention, join_heads, split_heads
from .check import check
from .models.model import Model
from .models.run import Run
from .pretrained import Recorder, Recording, load_model, watch
from .trace import Step, Trace, no_trace

__all__ = [
    "IMPLEMENTATIONS",
    "Model",
    "MultiHeadAttention",
    "Recorder",
    "Recording",
    "Run",
    "Step",
    "Trace",
    "Weights",
    "attention",
    "check",
    "errors",
    "join_heads",
    "load_model",
    "masks",
    "no_trace",
    "positions",
    "split_heads",
    "watch",
]
