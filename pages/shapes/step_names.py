"""The names of steps: their validity, lookup in a trace, descriptions, and their names in the source texts.

All texts are in assets/step_words.toml; those of a source text belong to the implementation that it corresponds to.
"""

import math
import re
from functools import lru_cache
from typing import Any

import torch

from headlight import read_toml
from headlight.picture.traces import LayerTrace
from headlight.ui.numbers import capital, count
from mha_core import IMPLEMENTATIONS, Step, Trace
from mha_core.attention.switches import Ablation

SINGULAR = {"q": "query", "k": "key", "v": "value"}
PLURAL = {"q": "queries", "k": "keys", "v": "values", "qkv": "queries, keys and values"}
# implementation -> source text -> step -> its name there; "steps" -> step -> its description; "axes" -> letter -> name
WORDS: dict[str, Any] = read_toml("step_words")


def is_step(step: str) -> bool:
    """Check whether any implementation has a step of this name."""
    return re.sub(r"\.head\d{1,2}$", ".head0", step, flags=re.ASCII) in _all_names()


def find(steps: tuple[Step, ...], name: str, head: int = 0) -> int:
    """Return the index of a step by name, or of the step that it leads to, or 0.

    "q.transpose" leads to "q", "qkv.view" to "q", and a step of a single head to that of `head`, the focused one.
    findStep in assets/web/shapes/tensor.js has the same rule.
    """
    names = [step.name for step in steps]
    head_name, base = re.sub(r"\.head\d+$", f".head{head}", name), name.split(".")[0]
    return next((names.index(candidate) for candidate in (head_name, base, base[:1]) if candidate in names), 0)


@lru_cache(maxsize=1)
def _all_names() -> frozenset[str]:
    """Return the step names of all implementations, from a tiny pass of each with every option that adds a step."""
    names, allow = set(), torch.ones(2, 2, dtype=torch.bool)
    for kind in IMPLEMENTATIONS.values():
        trace, values = Trace(), allow if "values_off" in kind.can else None
        kind(2, 1, dropout=0.5).train()(torch.zeros(1, 2, 2), allow=allow, ablate=Ablation(None, values), trace=trace)
        names |= {step.name for step in trace.steps}
    return frozenset(names)


def names_in_texts(implementation: str, step: str) -> list[tuple[str, str]]:
    """Return each source text that has this step, with its name for it; all single heads have the same."""
    name = re.sub(r"\.head\d+$", ".head", step)
    query_name = re.sub(r"^[kv]\.", "q.", name)
    texts = WORDS.get(implementation, {}).items()
    names = ((text, words.get(name) or words.get(query_name, "")) for text, words in texts)
    return [(text, term) for text, term in names if term]


def describe_axes(step: Step) -> list[tuple[str, str, int]]:
    """Return the name of each axis, such as "heads" or "3 × channels", its letter and its size."""
    groups = [group.strip("()") for group in re.findall(r"\(.*?\)|\S+", step.axes)]
    letters = [next((letter for letter in group if letter.isalpha()), "") for group in groups]
    names = [" × ".join(WORDS["axes"].get(part, part) for part in group.split()) for group in groups]
    special = {"1": "the same for all heads", "3": "q, k, v"}
    return list(zip((special.get(name, name) for name in names), letters, step.shape, strict=True))


def describe(layer: LayerTrace, number: int) -> tuple[str, str, str]:
    """Return the title of a step, its reason, and the lesson on what happens without it, or ""."""
    step = layer.steps[number]
    name, _, head = step.name.partition(".head")
    base, _, ending = name.partition(".")
    split = "split" if base in PLURAL and " h " in f" {step.axes} " else ""
    keys = [name, ending or "project" if head else ending, split]
    tagged_keys = [f"{key}{tag}" for key in keys for tag in (*(f" ({tag})" for tag in _tags(layer, number)), "")]
    entries = [WORDS["steps"][key] for key in tagged_keys if key in WORDS["steps"]]
    values = _values(layer, number)
    title, reason, lesson = (
        next((entry[field] for entry in entries if field in entry), "").format(**values)
        for field in ("title", "why", "lesson")
    )
    return f"{title.split(',')[0]} of head {head}" if head else title, reason, lesson


def _tags(layer: LayerTrace, number: int) -> list[str]:
    """Return the tags of a step that the table of words knows."""
    step, letters = layer.steps[number], [letter for _, letter, _ in describe_axes(layer.steps[number])]
    parents = [layer.steps[index] for index in layer.parents(number)]
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


def _values(layer: LayerTrace, number: int) -> dict[str, object]:
    """Return the values for the placeholders in the description of a step."""
    step, last = layer.steps[number], layer.steps[-1]
    parent = layer.steps[next(iter(layer.parents(number)), number)]
    sizes, parent_sizes = ({letter: size for _, letter, size in describe_axes(item)} for item in (step, parent))
    d_head = next(item.shape[-1] for item in layer.steps if item.name == "q")
    n_heads, letters = last.shape[-1] // d_head, [letter for _, letter, _ in describe_axes(step)]
    channels, base = math.prod(step.shape[2:]), step.name.split(".")[0]
    rows, wide = sizes.get("i", sizes.get("j")), step.shape[-1]
    strides, parent_strides = (
        dict(zip((letter for _, letter, _ in describe_axes(item)), item.strides, strict=True))
        for item in (step, parent)
    )
    keys = letters.index("j") if "j" in letters else -1
    closed = 0 if step.name == "masked.allow" else -math.inf
    return {
        **dict.fromkeys("chij") | sizes,
        "rows": rows,
        "wide": wide,
        "before": parent.shape[-1],
        "channels": channels,
        "stride": parent.strides[-1],
        "high": parent_sizes.get("i"),
        "deep": parent_sizes.get("d"),
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
        "apart": f"{parent_strides.get('h', 0):,}",
        "together": strides.get("h"),
        "one": SINGULAR.get(base),
        "of": PLURAL.get(base, base),
        "Of": capital(PLURAL.get(base, base)),
    }
