"""What every control says while neither the visitor nor a link says anything: key of the link -> value."""

from __future__ import annotations

from typing import Any

from pages.kit.picture.place import DEFAULT_AT
from pages.kit.picture.presets import PRESETS

__all__ = ["DEFAULTS"]

DEFAULTS: dict[str, Any] = {
    "s": PRESETS[0],
    "mask": "none",
    "w": 3,
    "first": 1,
    "gap": 2,
    "rule": "causal & window:4",
    "on": "none",
    "p": "",
    "pos": "as trained",
    "t": 1.0,
    "off": [],
    "dev": None,  # the best device present
    "model": "minilm",
    "at": DEFAULT_AT,
    "look": "",
    "pin": "",
    "big": False,
    "ex": "one head",
    "src": "as given",
    "sqrt": False,
    "qw": "how are you",
    "kw": "you can",
    "m": "",
    # compare: the right side
    "s2": "",  # the same sentence
    "mask2": "none",
    "w2": 3,
    "first2": 1,
    "gap2": 2,
    "rule2": "causal & window:4",
    "on2": "none",
    "p2": "",
    "pos2": "none",
    "t2": 1.0,
    "off2": [],
    "order": "",  # of the shuffle test: a random one
    "shuffle": 1,
    # masks
    "pad": "how are you",
    # shapes
    "step": "q.transpose",
    "f": 0,
    "vs": "none",
    "lesson": "no transpose",
    # positions
    "enc": "sinusoidal",
    "enc2": "learned",
    "ch": ["0", "1", "30", "31"],
    "pair": 0,
    "at_pos": 1,
    "hd": 0,
    "far": 600,
    "amp": 1.0,
    # implementations
    "diff": "relative",
    "b": 1,
    "n": 128,
    "d": 384,
    "h": 12,
    "what": "forward with maps",
    "race": ["naive", "efficient", "fused", "einsum", "sequence_first", "sdpa", "torch"],
    "secs": 3,
    "sweep": True,
    "impl": "efficient",
    "beside": "einsum",
    # train; None is what suits the task
    "task": "who did what",
    "post": "my own",
    "pe": ["none", "sinusoidal", "rotary"],
    "by": ["fused"],
    "nl": [],
    "keep": ["on"],
    "ampl": 1.0,
    "seeds": 3,
    "dm": None,
    "nh": None,
    "ff": None,
    "res": None,
    "nrm": None,
    "pool": None,
    "init": None,
    "vocab": None,
    "steps": None,
    "batch": None,
    "thr": None,
    "cut": None,
    "lr": None,
    "sched": None,
    "budget": None,
    "ratio": True,
    "tc": "text",
    "lc": "label",
    "dups": False,
    "apart": False,
    "ask": "",
    "ask2": "",
    "longer": "",
    "more": 12,
    "temp": 0.0,
    "dice": 0,
    "cand": None,  # the first one
    "head": "mean of layer 0",
    "film": "",
}
