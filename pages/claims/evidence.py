"""What the claims on words, order and scores are judged by: passes of MiniLM and of trained models, when asked for."""

from typing import cast

import torch
from cachetools import LRUCache
from torch import Tensor

from mha_core import masks
from mha_core.measure import measures
from mha_core.training import inference, saved, tasks
from mha_core.training.tasks import Labelled
from pages.kit.picture import models, pictures
from pages.kit.picture.presets import PRESETS
from pages.kit.picture.sharing import shared, turn

from .claim import Judge
from .passes import rounding_of, run_of, steps_of
from .rules import aspects, maps, order, rounding, softmax
from .rules.aspects import Sought
from .rules.verdict import Verdict
from .sought import SOUGHT

ORANGE, TWICE = "orange is my favorite fruit", "can you can that"
SENTENCE, SHORT = "the animal was too tired to cross the street", "how are you"
LONGER = PRESETS[0]
LAYER = 3  # of MiniLM, where one layer is enough
KEYS, ROWS = 16, 512
WIDTHS = (16, 64, 512)  # numbers in a query and a key
CLOUDS, POINTS, WIDTH, HEADS = 8, 80, 12, 2  # the notebook's case
ORDERS = {"who did what": "who", "food review": "food", "brackets": "brackets"}
WAYS = {  # of training on the news -> lines of the experiment without positions and with
    "as the post does it": ("post-efficient", "post-efficient-sinusoidal"),
    "made fair": ("fair-fused", "fair-fused-sinusoidal"),
    "made fair, × 0.1": ("fair-fused", "fair-fused-sinusoidal-0.1"),
}
NEWS = "the post’s news"
FOUND, FOUND_AT = "the animal did not cross the street because it was tired", "1.3.9"
MOST_ROWS = 100  # of a task, that a model is asked


@shared(LRUCache(64), lambda judge, asked: (judge.__name__, asked))
def verdict(judge: Judge, asked: int) -> Verdict:
    """The verdict of a claim, computed now or kept from an earlier visitor; another `asked` has it computed anew.

    Raises what `Model.run` raises.
    """
    return judge()


def orange() -> Verdict:
    """`maps.looks_most_at`, on MiniLM."""
    run = run_of(ORANGE)
    most = ("favorite", "fruit")
    return maps.looks_most_at(run.weights.cpu(), run.tokens, "orange", most, rounding_of(run))


def heads() -> Verdict:
    """`aspects.heads_find`, on MiniLM and sentences of ours."""
    found: dict[str, list[Sought]] = {}
    worst = 0.0
    for name, sentences in SOUGHT.items():
        found[name] = []
        for text, word, goal in sentences:
            run = run_of(text)
            row = run.weights.flatten(0, 1)[:, run.tokens.index(word)].cpu()
            found[name].append(Sought(row, run.tokens.index(word), run.tokens.index(goal)))
            worst = max(worst, rounding_of(run))
    return aspects.heads_find(found, worst)


def overlap() -> Verdict:
    """`maps.heads_differ`, on MiniLM."""
    return maps.heads_differ(run_of(LONGER).weights.cpu())


def mean() -> Verdict:
    """`maps.mean_loses_nothing`, on the first layer of MiniLM."""
    steps, tokens = steps_of(SENTENCE, 0)
    return maps.mean_loses_nothing(steps["weights"], steps["v"], tokens, rounding.of_sums(len(tokens), len(tokens)))


def same_word() -> Verdict:
    """`maps.same_word_same_row`, on MiniLM."""
    run, without = run_of(TWICE), run_of(TWICE, position="none")
    return maps.same_word_same_row(run.weights.cpu(), without.weights.cpu(), run.ids, run.tokens, rounding_of(run))


def waves() -> Verdict:
    """`maps.waves_move_the_look`, on MiniLM."""
    none, sinusoids = (run_of(TWICE, position=name) for name in ("none", "sinusoidal"))
    return maps.waves_move_the_look(none.weights.cpu(), sinusoids.weights.cpu(), rounding_of(none))


def symmetric() -> Verdict:
    """`maps.attention_is_symmetric`, on the first layer of MiniLM."""
    steps, tokens = steps_of(SENTENCE, 0)
    least = rounding.of_sums(steps["x"].shape[-1])
    return maps.attention_is_symmetric(steps["x"], steps["scores"], steps["weights"], tokens, least)


def order_of_words() -> Verdict:
    """`order.order_does_not_matter`, on MiniLM and the words from behind."""
    behind = " ".join(reversed(SENTENCE.split()))

    def both(position: str) -> tuple[Tensor, Tensor]:
        here, there = run_of(SENTENCE, position=position), run_of(behind, position=position)
        return here.hidden[-1].cpu(), there.hidden[-1].cpu()[measures.new_places(here.ids, there.ids)]

    return order.order_does_not_matter(both("none"), both("trained"), rounding_of(run_of(SENTENCE)))


