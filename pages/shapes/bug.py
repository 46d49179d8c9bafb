"""Find the bug: the code of a broken layer, and what `check` finds in it on a sentence."""

import math
import textwrap

from torch import Tensor

from headlight.lessons.bugs import BUGS, STYLES
from headlight.lessons.quantities.bugs import D_MODEL, N_HEADS, Diagnosis
from headlight.ui import numbers, sheet
from headlight.ui.sheet import Block

# inputs that show a bug -> how the maps are computed
_INPUTS = {
    "causal mask": " under a causal mask",
    "padding": " with the last two tokens as padding",
    "empty row": " with every key blocked for the last token",
    "cache": " token by token with the cache",
}


def panels(name: str, diagnosis: Diagnosis) -> list[Block]:
    """Return the code of a broken layer, its wrong lines marked, and the verdict beside it."""
    bug, count = BUGS[name], len(diagnosis.tokens)
    marks = [line for _, lines in bug.differences for line in lines]
    tokens = numbers.count(count, "token")
    if count < diagnosis.length:
        tokens = f"the first {count} of its {diagnosis.length:,} tokens"
    text = (
        f"This layer runs on the sentence above ({tokens}), with {N_HEADS} heads and random weights. Each token’s "
        f"vector of the model is mixed into {D_MODEL} numbers."
    )
    verdict = sheet.panel("The verdict", [*_finding(name, diagnosis), *_maps(name, diagnosis)])  # see base/curtain.js
    return [sheet.text(text, muted=True), sheet.row([sheet.code(bug.code.splitlines(), marks), verdict])]


def _finding(name: str, diagnosis: Diagnosis) -> list[Block]:
    """Return the property that fails, its figure, the cause, the right lines, and where to read on."""
    bug, finding = BUGS[name], diagnosis.finding
    lines = STYLES[bug.style].code.splitlines()
    right = textwrap.dedent("\n".join(lines[line] for places, _ in bug.differences for line in places))
    measured = _sentence(finding.words)
    pair = [x for x in (finding.figure, finding.bound) if x is not None]
    figures = [numbers.exact(x) if float(x).is_integer() else numbers.number(x) for x in pair]
    measured += " Measured: {}, bound {}.".format(*figures) if len(figures) > 1 else ""
    texts = [f"Probably {finding.reason}.", "In the right layer:"]
    if finding.example not in finding.words:
        texts.insert(1, f"Smallest example: {finding.example}.")
    owner, repository, _, number = bug.thread.split("/")
    thread = f"{owner}/{repository}#{number} on GitHub: {bug.title}"
    return [
        sheet.verdict("does not hold", f"Property {finding.number} {finding.verdict}: {finding.title}.", measured),
        *map(sheet.text, texts),
        sheet.code(right.splitlines()),
        sheet.links(
            [("Where Headlight shows it", finding.page.removeprefix("/")), (thread, f"https://github.com/{bug.thread}")]
        ),
    ]


def _maps(name: str, diagnosis: Diagnosis) -> list[Block]:
    """Return the maps of the head that shows the bug most: broken, right, and their difference."""
    changes, inputs = diagnosis.differences.tolist(), _INPUTS.get(BUGS[name].inputs, "")
    if not max(changes):
        return [sheet.text(f"On this sentence{inputs} no head’s map differs from the right layer’s.")]
    head = changes.index(max(changes))
    text = (
        f"Head {head} shows it most: the weight that its part of an output (row) gives the value of a token (column)"
        f"{inputs}, here and in the right layer with the same weights."
    )
    broken, right = diagnosis.broken[head], diagnosis.right[head]
    maps = {f"head {head}, broken": broken, f"head {head}, right": right, "difference": (broken - right).abs()}
    return [sheet.text(text), sheet.row([_map(title, weights, diagnosis.tokens) for title, weights in maps.items()])]


def _map(title: str, weights: Tensor, tokens: list[str]) -> Block:
    return sheet.matrix(
        title, weights.tolist(), rows=tokens, cols=tokens, axes="", write=_cell, colour="weights", compact=True
    )


def _cell(value: float) -> str:
    return "NaN" if math.isnan(value) else numbers.cell_text(value)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."
