"""Properties that are tried from outside: what moves an output, and what must not.

Axis letters: b batch, i query, j key, n token, c channel. Masks are bool, True = may attend.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import Unsupported
from .finding import FAILS, HOLDS, NOT_APPLICABLE, UNKNOWN, Finding
from .positions import NOT_A_PRODUCT, position_kind
from .probe import Probe
from .recorder import DROPOUTS, Operation, Recorder
from .target import PER_QUERY, PER_TEXT, change, distance, is_large, sentence

# torch's words where it lacks an operation in a format
_MISSING = ("not implemented for", "only supported for", "Expected both inputs to be Half, Float")
ROW = 3  # the query that may attend to nothing


def future(probe: Probe) -> Finding:
    """2: future tokens change nothing where it is causal."""
    if probe.causal is False:
        return Finding(2, NOT_APPLICABLE, "it is not meant to be causal")
    reach = probe.reach(probe.n)
    moved, figure = reach > probe.limit, float(reach.triu(1).max())
    later, earlier = moved.triu(1), moved.tril(-1)  # (query, key): later tokens are above the diagonal
    if (failure := _causal_maps(probe)) is not None:
        return failure
    if not bool(later.any()) and (probe.causal or bool(earlier.any())):
        return Finding(2, HOLDS, "it is causal by itself: no later token moves an output", figure, probe.limit)
    cause = ""
    if bool(later.any()) and not bool(earlier.any()):
        cause = "reads only the future"
    elif bool(earlier.tril(-2).any()) and bool(later.any()) and not bool(later.triu(2).any()):  # one after it alone
        cause = "reads the next token"
    elif probe.causal:
        is_open = int(later.sum()) == probe.n * (probe.n - 1) // 2
        cause = "no causal mask" if is_open else "some heads see the future"
    if cause:
        return Finding(2, FAILS, "a later token moves an output", figure, probe.limit, cause, _leak(probe))
    if probe.target.mask is None or probe.target.mask.shape not in PER_QUERY:
        words = "every token attends to every other, and no mask of queries and keys is taken"
        return Finding(2, NOT_APPLICABLE, words)
    allow = torch.ones(probe.n, probe.n, dtype=torch.bool, device=probe.x.device).tril()
    reach = probe.reach(probe.n, allow)
    figure = float(reach.triu(1).max())
    if figure > probe.limit:
        words = "a later token moves an output under a causal mask, which does not block: see 3"
        return Finding(2, UNKNOWN, words, figure)
    return Finding(2, HOLDS, "under a causal mask no later token moves an output", figure, probe.limit)


def _causal_maps(probe: Probe) -> Finding | None:
    """Return a failure that only the maps show: of some heads, or a diagonal that is blocked."""
    try:
        weights = probe.graph.weights.detach().nan_to_num()
    except Unsupported:
        return None
    later = weights.triu(1).amax((-2, -1)) > 0  # (b, h)
    if bool(later.any()) and not bool(later.all()):
        figure = float(weights.triu(1).max())
        words = f"{int(later.sum())} of {later.numel()} maps have weight on later tokens, the others have none"
        return Finding(2, FAILS, words, figure, 0.0, "some heads see the future")
    diagonal, past = weights.diagonal(dim1=-2, dim2=-1)[..., 1:], weights.tril(-1)
    rows = weights[..., 1:, :].triu(2)
    if not bool(diagonal.any()) and bool(past.any()) and not bool(rows.any()):
        return Finding(2, FAILS, "no token has weight on itself", 0.0, None, "not itself")
    return None


def _leak(probe: Probe) -> str:
    """Return the shortest text in which a later token moves an output."""
    for n in range(2, probe.n + 1):
        with contextlib.suppress(Exception):
            reach = probe.reach(n).triu(1)
            if float(reach.max()) > probe.limit:
                i, j = divmod(int(reach.argmax()), n)
                return f"{n} tokens: other numbers at token {j} move output {i} by {reach[i, j]:.2g} of the largest"
    return ""


def mask(probe: Probe) -> Finding:
    """3: a blocked key no longer reaches its query, and True means what it says."""
    target, trial = probe.target, probe.mask
    line = probe.mask_line(trial.form if trial is not None else target.mask)
    if trial is not None and trial.fault:
        words, cause = {
            "transposed": ("the block of (query 3, key 2) keeps token 2 from reading token 3", "mask transposed"),
            "leaks": (f"in no form does “{trial.name}” keep a blocked key from moving its query", "mask leaks"),
            "ignored": (f"“{trial.name}” changes nothing in any form that it takes", "mask ignored"),
        }[trial.fault]
        example = "one text, key 2 blocked for query 3: other numbers at token 2 move output 3"
        return Finding(3, FAILS, words, trial.leak or None, probe.limit, cause, example, line)
    form = target.mask
    if form is None:
        return Finding(3, NOT_APPLICABLE, "it takes no mask")
    meaning = {"True attends": "attends", "True blocks": "blocks"}.get(form.code, "")
    intent = probe.mask_true or ("attends" if form.name.startswith("allow") else "")
    if intent and meaning and meaning != intent:
        words = f"True {meaning} in “{form.name}”, where True {intent} was meant"
        return Finding(3, FAILS, words, cause="polarity", example="a mask of True everywhere", line=line)
    if probe.mask_true and form.code.startswith("0 is added"):
        return Finding(3, FAILS, f"no mask of True and False blocks in “{form.name}”", cause="mask added", line=line)
    figure, example = _through_mask(probe, form.shape)
    if figure > probe.limit:
        cause = "mask of another text" if example.startswith("the mask of") else "mask leaks"
        return Finding(3, FAILS, "a blocked key moves its query", figure, probe.limit, cause, example, line)
    return Finding(3, HOLDS, f"{form}; a blocked key moves no output", figure, probe.limit)


def _through_mask(probe: Probe, shape: str) -> tuple[float, str]:
    """Return the largest move of an output by a key that a random mask blocks for it, and the case."""
    n, batch = probe.n, probe.batch
    generator = torch.Generator().manual_seed(3)
    allow = torch.rand(batch if shape in PER_TEXT else 1, n if shape in PER_QUERY else 1, n, generator=generator) < 0.6
    allow = allow.expand(batch, n, n).clone().to(probe.x.device)
    if shape in PER_QUERY:
        allow |= torch.eye(n, dtype=torch.bool, device=allow.device)
    else:
        allow[:, :, 0] = True
    out = probe.run(probe.x, allow=allow)
    moves = torch.stack([probe.target.moves(probe.x, key, allow=allow)[0] for key in range(n)], 1).fill_diagonal_(0)
    blocked = moves.masked_fill(allow[0], 0)
    worst, (query, key) = float(blocked.max()), divmod(int(blocked.argmax()), n)
    example = f"key {key} is blocked for query {query} and moves its output by {worst:.2g} of the largest"
    if shape in PER_TEXT:
        others = torch.cat([allow[:1], torch.ones_like(allow[1:])])
        moved = distance(probe.run(probe.x, allow=others)[0], out[0])
        if moved > probe.limit:
            return moved, "the mask of another text moves the output of text 0"
    return worst, example


def padding(probe: Probe) -> Finding:
    """4: padded keys change nothing, alone or in a batch."""
    target, trial = probe.target, probe.padding
    if trial is not None and trial.fault:
        words = f"“{trial.name}” keeps no padded key from moving an output, in any form that it takes"
        cause = "padding on the queries" if trial.fault == "transposed" else "padding leaks"
        return Finding(4, FAILS, words, trial.leak or None, probe.limit, cause)
    form = target.padding or target.mask
    if form is None or form.shape not in PER_TEXT:
        return Finding(4, NOT_APPLICABLE, "it takes no mask for each text")
    is_code = form.code in ("True attends", "True blocks")
    if target.mask is None and probe.mask_true and is_code and probe.mask_true not in form.code:
        return Finding(4, FAILS, f"{form}, where True {probe.mask_true} was meant", cause="polarity")
    n, real = probe.n, torch.ones(probe.batch, probe.n, dtype=torch.bool, device=probe.x.device)
    real[0, n - 2 :] = False
    alone = distance(probe.run(probe.x, padding=real)[0, : n - 2], probe.run(probe.x[:1, : n - 2])[0])
    figure, example = _through_mask(replace(probe, target=replace(target, mask=form)), form.shape)
    if alone > figure:
        figure, example = alone, f"a text of {n - 2} tokens gives other outputs padded to {n} in a batch"
    if figure > probe.limit:
        return Finding(4, FAILS, example, figure, probe.limit, "padding leaks", f"text of {n - 2} tokens, 2 padded")
    words = f"{form}; padded tokens move nothing, and a text alone gives the same"
    return Finding(4, HOLDS, words, figure, probe.limit)


def batch_mates(probe: Probe) -> Finding:
    """5: other texts of the batch change nothing."""
    figure, moved = 0.0, probe.out.new_zeros(probe.n)
    for text, mate in ((0, 1), (1, 0)):
        alone = distance(probe.run(probe.x[text : text + 1])[0], probe.out[text])
        moves = probe.target.moves(probe.x, 2, mate)[text]
        if (worst := max(float(moves.max()), alone)) > figure:
            figure, moved = worst, moves
    if figure <= probe.limit:
        axis = "the tokens" if probe.target.layout == "sbd" else "the texts"
        words = f"the first axis is {axis}; a text alone gives the same"
        return Finding(5, HOLDS, words, figure, probe.limit)
    is_same_token = bool(moved[2] > probe.limit) and int((moved > probe.limit).sum()) == 1
    cause = "batch attends to itself" if is_same_token else "batch statistics"
    example = f"{probe.batch} texts: other numbers at token 2 of a text move another by {figure:.2g} of the largest"
    return Finding(5, FAILS, "another text moves an output", figure, probe.limit, cause, example)


def cache(probe: Probe) -> Finding:
    """9: token by token with a cache equals the whole text at once."""
    target, n = probe.target, probe.n
    if "cache" not in target.names:
        return Finding(9, NOT_APPLICABLE, "it takes no cache")
    x, allow = probe.x[:1], None
    if not probe.is_causal:
        if target.mask is None:
            return Finding(9, UNKNOWN, "the whole text is not causal, and takes no mask that makes it so")
        allow = torch.ones(1, n, n, dtype=torch.bool, device=x.device).tril()
    reference = probe.run(x, allow=allow)
    steps, state = _step_by_step(probe, x)
    if state is None:
        words = f"it returns nothing that “{target.names['cache']}” could take; give a cache that it fills"
        return Finding(9, UNKNOWN, words)
    differences = [distance(steps[:, token], reference[:, token]) for token in range(n)]
    figure = max(differences)
    if figure <= probe.limit:
        return Finding(9, HOLDS, f"{n} tokens one at a time equal the whole", figure, probe.limit)
    token = next(token for token, moved in enumerate(differences) if moved > probe.limit)
    example = f"token {token} is the first that differs, by {differences[token]:.2g} of its largest number"
    cause = _cache_cause(probe, x, steps, reference) if token else "cache without the new token"
    return Finding(9, FAILS, "token by token gives other outputs", figure, probe.limit, cause, example)


def _cache_cause(probe: Probe, x: Tensor, steps: Tensor, reference: Tensor) -> str:
    """Return why the tokens after the first have other outputs when they are given one at a time."""
    if distance(_step_by_step(probe, change(x, 0))[0][:, 1], steps[:, 1]) <= probe.limit:
        return "cache not kept"
    with contextlib.suppress(Exception):  # of a cache that is no pair
        if distance(_step_by_step(probe, x, turn=lambda pair: (pair[1], pair[0]))[0], reference) <= probe.limit:
            return "cache swapped"
    alone = torch.cat([probe.run(x[:, :1]), probe.run(x[:, 1:2])], 1)
    # with the weights (w, 1 − w) on the two values in the wrong order, the outputs add up to those of the values
    if distance(steps[:, 1] + reference[:, 1], alone.sum(1)) <= max(probe.limit, 1e-9):
        return "cache out of order"
    kind, fault, _ = position_kind(probe)
    return "cache positions" if fault or kind not in ("none", NOT_A_PRODUCT) else "cache differs"


def _step_by_step(probe: Probe, x: Tensor, turn: Callable[[Any], Any] = lambda state: state) -> tuple[Tensor, Any]:
    """Return the outputs of tokens one at a time (b, n, c), and the last cache; `turn` changes each."""
    state = _new_cache(probe.target.function)
    parts = []
    with torch.no_grad():
        for token in range(x.shape[1]):
            answer = probe.target(x[:, token : token + 1], cache=state, start=token)
            state = turn(state if answer.cache is None else answer.cache)
            parts.append(answer.out)
    return torch.cat(parts, 1), state


def _new_cache(function: Any) -> Any:
    """Return an empty cache of the library that a module comes from, or None."""
    library = sys.modules.get("transformers")
    is_its = any(kind.__module__.startswith("transformers.") for kind in type(function).__mro__)
    return library.DynamicCache() if library is not None and is_its else None


def dropout(probe: Probe) -> Finding:
    """11: dropout only in training, and on the weights."""
    target = probe.target
    if target.keeps_state:
        return Finding(11, FAILS, "a second call gives other numbers", cause="keeps state")
    if target.seed is not None:
        with torch.no_grad(), Recorder() as recorder:
            target(probe.x)
        figure, drops = distance(_seeded(probe, 1), probe.out), _drops(recorder)
        cause, line = ("dropout in evaluation", drops[0].line) if drops else ("random", None)
        example = "the same input with two random seeds"
        return Finding(11, FAILS, "it is random in evaluation mode", figure, probe.limit, cause, example, line)
    if not isinstance(target.function, nn.Module):
        return Finding(11, NOT_APPLICABLE, "a function has no training mode")
    target.function.train()
    try:
        if distance(_seeded(probe, 0), _seeded(probe, 1)) <= probe.limit:
            return Finding(11, NOT_APPLICABLE, "it has no dropout")
        graph = replace(probe.graph)
        score = graph.scores[0, 0, -1, 0]
    finally:
        target.function.eval()
    drops, returned = _drops(graph.recorder), graph.answer.weights
    maps = [o for o in drops if list(o.result.shape).count(probe.n) > 1]
    if early := [o for o in maps if graph.gradient(score, o.result) is not None]:
        words = "scores are dropped before the softmax"
        return Finding(11, FAILS, words, cause="dropout on the scores", line=early[0].line)
    if not drops:
        return Finding(11, UNKNOWN, "it is random in training, by a function that is not torch's dropout")
    words = f"in training alone, on {'the weights' if maps else 'the output'}"
    if returned is not None and any(distance(returned, o.result) == 0 for o in maps):
        words += "; the weights that it returns are those after dropout"
    return Finding(11, HOLDS, words)


def _drops(recorder: Recorder) -> list[Operation]:
    """Return the dropouts that changed something."""
    return [o for o in recorder.operations if o.name in DROPOUTS and bool(o.result.ne(o.inputs[0]).any())]


def _seeded(probe: Probe, seed: int) -> Tensor:
    with torch.no_grad():
        return replace(probe.target, seed=seed)(probe.x).out


def empty_row(probe: Probe) -> Finding:
    """12: a row in which every key is blocked is finite, and its gradients too."""
    target, trials = probe.target, (probe.mask, probe.padding)
    form = target.mask or target.padding
    if form is None or any(trial is not None and trial.fault == "transposed" for trial in trials):
        return Finding(12, NOT_APPLICABLE, "it takes no mask that blocks")
    allow = torch.ones(probe.batch, probe.n, probe.n, dtype=torch.bool, device=probe.x.device)
    if form.shape in PER_QUERY:
        allow[:, ROW] = False
        words = f"query {ROW} may attend to no key"
    else:
        allow[0] = False
        words = "every key of text 0 is padding"
    x = probe.x.clone().requires_grad_()
    with torch.enable_grad():
        out = replace(target, mask=form)(x, allow=allow).out
        is_finite = bool(out.isfinite().all())
        (gradient,) = torch.autograd.grad(out.nan_to_num().square().sum(), x, allow_unused=True)
    if is_finite and (gradient is None or bool(gradient.isfinite().all())):
        return Finding(12, HOLDS, f"{words}: output and gradients are finite")
    place = "gradients are" if is_finite else f"output has {int((~out.isfinite()).sum())} numbers that are"
    words = f"{words}: the {place} not finite"
    return Finding(12, FAILS, words, cause="empty row", example=words, line=probe.mask_line(form))


def gradients(probe: Probe) -> Finding:
    """13: the gradients equal finite differences in float64."""
    target, n = probe.target, 3
    if target.dtype != torch.float64 or target.inner is not None:
        return Finding(13, UNKNOWN, "finite differences need float64, in which it is not measured")
    inputs = [(3 * target.draw(n, 1, seed)).requires_grad_() for seed in range(3 if target.takes_qkv else 1)]

    def run(*inputs: Tensor) -> Tensor:
        return target(*inputs).out

    try:
        run(*inputs)
    except Exception:  # self-attention alone
        inputs = inputs[:1]
    with torch.enable_grad():
        if not run(*inputs).requires_grad:
            return Finding(13, FAILS, "its output has no gradient at all", cause="gradient cut")
        try:
            torch.autograd.gradcheck(run, inputs, fast_mode=True, atol=1e-6, rtol=1e-5)
        except RuntimeError as error:
            words = "the gradients differ from finite differences"
            if "not reentrant" in str(error) or "nondeterministic" in str(error).lower():
                return Finding(13, UNKNOWN, "two backward passes differ")
            return Finding(13, FAILS, words, cause="gradient cut", example=f"{n} tokens, torch.autograd.gradcheck")
    if (name := _unused_parameter(probe)) is not None:
        return Finding(13, FAILS, f"“{name}” has no gradient", cause="unused parameter", example=name)
    return Finding(13, HOLDS, f"torch.autograd.gradcheck agrees on {n} tokens in float64")


def _unused_parameter(probe: Probe) -> str | None:
    """Return the name of a parameter on which the output does not depend."""
    function = probe.target.function
    if not isinstance(function, nn.Module):
        return None
    parameters = {name: x for name, x in function.named_parameters() if x.requires_grad}
    with torch.enable_grad():
        total = probe.target(probe.x.clone()).out.square().sum()
        slopes = torch.autograd.grad(total, [*parameters.values()], allow_unused=True) if parameters else ()
    return next((name for name, slope in zip(parameters, slopes, strict=True) if slope is None), None)


def formats(probe: Probe) -> Finding:
    """14: other formats, devices and lengths, one token, an empty batch, large numbers."""
    target, own_dtype = probe.target, probe.target.dtype
    if target.inner is not None:
        words = f"it computes in {str(target.inner)[6:]} inside, whatever it is given"
        return Finding(14, FAILS, words, cause="half precision")
    others = () if is_large(target.function) else (torch.float32, torch.bfloat16)
    cases: list[tuple[str, torch.dtype, int, int, float]] = [
        *([] if probe.is_finite else [(f"{probe.n} tokens", own_dtype, probe.n, 2, 1)]),
        *((str(dtype)[6:], dtype, probe.n, 2, 1) for dtype in others),
        ("one token", own_dtype, 1, 2, 1),
        ("an empty batch", own_dtype, probe.n, 0, 1),
        (f"{2 * probe.n + 5} tokens", own_dtype, 2 * probe.n + 5, 1, 1),
        ("numbers of 10,000", own_dtype, probe.n, 2, 1e4),
    ]
    faults, missing, refused = dict[str, str](), dict[str, str](), ""
    for name, dtype, n, batch, size in cases:
        try:
            copy = target if dtype == own_dtype else target.with_dtype(dtype)
            with torch.no_grad():
                out = copy(size * copy.draw(n, batch)).out
            if out.dtype != dtype:
                faults[name] = f"the output is {str(out.dtype)[6:]}"
            elif bool(out.isnan().any()):
                faults[name] = "the output is not finite"
        except Exception as error:
            if dtype != own_dtype and any(words in str(error) for words in _MISSING):
                missing[name] = sentence(error)
            elif batch:
                faults[name] = sentence(error)
            else:  # a refusal is no wrong number
                refused = f"; an empty batch is refused ({type(error).__name__})"
    if faults:
        example = "{}: {}".format(*next(iter(faults.items())))
        cause = "softmax overflow" if list(faults) == ["numbers of 10,000"] else "format fixed"
        return Finding(14, FAILS, f"fails for {', '.join(faults)}", len(faults), 0, cause, example)
    if missing:
        return Finding(14, UNKNOWN, "torch lacks an operation for {}: {}".format(*next(iter(missing.items()))))
    return Finding(14, HOLDS, f"runs with {', '.join(name for name, *_, n, _ in cases if n or not refused)}{refused}")
