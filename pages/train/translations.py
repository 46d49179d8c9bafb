"""What trained translators write, letter by letter, and the maps that it came by, held against the right words."""

from typing import Any, cast

import torch

from headlight.ui import sheet
from headlight.ui.numbers import count, share
from headlight.ui.sheet import Block
from mha_core.models.translator import CROSS, DECODER, ENCODER, END, Translator
from mha_core.training.tasks import Translation

from .answers import Models, Trained, no_such_head, once, one_of


def answers(models: Models, task: Translation, text: str) -> list[Block]:
    """The answer of each model with the probability of every letter, and whether it is right."""
    right, blocks = task.answer(text), list[Block]()
    for name, one in models.items():
        drawn = _written(one, text)
        written = "".join(token for token, _ in drawn if token != END)
        if right is None:
            said = "The rule of this task reads no day of its years here, so nobody knows the right answer."
        else:
            said = "✓ right" if written == right else f"✗ wrong: it is {right}"
        blocks.append(sheet.panel(name, [sheet.continuation(f"{text} → ", drawn, ""), sheet.text(said)]))
    return blocks


def maps(models: Models, task: Translation, text: str, head: str) -> list[Block]:
    """Of each model the cross map, the right word of every digit framed, and the maps of its two halves."""
    return [_panel(name, task, head, _looked(one, text)) for name, one in models.items()]


def _panel(name: str, task: Translation, head: str, looked: dict[str, Any]) -> Block:
    written, read = looked["written"], looked["read"]
    found = {group: one_of(torch.tensor(looked[group]), head) for group in (CROSS, ENCODER, DECODER)}
    cross, encoder, decoder = (found[group] for group in (CROSS, ENCODER, DECODER))
    if cross is None or encoder is None or decoder is None:
        return sheet.panel(name, [no_such_head(name, head)])
    origin = task.origin(read)
    right = [] if origin is None else [(i, j) for i, j in enumerate(origin[: len(written)]) if j >= 0]
    across = sheet.attention_map("Cross: written → read", written, cross.tolist(), keys=read, marks=right)
    halves = [
        sheet.attention_map("Encoder: read → read", read, encoder.tolist()),
        sheet.attention_map("Decoder: written so far", looked["given"], decoder.tolist()),
    ]
    return sheet.panel(name, [sheet.text(_told(cross, right)), across, sheet.row(halves)])


def _told(cross: torch.Tensor, right: list[tuple[int, int]]) -> str:
    """How many digits look most at the word that they come from."""
    if not right:
        return "Which word each digit comes from is not known here: it takes one year, one month and one day."
    best = cross.argmax(dim=-1).tolist()
    hits = sum(best[i] == j for i, j in right)
    return (
        f"{hits} of {count(len(right), 'digit')} ({share(hits / len(right), 2)}) look most at the word that they come "
        "from, which is framed."
    )


@once
def _written(one: Trained, text: str) -> list[tuple[str, float]]:
    """What it writes, with the probability of each token."""
    run = cast(Translator, one.model).of(CROSS).run(text, all_logits=True)
    for sentence in run.notices:
        one.hear(sentence)
    chances = cast(torch.Tensor, run.logits).softmax(dim=-1).max(dim=-1)
    numbers, values = chances.indices.tolist(), chances.values.tolist()
    return [
        (one.model.tokenizer.id_to_token(number) or "", value) for number, value in zip(numbers, values, strict=True)
    ]


@once
def _looked(one: Trained, text: str) -> dict[str, Any]:
    """Its maps by their groups, as lists, with what is read, what is written, and what each row was given."""
    runs = {group: cast(Translator, one.model).of(group).run(text) for group in (ENCODER, DECODER, CROSS)}
    given = runs[DECODER].tokens
    written = [token for token, _ in _written(one, text)][: len(given)]
    looked = {"read": runs[ENCODER].tokens, "given": given, "written": written}
    return looked | {group: run.weights.tolist() for group, run in runs.items()}
