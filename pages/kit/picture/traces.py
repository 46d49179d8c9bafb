"""What a pass recorded of one layer, in any implementation, kept for all visitors. No streamlit."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from cachetools import LRUCache

from mha_core import IMPLEMENTATIONS, Step

from . import mask_codec, pictures, words
from .pictures import Settings
from .source import Excerpt, Ran, excerpt, lines_run

__all__ = ["Traced", "parents", "settings_within", "traced"]

TRACED_BYTES = 48 * 2**20  # naive on 511 tokens takes 93 MiB and is not kept
_lock = threading.Lock()


@dataclass(frozen=True)
class Traced:
    """The steps of one layer.

    Attributes:
        settings, layer, implementation: what was asked.
        tokens: of the sentence.
        steps: in the order in which they were made.
        ran: the lines of each function that ran to make them.
    """

    settings: Settings
    layer: int
    implementation: str
    tokens: list[str]
    steps: tuple[Step, ...]
    ran: Ran

    @property
    def nbytes(self) -> int:
        """Memory that keeping it costs; tensors that share memory count once."""
        pieces = {step.value.untyped_storage().data_ptr(): step.value.untyped_storage().nbytes() for step in self.steps}
        return sum(pieces.values())

    def source(self, step: Step) -> Excerpt:
        """The function that recorded a step, with the lines that ran to make it."""
        return excerpt(step.code, step.line, frozenset(self.ran.get(step.code, ())))


_kept: LRUCache[tuple[Settings, int, str], Traced] = LRUCache(TRACED_BYTES, getsizeof=lambda kept: kept.nbytes)


def settings_within(settings: Settings, layer: int, implementation: str) -> tuple[Settings, list[str]]:
    """The settings as far as this implementation can take them, and what it cannot, as whole sentences."""
    can, left_out = IMPLEMENTATIONS[implementation].can, []
    if settings.temperature != 1 and "temperature" not in can:
        settings = replace(settings, temperature=1.0)
        left_out.append(f"{implementation} has no temperature: its steps are those of temperature 1.")
    if mask_codec.per_head(settings.painted) and "head_mask" not in can:
        settings = settings.unpainted
        left_out.append(
            f"{implementation} takes one mask for all heads: its steps are those without the painted cells."
        )
    model = pictures.model_of(settings)
    if not words.places(settings.position, model) - {"add"} <= can:
        name = words.own_position(model) if settings.position == "trained" else settings.position
        trained = words.places("trained", model) - {"add"} <= can
        instead = "the trained ones" if trained else "none"
        left_out.append(f"{implementation} cannot do {name} positions: its steps are those of {instead}.")
        settings = replace(settings, position="trained" if trained else "none")
    own = tuple(pair for pair in settings.heads_off if pair[0] == layer)
    if own and "heads" not in can:
        settings = replace(settings, heads_off=tuple(pair for pair in settings.heads_off if pair[0] != layer))
        left_out.append(
            f"{implementation} cannot switch heads off: its steps are those with all heads of this layer on."
        )
    return settings, left_out


def traced(settings: Settings, layer: int, implementation: str) -> Traced:
    """The steps, computed now or kept from an earlier visitor. Raises what `Model.run` raises."""
    key = (settings, layer, implementation)
    with _lock:
        found = _kept.get(key)
    if found is None:
        ran: Ran = {}
        model = pictures.model_of(settings)
        with pictures.turn(len(model.tokenize(settings.text)[1])), lines_run(ran):
            run = model.run(
                settings.text,
                mask=pictures.mask_of(settings, model),
                position=settings.position,
                heads_off=settings.heads_off,
                temperature=settings.temperature,
                trace_layer=layer,
                implementation=implementation,
            )
        found = Traced(settings, layer, implementation, run.tokens, run.steps, ran)
        with _lock:
            if found.nbytes <= TRACED_BYTES:
                _kept[key] = found
    return found


# what a step is computed from, where it is not another look at the same memory
_FROM = {
    "q": ("x",),
    "k": ("x",),
    "v": ("x",),
    "qkv": ("x",),
    "scores": ("q", "k"),
    "masked": ("scores",),
    "weights": ("masked", "scores"),
    "mixed": ("weights", "v"),
    "joined": ("mixed",),
    "out": ("joined",),
}
_ELSEWISE = {
    ("sdpa", "mixed"): ("q", "k", "v"),  # the kernel makes no weights
    ("torch", "out"): ("x",),  # the steps between are a second pass
}


def parents(found: Traced, at: int) -> list[int]:
    """The earlier steps that step `at` was made from: the one whose memory it reads, or the operands.

    A step that "naive" stacks for the record was made from the same step of every head.
    """
    steps = found.steps
    base, head = _base(steps[at].name), _head(steps[at].name)
    earlier = range(at - 1, -1, -1)
    if steps[at].is_view:
        memory = steps[at].value.untyped_storage().data_ptr()
        sharing = [n for n in earlier if steps[n].value.untyped_storage().data_ptr() == memory]
        # q, k and v of one projection are no parents of each other
        own = [n for n in sharing if _base(steps[n].name) not in {"q", "k", "v"} - {base}]
        return (own or sharing)[:1]
    same = [n for n in earlier if _base(steps[n].name) == base]
    of_heads = [n for n in reversed(same) if _head(steps[n].name)]
    if of_heads and not head:
        return of_heads
    same = [n for n in same if _head(steps[n].name) == head]
    if same:
        return same[:1]
    made: list[int] = []
    for name in _ELSEWISE.get((found.implementation, base), _FROM.get(base, ())):
        of_name = [n for n in earlier if _base(steps[n].name) == name]
        single = [n for n in of_name if _head(steps[n].name)]
        if single and not head and base == "joined":
            return single[::-1]  # concatenated from the heads themselves
        made += ([n for n in of_name if _head(steps[n].name) == head] or of_name)[:1]
    return made[:1] if base == "weights" else made


def _base(name: str) -> str:
    return name.split(".")[0]


def _head(name: str) -> str:
    """ "head3" of "scores.head3", otherwise nothing."""
    last = name.split(".")[-1]
    return last if last.startswith("head") else ""
