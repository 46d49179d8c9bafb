"""The names of steps: which there are, which step of a trace a name leads to, and what each is called in texts.

A text's words for a step stand in assets/step_words.toml, by the implementation that writes attention as it does.
"""

import re
import tomllib
from functools import lru_cache
from pathlib import Path

import torch

from mha_core import IMPLEMENTATIONS, Step, Trace
from mha_core.attention.switches import Ablation

# implementation -> text -> step -> its words there
WORDS: dict[str, dict[str, dict[str, str]]] = tomllib.loads(
    (Path(__file__).parents[2] / "assets" / "step_words.toml").read_text("utf-8")
)


def usable(step: str) -> bool:
    """True when some implementation has a step of that name."""
    return re.sub(r"\.head\d{1,2}$", ".head0", step, flags=re.ASCII) in _names_of_steps()


def find(steps: tuple[Step, ...], name: str, head: int = 0) -> int:
    """The step of that name; where an implementation has none, the one it leads to, or the first.

    "q.transpose" leads to "q", "qkv.view" to "q", and a step of a single head to that of `head`, the one in focus.
    The browser finds it the same way (findStep in assets/web/shapes/tensor.js).
    """
    names = [step.name for step in steps]
    of_head, base = re.sub(r"\.head\d+$", f".head{head}", name), name.split(".")[0]
    return next((names.index(known) for known in (of_head, base, base[:1]) if known in names), 0)


@lru_cache(maxsize=1)
def _names_of_steps() -> frozenset[str]:
    """The names of all steps of all implementations, from a tiny pass of each, with everything that adds one."""
    names, every = set(), torch.ones(2, 2, dtype=torch.bool)
    for kind in IMPLEMENTATIONS.values():
        trace, values = Trace(), every if "values_off" in kind.can else None
        kind(2, 1, dropout=0.5).train()(torch.zeros(1, 2, 2), allow=every, ablate=Ablation(None, values), trace=trace)
        names |= {step.name for step in trace.steps}
    return frozenset(names)


def in_texts(implementation: str, step: str) -> list[tuple[str, str]]:
    """(text, its words) of each text that has this step; of the steps of single heads all have the same."""
    name = re.sub(r"\.head\d+$", ".head", step)
    of_q = re.sub(r"^[kv]\.", "q.", name)
    texts = WORDS.get(implementation, {}).items()
    found = ((text, words.get(name) or words.get(of_q, "")) for text, words in texts)
    return [(text, said) for text, said in found if said]
