"""Properties that are tried from outside: what moves an output, and what must not.

Axis letters: b batch, i query, j key, n token, c channel. Masks are bool, True = may attend.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import Unsupported
from .anatomy import Anatomy
from .finding import FAILS, HOLDS, NOT_APPLICABLE, UNKNOWN, Finding
from .study import Study
from .tap import _DROPOUTS, Tap
from .target import PER_QUERY, PER_TEXT, change, distance

ROW = 3  # the query that may attend to nothing


def future(study: Study) -> Finding:
    """2: future tokens change nothing where it is causal."""
    if study.causal is False:
        return Finding(2, NOT_APPLICABLE, "it is not meant to be causal")
    reach = study.reach(study.n)
    moved = reach > study.limit
    later, earlier = moved.triu(1), moved.tril(-1)
    figure = float(reach.triu(1).max())
    failure = _causal_maps(study)
    if failure is not None:
        return failure
    if not bool(later.any()) and bool(earlier.any()):
        return Finding(2, HOLDS, "it is causal by itself: no later token moves an output", figure, study.limit)
    cause = ""
    if bool(later.any()) and not bool(earlier.any()):
        cause = "reads only the future"
    elif bool(later.any()) and not bool(later.triu(2).any()):
        cause = "reads the next token"
    elif study.causal:
        cause = "no causal mask" if bool(later.sum() == study.n * (study.n - 1) // 2) else "some heads see the future"
    if cause:
        return Finding(2, FAILS, "a later token moves an output", figure, study.limit, cause, _leak(study))
    if study.target.mask is None or study.target.mask.shape not in PER_QUERY:
        return Finding(
            2, NOT_APPLICABLE, "every token attends to every other, and no mask of queries and keys is taken"
        )
    allow = torch.ones(study.n, study.n, dtype=torch.bool, device=study.x.device).tril()
    reach = study.reach(study.n, allow)
    figure = float(reach.triu(1).max())
    if figure > study.limit:
        return Finding(
            2, UNKNOWN, "a later token moves an output under a causal mask, which does not block: see 3", figure
        )
    return Finding(2, HOLDS, "under a causal mask no later token moves an output", figure, study.limit)


def _causal_maps(study: Study) -> Finding | None:
    """Return a failure that only the maps show: of some heads, or a diagonal that is blocked."""
    try:
        weights = study.anatomy.weights.detach().nan_to_num()
    except Unsupported:
        return None
    if weights.shape[-1] != study.n:
        return None
    line = study.anatomy.line
    later = weights.triu(1).amax((-2, -1)) > 0  # (b, h)
    if bool(later.any()) and not bool(later.all()):
        figure = float(weights.triu(1).max())
        words = f"{int(later.sum())} of {later.numel()} maps have weight on later tokens, the others have none"
        return Finding(2, FAILS, words, figure, 0.0, "some heads see the future", line=line)
    diagonal, past = weights.diagonal(dim1=-2, dim2=-1)[..., 1:], weights.tril(-1)
    rows = weights[..., 1:, :].triu(2)
    if not bool(diagonal.any()) and bool(past.any()) and not bool(rows.any()):
        return Finding(2, FAILS, "no token has weight on itself", 0.0, None, "not itself", line=line)
    return None


def _leak(study: Study) -> str:
    """Return the shortest text in which a later token moves an output."""
    for n in range(2, study.n + 1):
        with contextlib.suppress(Exception):
            reach = study.reach(n).triu(1)
            if float(reach.max()) > study.limit:
                i, j = divmod(int(reach.argmax()), n)
                return f"{n} tokens: other numbers at token {j} move output {i} by {reach[i, j]:.2g} of the largest"
    return ""


def mask(study: Study) -> Finding:
    """3: a blocked key no longer reaches its query, and True means what it says."""
    identified, target = study.identified, study.target
    if identified.mask_fault:
        faults = {
            "transposed": ("the block of (query 4, key 2) keeps token 2 from reading token 4", "mask transposed"),
            "leaks": (
                f"in no form does “{identified.mask_tried}” keep a blocked key from moving its query",
                "mask leaks",
            ),
            "ignored": (f"“{identified.mask_tried}” changes nothing in any form that it takes", "mask ignored"),
        }
        words, cause = faults[identified.mask_fault]
        example = "one text, key 2 blocked for query 4: other numbers at token 2 move output 4"
        return Finding(3, FAILS, words, identified.leak or None, study.limit, cause, example, _mask_line(study))
    if target.mask is None:
        if target.names.get("mask"):
            return Finding(
                3, UNKNOWN, f"no form of “{target.names['mask']}” was taken; give call=lambda m, x, allow: …"
            )
        return Finding(3, NOT_APPLICABLE, "it takes no mask")
    form = target.mask
    meaning = {"True attends": "attends", "True blocks": "blocks"}.get(form.code, "")
    intent = study.mask_true or ("attends" if form.name.startswith("allow") else "")
    if intent and meaning and meaning != intent:
        words = f"True {meaning} in “{form.name}”, where True {intent} was meant"
        return Finding(3, FAILS, words, cause="polarity", example="a mask of True everywhere", line=_mask_line(study))
    if study.mask_true and form.code.startswith("0 is added"):
        return Finding(3, FAILS, f"no mask of True and False blocks in “{form.name}”", cause="mask added")
    figure, example = _through_mask(study, form.shape)
    if figure > study.limit:
        cause = "mask of another text" if example.startswith("the mask of") else "mask leaks"
        return Finding(
            3, FAILS, "a blocked key moves its query", figure, study.limit, cause, example, _mask_line(study)
        )
    return Finding(3, HOLDS, f"{form}; a blocked key moves no output", figure, study.limit)


def _through_mask(study: Study, shape: str) -> tuple[float, str]:
    """Return the largest move of an output by a key that a random mask blocks for it, and the case."""
    n, batch = study.n, study.batch
    generator = torch.Generator().manual_seed(3)
    allow = torch.rand(batch if shape in PER_TEXT else 1, n if shape in PER_QUERY else 1, n, generator=generator) < 0.6
    allow = allow.expand(batch, n, n).clone().to(study.x.device)
    if shape in PER_QUERY:
        allow |= torch.eye(n, dtype=torch.bool, device=allow.device)
    else:
        allow[:, :, 0] = True
    out = study.run(study.x, allow=allow)
    maximum = out.nan_to_num().abs().max()
    columns = [(study.run(change(study.x, key), allow=allow) - out)[0].abs().amax(-1) / maximum for key in range(n)]
    moves = torch.stack(columns, 1).fill_diagonal_(0)
    blocked = moves.masked_fill(allow[0], 0)
    worst, (query, key) = float(blocked.max()), divmod(int(blocked.argmax()), n)
    example = f"key {key} is blocked for query {query} and moves its output by {worst:.2g} of the largest"
    if worst > study.limit and any(float(moves.masked_fill(other, 0).max()) <= study.limit for other in allow[1:]):
        return worst, "the mask of another text decides which keys move the outputs of text 0"
    if shape in PER_TEXT and batch > 1 and worst <= study.limit:
        other = allow.clone()
        other[1] = True
        moved = distance(study.run(study.x, allow=other)[0], out[0])
        if moved > study.limit:
            return moved, "the mask of text 1 moves the output of text 0"
    return worst, example


def _mask_line(study: Study) -> Any:
    with contextlib.suppress(Exception):
        return study.anatomy.line
    return None


def padding(study: Study) -> Finding:
    """4: padded keys change nothing, alone or in a batch."""
    target = study.target
    form = target.padding or (target.mask if target.mask is not None and target.mask.shape in PER_TEXT else None)
    if form is None or ("padding" in target.names and target.padding is None):
        if "padding" in target.names:
            words = f"“{target.names['padding']}” keeps no padded key from moving an output, in any form that it takes"
            return Finding(4, FAILS, words, None, None, "padding leaks")
        return Finding(4, NOT_APPLICABLE, "it takes no mask for each text")
    if (
        target.mask is None
        and study.mask_true
        and form.code in ("True attends", "True blocks")
        and study.mask_true not in form.code
    ):
        return Finding(4, FAILS, f"{form}, where True {study.mask_true} was meant", cause="polarity")
    n, real = study.n, torch.ones(study.batch, study.n, dtype=torch.bool, device=study.x.device)
    real[0, n - 2 :] = False
    worst, example = 0.0, ""
    for text in range(min(2, study.batch)):
        real_tokens = real.roll(text, 0)
        out = study.run(study.x, padding=real_tokens)[text, : n - 2]
        swapped = study.x.clone()
        swapped[text, n - 2 :] = 3 + swapped[text, n - 2 :]
        alone = study.run(study.x[text : text + 1, : n - 2])[0]
        cases = (
            (
                distance(study.run(swapped, padding=real_tokens)[text, : n - 2], out),
                "other numbers in the padding move real tokens",
            ),
            (distance(out, alone), "a text of 5 tokens gives other outputs padded to 7 in a batch"),
        )
        for moved, words in cases:
            if moved > worst:
                worst, example = moved, words.replace("5", str(n - 2)).replace("7", str(n))
    if worst > study.limit:
        return Finding(4, FAILS, example, worst, study.limit, "padding leaks", f"text of {n - 2} tokens, 2 padded")
    return Finding(4, HOLDS, f"{form}; padded tokens move nothing, and a text alone gives the same", worst, study.limit)


def batch_mates(study: Study) -> Finding:
    """5: other texts of the batch change nothing."""
    out, n = study.out, study.n
    maximum = out.nan_to_num().abs().max()
    figure, moved = 0.0, out.new_zeros(n)
    for text, mate in ((0, 1), (1, 0)):
        other = study.x.clone()
        other[mate] = change(other[mate : mate + 1], 2)[0]
        alone = distance(study.run(study.x[text : text + 1])[0], out[text])
        moves = ((study.run(other) - out)[text].abs().amax(-1) / maximum).nan_to_num()
        if (worst := max(float(moves.max()), alone)) > figure:
            figure, moved = worst, moves
    if figure <= study.limit:
        axis = "the tokens" if study.target.layout == "sbd" else "the texts"
        words = f"the first axis is {axis}; a text alone gives the same"
        return Finding(5, HOLDS, words, figure, study.limit)
    is_same_token = bool(moved[2] > study.limit) and int((moved > study.limit).sum()) == 1
    cause = "batch attends to itself" if is_same_token else "batch statistics"
    example = f"{study.batch} texts: other numbers at token 2 of a text move another by {figure:.2g} of the largest"
    return Finding(5, FAILS, "another text moves an output", figure, study.limit, cause, example)


def cache(study: Study) -> Finding:
    """9: token by token with a cache equals the whole text at once."""
    target, n = study.target, study.n
    if "cache" not in target.names:
        return Finding(9, NOT_APPLICABLE, "it takes no cache")
    x = study.x[:1]
    allow = None
    if not study.is_causal:
        if target.mask is None:
            return Finding(9, UNKNOWN, "the whole text is not causal, and takes no mask that makes it so")
        allow = torch.ones(1, n, n, dtype=torch.bool, device=x.device).tril()
    reference = study.run(x, allow=allow)
    steps, state = _step_by_step(study, x)
    if state is None:
        words = f"it returns nothing that “{target.names['cache']}” could take; give a cache that it fills"
        return Finding(9, UNKNOWN, words)
    differences = [distance(steps[:, token], reference[:, token]) for token in range(n)]
    figure = max(differences)
    if figure <= study.limit:
        return Finding(9, HOLDS, f"{n} tokens one at a time equal the whole", figure, study.limit)
    token = next(token for token, moved in enumerate(differences) if moved > study.limit)
    first = _step_by_step(study, change(x, 0))[0]
    is_moved = distance(first[:, 1], steps[:, 1]) > study.limit
    cause = "cache differs" if token else "cache without the new token"
    if token and not is_moved:
        cause = "cache not kept"
    example = f"token {token} is the first that differs, by {differences[token]:.2g} of its largest number"
    return Finding(9, FAILS, "token by token gives other outputs", figure, study.limit, cause, example)


def _step_by_step(study: Study, x: Tensor) -> tuple[Tensor, Any]:
    """Return the outputs of the tokens given one at a time (b, n, c), and the last cache."""
    target = study.target
    state = _new_cache(target.function)
    parts = []
    with torch.no_grad():
        for token in range(x.shape[1]):
            answer = target(x[:, token : token + 1], cache=state, start=token)
            state = answer.cache if answer.cache is not None else state
            parts.append(answer.out)
    return torch.cat(parts, 1), state


def _new_cache(function: Any) -> Any:
    """Return an empty cache of the library that a module comes from, or None."""
    library = sys.modules.get("transformers")
    is_its = any(kind.__module__.startswith("transformers.") for kind in type(function).__mro__)
    return library.DynamicCache() if library is not None and is_its else None


def dropout(study: Study) -> Finding:
    """11: dropout only in training, and on the weights."""
    target = study.target
    runs = [_seeded(study, seed) for seed in (0, 0, 1)]
    if distance(runs[0], runs[1]) > study.limit:
        figure = distance(runs[0], runs[1])
        return Finding(11, FAILS, "a second call gives other numbers", figure, study.limit, "keeps state")
    if (figure := distance(runs[0], runs[2])) > study.limit:
        line, cause = _dropout_line(study), "random"
        if line is not None:
            cause = "dropout in evaluation"
        example = "the same input with two random seeds"
        return Finding(11, FAILS, "it is random in evaluation mode", figure, study.limit, cause, example, line)
    if not isinstance(target.function, nn.Module):
        return Finding(11, NOT_APPLICABLE, "a function has no training mode")
    with target.training():
        if distance(_seeded(study, 0), _seeded(study, 1)) <= study.limit:
            return Finding(11, NOT_APPLICABLE, "it has no dropout")
        try:
            anatomy = Anatomy(target, study.n, study.batch)
            scores, weights = anatomy.scores, anatomy.weights
        except Unsupported as reason:
            return Finding(11, UNKNOWN, f"it is random in training; on what cannot be seen: {reason}")
        drops = [
            operation
            for operation in anatomy.tap.operations
            if operation.name in _DROPOUTS and bool(operation.result.ne(operation.inputs[0]).any())
        ]
        on_scores = [
            operation
            for operation in drops
            if operation.result.numel() * len(anatomy.softmaxes) >= scores.numel()
            and study.n == operation.result.shape[-1]
            and anatomy.gradient(scores[0, 0, -1, 0], operation.result) is not None
        ]
        if on_scores:
            words = "scores are dropped before the softmax"
            return Finding(11, FAILS, words, cause="dropout on the scores", line=on_scores[0].line)
        on_weights = any(
            operation.inputs[0].numel() * len(anatomy.softmaxes) == weights.numel()
            and study.n == operation.inputs[0].shape[-1]
            for operation in drops
        )
    if not drops:
        return Finding(11, UNKNOWN, "it is random in training, by a function that is not torch's dropout")
    return Finding(11, HOLDS, f"in training alone, on {'the weights' if on_weights else 'the output'}")


def _seeded(study: Study, seed: int) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return study.run(study.x)


def _dropout_line(study: Study) -> Any:
    tap = Tap()
    with torch.no_grad(), tap:
        study.target(study.x)
    return next(
        (
            operation.line
            for operation in tap.operations
            if operation.name in _DROPOUTS and operation.result.ne(operation.inputs[0]).any()
        ),
        None,
    )


def empty_row(study: Study) -> Finding:
    """12: a row in which every key is blocked is finite, and its gradients too."""
    target = study.target
    if target.mask is None or study.identified.mask_fault:
        return Finding(12, NOT_APPLICABLE, "it takes no mask that blocks")
    allow = torch.ones(study.batch, study.n, study.n, dtype=torch.bool, device=study.x.device)
    if target.mask.shape in PER_QUERY:
        allow[:, ROW] = False
        words = f"query {ROW} may attend to no key"
    else:
        allow[0] = False
        words = "every key of text 0 is padding"
    x = study.x.clone().requires_grad_()
    with torch.enable_grad():
        out = target(x, allow=allow).out
        is_finite = bool(out.isfinite().all())
        (gradient,) = torch.autograd.grad(out.nan_to_num().square().sum(), x, allow_unused=True)
    if is_finite and (gradient is None or bool(gradient.isfinite().all())):
        return Finding(12, HOLDS, f"{words}: output and gradients are finite")
    place = "gradients are" if is_finite else f"output has {int((~out.isfinite()).sum())} numbers that are"
    return Finding(
        12, FAILS, f"{words}: the {place} not finite", cause="empty row", example=words, line=_mask_line(study)
    )


def gradients(study: Study) -> Finding:
    """13: the gradients equal finite differences in float64."""
    if study.target.dtype != torch.float64:
        return Finding(13, UNKNOWN, "finite differences need float64, in which it is not measured")
    n = 3
    inputs = [
        (3 * study.target.draw(n, 1, seed)).requires_grad_() for seed in range(3 if study.target.takes_qkv else 1)
    ]
    if study.target.layout == "bhsd" or study.target.takes_qkv:
        inputs = inputs if _takes_three(study, inputs) else inputs[:1]

    def run(*inputs: Tensor) -> Tensor:
        return study.target(*inputs).out

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
    if (name := _unused_parameter(study)) is not None:
        return Finding(13, FAILS, f"“{name}” has no gradient", cause="unused parameter", example=name)
    return Finding(13, HOLDS, f"torch.autograd.gradcheck agrees on {n} tokens in float64")


def _unused_parameter(study: Study) -> str | None:
    """Return the name of a parameter on which the output does not depend."""
    function = study.target.function
    if not isinstance(function, nn.Module):
        return None
    parameters = {name: x for name, x in function.named_parameters() if x.requires_grad}
    with torch.enable_grad():
        total = study.target(study.x.clone()).out.square().sum()
        slopes = torch.autograd.grad(total, [*parameters.values()], allow_unused=True) if parameters else ()
    return next((name for name, slope in zip(parameters, slopes, strict=True) if slope is None), None)


def _takes_three(study: Study, inputs: list[Tensor]) -> bool:
    try:
        study.target(*inputs)
    except Exception:  # self-attention alone
        return False
    return True


def formats(study: Study) -> Finding:
    """14: other formats, devices and lengths, one token, an empty batch."""
    target, own_dtype = study.target, study.target.dtype
    cases: list[tuple[str, torch.dtype, int, int]] = [
        *([] if study.is_finite else [(f"{study.n} tokens", own_dtype, study.n, 2)]),
        ("float32", torch.float32, study.n, 2),
        ("bfloat16", torch.bfloat16, study.n, 2),
        ("one token", own_dtype, 1, 2),
        ("an empty batch", own_dtype, study.n, 0),
        (f"{2 * study.n + 5} tokens", own_dtype, 2 * study.n + 5, 1),
    ]
    bad, example, refused = [], "", ""
    for name, dtype, n, batch in cases:
        fault = ""
        try:
            copy = target if dtype == own_dtype else target.with_dtype(dtype)
            with torch.no_grad():
                out = copy(copy.draw(n, batch)).out
            if out.dtype != dtype:
                fault = f"the output is {str(out.dtype)[6:]}"
            elif bool(out.isnan().any()):
                fault = "the output is not finite"
        except Exception as error:
            fault = f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0][:120]}"
            if not batch:  # a refusal is no wrong number
                refused, fault = f"; an empty batch is refused ({type(error).__name__})", ""
        if fault:
            bad.append(name)
            example = example or f"{name}: {fault}"
    if bad:
        return Finding(14, FAILS, f"fails for {', '.join(bad)}", len(bad), 0, "format fixed", example)
    names = [name for name, *_, batch in cases if batch or not refused]
    return Finding(14, HOLDS, f"runs in {', '.join(names)}{refused}")
