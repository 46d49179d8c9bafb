"""The dataflow of a pass, read from its record: shared memory, the names of the formula, and order.

An implementation says nothing for it beyond its trace statements, so a new one is understood as it is.
"""

from collections.abc import Sequence

from ..trace import SECOND_PASS, Step

MASK = "masked.allow"  # what a mask allows, where a pass records it: it comes from outside, as x does

OPERANDS = {  # the formula of attention; a tensor that a pass does not record stands for its own operands
    "q": ("x",),
    "k": ("x",),
    "v": ("x",),
    "scores": ("q", "k"),
    "masked": ("scores",),
    "weights": ("masked",),
    "mixed": ("weights", "v"),
    "joined": ("mixed",),
    "out": ("joined",),
}


def parents(steps: Sequence[Step], at: int) -> list[int]:
    """The earlier steps that step `at` was made from: the one whose memory it reads, or the operands.

    A step that is stacked from the heads' own for the record comes from the same step of every head. A second pass
    beside the pass gave nothing to the steps of the pass itself, so these come from what the second pass was made from.
    """
    if _is_beside(steps[at]):
        return _direct(steps, at)
    return list(dict.fromkeys(real for parent in _direct(steps, at) for real in _in_the_pass(steps, parent)))


def _in_the_pass(steps: Sequence[Step], at: int) -> list[int]:
    if not _is_beside(steps[at]):
        return [at]
    return [real for parent in _direct(steps, at) for real in _in_the_pass(steps, parent)]


def _direct(steps: Sequence[Step], at: int) -> list[int]:
    """Parents as if there were one pass only."""
    step, earlier = steps[at], range(at - 1, -1, -1)
    base, head = _base(step), _head(step)
    if step.is_view:
        sharing = [n for n in earlier if _memory(steps[n]) == _memory(step)]
        # q, k and v of one projection are no parents of each other
        apart = [n for n in sharing if _base(steps[n]) not in {"q", "k", "v"} - {base}]
        return (apart or sharing)[:1]
    if step.name == MASK:
        return []
    if base == "masked" and (masks := [n for n in earlier if steps[n].name == MASK]):
        return [*_latest(steps[:at], "scores", head), *masks]
    same = [n for n in earlier if _base(steps[n]) == base and (_is_beside(step) or not _is_beside(steps[n]))]
    of_heads = [n for n in reversed(same) if _head(steps[n]) and steps[n].name.rpartition(".")[0] == step.name]
    if of_heads and not head:
        return of_heads
    same = [n for n in same if _head(steps[n]) == head]
    if same or base not in OPERANDS:
        return same[:1] or list(earlier[:1])
    return [n for name in OPERANDS[base] for n in _latest(steps[:at], name, head)]


def _latest(earlier: Sequence[Step], name: str, head: str) -> list[int]:
    """The last step of that name, for one head its own; all heads' where they are recorded one by one."""
    of_name = [n for n, step in enumerate(earlier) if _base(step) == name]
    of_heads = [n for n in of_name if _head(earlier[n])]
    if of_heads and not head:
        return of_heads
    last = [n for n in of_name if _head(earlier[n]) == head] or of_name
    return last[-1:] or [n for operand in OPERANDS.get(name, ()) for n in _latest(earlier, operand, head)]


def _is_beside(step: Step) -> bool:
    return step.expression.startswith(SECOND_PASS)


def _memory(step: Step) -> int:
    return step.value.untyped_storage().data_ptr()


def _base(step: Step) -> str:
    return step.name.split(".")[0]


def _head(step: Step) -> str:
    """ "head3" of "scores.head3", otherwise nothing."""
    last = step.name.split(".")[-1]
    return last if last.startswith("head") else ""
