"""The names of steps: which there are, which step of a trace a name leads to, what each is, and its words in texts.

All words stand in assets/step_words.toml; a text's own by the implementation that writes attention as it does.
"""

import math
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from headlight.picture.traces import Traced
from headlight.ui.numbers import capital, count
from mha_core import IMPLEMENTATIONS, Step, Trace
from mha_core.attention.switches import Ablation

ONE = {"q": "query", "k": "key", "v": "value"}
OF = {"q": "queries", "k": "keys", "v": "values", "qkv": "queries, keys and values"}
# implementation -> text -> step -> its words there; "steps" -> step -> what is said of it; "axes" -> letter -> its name
WORDS: dict[str, Any] = tomllib.loads((Path(__file__).parents[2] / "assets" / "step_words.toml").read_text("utf-8"))


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


def axes_of(step: Step) -> list[tuple[str, str, int]]:
    """Each axis in words, "heads" or "3 × channels", the letter that names it, and its size."""
    groups = [group.strip("()") for group in re.findall(r"\(.*?\)|\S+", step.axes)]
    letters = [next((letter for letter in group if letter.isalpha()), "") for group in groups]
    names = [" × ".join(WORDS["axes"].get(part, part) for part in group.split()) for group in groups]
    alone = {"1": "the same for all heads", "3": "q, k, v"}
    return list(zip((alone.get(name, name) for name in names), letters, step.shape, strict=True))


def describe(layer: Traced, number: int) -> tuple[str, str, str]:
    """Return the title of a step, its reason, and the lesson on what happens without it, or ""."""
    step = layer.steps[number]
    name, _, head = step.name.partition(".head")
    base, _, ending = name.partition(".")
    keys = [name, ending or "project" if head else ending, "split" if base in OF and " h " in f" {step.axes} " else ""]
    every = [f"{key}{tag}" for key in keys for tag in (*(f" ({tag})" for tag in _tags(layer, number)), "")]
    known = [WORDS["steps"][key] for key in every if key in WORDS["steps"]]
    values = _values(layer, number)
    title, why, lesson = (
        next((said[field] for said in known if field in said), "").format(**values)
        for field in ("title", "why", "lesson")
    )
    return f"{title.split(',')[0]} of head {head}" if head else title, why, lesson


def _tags(layer: Traced, number: int) -> list[str]:
    """Return the tags of a step that the table of words knows."""
    step, letters = layer.steps[number], [letter for _, letter, _ in axes_of(layer.steps[number])]
    parents = [layer.steps[at] for at in layer.parents(number)]
    is_final = bool(parents) and parents[0].name.endswith(".transpose") and parents[0].shape == step.shape
    holds = {
        "after transpose, view": is_final and step.is_view,
        "after transpose": is_final,
        "by einsum": "einsum(" in step.expression,
        "heads behind tokens": "h" in letters and letters[-3] != "h",
        "empty rows": step.name.partition(".head")[0] == "weights"
        and not bool(step.value.sum(letters.index("j")).gt(0).all()),
        "view": step.is_view,
        f"in {layer.implementation}": ".head" not in step.name,
    }
    return [tag for tag, is_so in holds.items() if is_so]


def _values(layer: Traced, number: int) -> dict[str, object]:
    """The numbers that words on a step may hold."""
    step, last = layer.steps[number], layer.steps[-1]
    one = layer.steps[next(iter(layer.parents(number)), number)]
    sizes, before = ({letter: size for _, letter, size in axes_of(each)} for each in (step, one))
    d_head = next(each.shape[-1] for each in layer.steps if each.name == "q")
    n_heads, letters = last.shape[-1] // d_head, [letter for _, letter, _ in axes_of(step)]
    channels, base = math.prod(step.shape[2:]), step.name.split(".")[0]
    rows, wide = sizes.get("i", sizes.get("j")), step.shape[-1]
    strides, apart = (
        dict(zip((letter for _, letter, _ in axes_of(each)), each.strides, strict=True)) for each in (step, one)
    )
    keys = letters.index("j") if "j" in letters else -1
    closed = 0 if step.name == "masked.allow" else -math.inf
    return {
        **dict.fromkeys("chij") | sizes,
        "rows": rows,
        "wide": wide,
        "before": one.shape[-1],
        "channels": channels,
        "stride": one.strides[-1],
        "high": before.get("i"),
        "deep": before.get("d"),
        "tokens": len(layer.tokens),
        "letters": " ".join(letters),
        "d_head": d_head,
        "root": d_head**0.5,
        "n_heads": n_heads,
        "all_heads": count(n_heads, "head"),
        "heads": count(sizes.get("h", 0), "head"),
        "count": f"{step.value.numel():,}",
        "parts": f"{'3 × ' if len(step.shape) > 4 else ''}{n_heads} × {d_head}",
        "matrix": f"{rows} × {sizes['j'] if {'i', 'j'} <= set(letters) else wide}",
        "keys": f"{keys}, the last one" if keys == len(letters) - 1 else keys,
        "closed": f"{int((step.value == closed).sum()):,}" if base == "masked" else "",
        "apart": f"{apart.get('h', 0):,}",
        "together": strides.get("h"),
        "one": ONE.get(base),
        "of": OF.get(base, base),
        "Of": capital(OF.get(base, base)),
    }