def positions() -> Verdict:
    """`order.positions_are_needed`, on tasks that order decides, and on recorded answers to the post's news."""
    asked = {name: (_right(task, "none"), _right(task, "sinusoidal")) for name, task in ORDERS.items()}
    without, with_them = (recorded_answers(line) for line in WAYS["as the post does it"])
    return order.positions_are_needed({**asked, NEWS: (without, with_them)})


def news() -> Verdict:
    """`order.positions_cost_accuracy`, on the recorded answers to the long post's news, which cannot be asked again."""
    rows = {line: recorded_answers(line) for line in {line for pair in WAYS.values() for line in pair}}
    return order.positions_cost_accuracy({way: (rows[one], rows[other]) for way, (one, other) in WAYS.items()})


def padding() -> Verdict:
    """`order.a_mask_hides_padding`, on MiniLM."""
    model = pictures.model_on("auto")
    with turn():
        lone = model.run(SHORT)
        (masked, other), (unmasked, _) = (
            model.run_batch([SHORT, SENTENCE], mask_padding=hidden) for hidden in (True, False)
        )
    alone, kept, lost = (run.sentence.cpu() for run in (lone, masked, unmasked))
    return order.a_mask_hides_padding(alone, kept, lost, len(other.ids) - len(lone.ids), rounding_of(other))


def minus_1e9() -> Verdict:
    """`softmax.large_number_is_infinity`, on scores of MiniLM."""
    scores = steps_of(SENTENCE, LAYER)[0]["scores"][0]
    n = len(scores)
    return softmax.large_number_is_infinity(scores, _only_earlier(n), rounding.of_sums(n, n))


def row_sum() -> Verdict:
    """`softmax.rows_sum_to_one`, on all maps of MiniLM, and on scores of it with a mask."""
    run, scores = run_of(SENTENCE), steps_of(SENTENCE, LAYER)[0]["scores"]
    n = scores.shape[-1]
    return softmax.rows_sum_to_one(run.weights.cpu(), scores, _only_earlier(n), rounding.of_sums(n, n))


def root_of_d() -> Verdict:
    """`softmax.division_keeps_gradients`, on random queries and keys."""
    generator = torch.Generator().manual_seed(0)
    scores = {}
    with turn():
        for d in WIDTHS:
            q = torch.randn(ROWS, 1, d, generator=generator)
            k = torch.randn(ROWS, KEYS, d, generator=generator)
            scores[d] = (q @ k.mT).squeeze(1)
        return softmax.division_keeps_gradients(scores)


def amplitudes() -> Verdict:
    """`softmax.weights_begin_alike`, on the notebook's own draw: matrices and points of unit variance."""
    generator, d = torch.Generator().manual_seed(0), WIDTH // HEADS
    with turn():
        x = torch.randn(CLOUDS, POINTS, WIDTH, generator=generator)
        drawn = {"matrices Q and K of unit variance": x @ torch.randn(2, 1, WIDTH, WIDTH, generator=generator).mT}
        drawn["queries and keys of unit variance"] = torch.randn(2, CLOUDS, POINTS, WIDTH, generator=generator)
        in_heads = {name: both.view(2, CLOUDS, POINTS, HEADS, d).transpose(2, 3) for name, both in drawn.items()}
        return softmax.weights_begin_alike({name: q @ k.mT for name, (q, k) in in_heads.items()}, d, next(iter(drawn)))


def recorded_answers(line: str) -> Tensor:
    """bool (seeds, rows): as many rows as each recorded run of a line answered rightly, the first ones for all."""
    runs = [saved.read(folder) for folder in sorted(models.SHIPPED.glob(f"news-{line}-[0-9]"))]
    tested = [(run.start.rows_test if run.start else 0, run.evaluations[-1].test_accuracy) for run in runs]
    return torch.stack([torch.arange(rows) < round(accuracy * rows) for rows, accuracy in tested])


def _only_earlier(n: int) -> Tensor:
    """bool (i, j): only what comes before; the first token may look at nobody."""
    return masks.allow(masks.both(masks.causal, masks.invert(masks.window(1))), n, n)[0, 0]


def _right(task: str, position: str) -> Tensor:
    """bool (rows,): what the shipped model of a task answers rightly, among rows that it has not seen."""
    rows = cast(Labelled, tasks.build(task)).test[:MOST_ROWS]
    model = pictures.model_on("auto", f"{task}-{position}-1")
    with turn(sum(len(row.text.split()) for row in rows[:8]), models.heads(model)):
        answers = inference.logits(model, [row.text for row in rows]).argmax(dim=-1).cpu()
    return answers == torch.tensor([row.label for row in rows])
