"""Find the bug: the code of a broken layer, and what `check` finds in it on a sentence."""

import re
import textwrap
from functools import partial

from headlight.lessons.bugs import BUGS, STYLES
from headlight.lessons.quantities.bugs import D_MODEL, N_HEADS, TOKENS, Diagnosis
from headlight.ui import numbers, sheet
from headlight.ui.sheet import Block
from mha_core.check.behaviour import ROW

# inputs that show a bug -> how the maps are computed
_INPUTS = {
    "causal mask": " under a causal mask",
    "padding": " with the last two tokens as padding",
    "empty row": f" with every key blocked for query {ROW}",
    "cache": " token by token with the cache",
}
# a word and the numbers of tokens after it; which text of a batch is meant is not said
_NUMBERED = re.compile(r"(?i)\b(?:query|key|output|tokens?) \d(?:, \d)*(?! of a text)")


def panels(name: str, diagnosis: Diagnosis) -> list[Block]:
    """Return the code of a broken layer, its wrong lines marked, the verdict beside it, and maps below."""
    bug, length = BUGS[name], diagnosis.length
    marks = [line for _, lines in bug.differences for line in lines]
    tokens = f"the first {TOKENS} of its {length:,} tokens" if length > TOKENS else numbers.count(length, "token")
    tokens += f", filled to {TOKENS} with random ones" * (length < TOKENS)
    text = (
        f"This layer runs on the sentence above ({tokens}), with {N_HEADS} heads and random weights. Each token’s "
        f"vector of the model is mixed into {D_MODEL} numbers."
    )
    verdict = sheet.panel("The verdict", _finding(name, diagnosis))  # see base/curtain.js, for both
    maps = sheet.panel("The maps", _maps(name, diagnosis))
    return [sheet.text(text, muted=True), sheet.row([sheet.code(bug.code.splitlines(), marks), verdict]), maps]


def _finding(name: str, diagnosis: Diagnosis) -> list[Block]:
    """Return the property that fails, its figure, the cause, the right lines, and where to read on."""
    bug, finding = BUGS[name], diagnosis.finding
    lines, broken = STYLES[bug.style].code.splitlines(), bug.code.splitlines()
    right = textwrap.dedent("\n".join(lines[line] for places, _ in bug.differences for line in places))
    added = " ".join(broken[line].strip() for places, new in bug.differences if not places for line in new)
    measured = f"{numbers.capital(finding.words).rstrip('.')}."
    pair = [x for x in (finding.figure, finding.bound) if x is not None]
    figures = [numbers.exact(x) if float(x).is_integer() else numbers.number(x) for x in pair]
    if len(figures) > 1:
        measured += f" Measured: {figures[0]}, {finding.relation} {figures[1]}."
    exception = f", without “{added}”" if added else ""
    texts = [f"Probably {bug.reason or finding.reason}.", f"In the right layer{exception}:"]
    if finding.example not in finding.words:
        texts.insert(1, _with_words(f"Smallest example: {finding.example}.", diagnosis))
    owner, repository, _, number = bug.thread.split("/")
    thread = f"{owner}/{repository}#{number} on GitHub: {bug.title}"
    heading = f"Property {finding.number} does not hold: {finding.title}."
    return [
        sheet.verdict("does not hold", heading, _with_words(measured, diagnosis)),
        *map(sheet.text, texts),
        sheet.code(right.splitlines()),
        sheet.links(
            [("Where Headlight shows it", finding.page.removeprefix("/")), (thread, f"https://github.com/{bug.thread}")]
        ),
    ]


def _maps(name: str, diagnosis: Diagnosis) -> list[Block]:
    """Return the maps of a head that shows the bug most: broken, right, and their difference."""
    inputs = _with_words(_INPUTS.get(BUGS[name].inputs, ""), diagnosis)
    changes = [round(change, 6) for change in diagnosis.differences.tolist()]
    if not max(changes):
        return [sheet.text(f"On this sentence{inputs} no head’s map differs from the right layer’s.")]
    head, alike = changes.index(max(changes)), changes.count(max(changes))
    verb = "shows it most" if alike == 1 else f"is one of {alike} heads that show it equally"
    text = (
        f"Head {head} {verb}: the weight that its part of an output (row) gives the value of a token (column)"
        f"{inputs}, here and in the right layer with the same weights."
    )
    broken, right = diagnosis.broken[head], diagnosis.right[head]
    maps = {f"head {head}, broken": broken, f"head {head}, right": right, "difference": (broken - right).abs()}
    draw = partial(sheet.attention_map, tokens=diagnosis.tokens, axes="")
    return [sheet.text(text), sheet.row([draw(title, weights=weights.tolist()) for title, weights in maps.items()])]


def _with_words(text: str, diagnosis: Diagnosis) -> str:
    """Return a sentence with the word of each numbered token after its number."""
    words = [f"“{token}”" if place < diagnosis.length else token for place, token in enumerate(diagnosis.tokens)]
    return _NUMBERED.sub(lambda match: re.sub(r"\d", lambda x: f"{x[0]} ({words[int(x[0])]})", match[0]), text)
