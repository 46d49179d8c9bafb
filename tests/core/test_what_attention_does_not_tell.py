"""Every number of docs/what-attention-does-not-tell.md, computed anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from mha_core import Model, Run
from mha_core.measure.rollout import rollout
from mha_core.measure.value_norms import norm_shares, transformed_values

DOC = Path(__file__).parents[2] / "docs" / "what-attention-does-not-tell.md"
TEXT = DOC.read_text("utf-8")
ROWS = re.findall(r"^\| (.+?) \| (\w+), (\w) \| (.+?) \| ([\d.]+) \| (.+?) \|$", TEXT, re.MULTILINE)
further = pytest.mark.thorough("Further rows of the table: two runs of the decoder each.")
SENTENCES = dict(re.findall(r"\b([SMF])(?: is)? “([^”]+)”", " ".join(TEXT.split())))


@pytest.fixture(scope="module")
def tired(minilm: Model) -> Run:
    return minilm.run(SENTENCES["S"])


@pytest.fixture(scope="module")
def cosines(minilm: Model, tired: Run) -> Tensor:
    """(layers, h): the sentence vector without a head against the untouched one."""
    return minilm.ablate_each_head(SENTENCES["S"]) @ tired.sentence


def row(head: str) -> tuple[str, str]:
    """The weight and the outcome of the row of this head."""
    ((weight, outcome),) = [(weight, outcome) for *_, name, weight, outcome in ROWS if name == head]
    return weight, outcome


def test_heads_of_minilm(tired: Run, cosines: Tensor) -> None:
    """Ranks are by the loss, the largest first."""
    flat = cosines.flatten()
    back = tired.weights.diagonal(-1, dim1=2, dim2=3).mean(-1)
    assert (f"{back[0, 2]:.4f}", f"loss {1 - cosines[0, 2]:.4f}, rank {(flat < cosines[0, 2]).sum() + 1} of 72") == row(
        "L0 H2"
    )
    assert tired.weights.amax(-1).mean(-1).flatten().argmax() == 2  # the sharpest: layer 0, head 2
    words = tired.weights[:, :, 1:-1, 1:-1]
    for head, weight in ((11, back[2, 11]), (6, words[2, 6].max())):
        rank = int((cosines[2] < cosines[2, head]).sum()) + 1
        outcome = f"loss {1 - cosines[2, head]:.4f}, rank {rank} of 12 in its layer"
        assert (f"{weight:.2f}", outcome) == row(f"L2 H{head}")


def test_the_value_of_the_first_token_is_short(minilm: Model, tired: Run) -> None:
    (value,) = (step.value for step in minilm.run(SENTENCES["S"], trace_layer=4).steps if step.name == "v")
    assert value is not None
    lengths = value[0].norm(dim=-1)  # (h, j)
    share = (lengths[:, 0] / lengths[:, 1:-1].mean(dim=-1)).median()
    outcome = f"its value (median of the 12 heads) is {share:.2f} times as long as a word's"
    assert (f"{tired.weights[4, :, :, 0].mean():.2f}", outcome) == row("layer 4")


@pytest.mark.parametrize(
    ("sentence", "layer", "head", "looked_at", "answer"),
    [
        ("F", 23, 4, "France", " Paris"),
        pytest.param("M", 23, 0, "Mary", " Mary", marks=further),
        pytest.param("M", 24, 4, "Mary", " Mary", marks=further),
    ],
)
def test_heads_of_a_decoder(writer: Model, sentence: str, layer: int, head: int, looked_at: str, answer: str) -> None:
    text = SENTENCES[sentence]
    run, without = (writer.run(text, heads_off=off) for off in ((), [(layer, head)]))
    key = next(at for at, token in enumerate(run.tokens) if looked_at in token)
    word = writer.tokenizer.encode(text + answer).ids[-1]
    before, after = (float(one.logits.softmax(-1)[0, word]) for one in (run, without) if one.logits is not None)
    outcome = f"“{answer}” {before:.2f} → {after:.2f}"
    assert (f"{run.weights[layer, head, -1, key]:.2f}", outcome) == row(f"L{layer} H{head}")


def said(sentence: str) -> tuple[str, ...]:
    """The numbers of a sentence of the text, which is written with `#` for each."""
    pattern = re.escape(sentence).replace(r"\#", r"(\d\.\d\d)")
    (found,) = re.findall(pattern, " ".join(TEXT.split()))
    return found if isinstance(found, tuple) else (found,)


@further
def test_rollout_and_value_norms(minilm: Model, writer: Model, tired: Run) -> None:
    by_weight = rollout(tired.weights)[-1]
    shares = [
        norm_shares(tired.weights[layer], transformed_values(minilm.stack.block(layer), tired.hidden[layer]))
        for layer in range(6)
    ]
    by_norm = rollout(torch.stack(shares))[-1]
    it, animal = tired.tokens.index("it"), tired.tokens.index("animal")
    numbers = [f"{own[it, key]:.2f}" for own in (by_weight, by_norm) for key in (0, animal)]
    assert tuple(numbers) == said("# comes from [CLS] by rollout and # from *animal*; by value norms # and #.")
    apart = (by_weight[:, None] - by_weight).abs().sum(dim=-1).max() / 2
    assert (f"{apart:.2f}",) == said("no two rows of MiniLM's differ by more than #")
    deep = rollout(writer.run(SENTENCES["S"]).weights)[-1]
    assert (f"{deep[:, 0].min():.2f}",) == said("# of every row comes from it")
