"""The claims: who makes them, what is asked before anything is shown, what judges them, and where one sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from . import evidence, times
from .evidence import LONGER, ORANGE, SENTENCE, TWICE, Judge

TIME_FIRST, LESSON, POST, NOTEBOOK = (
    "annotated code for multi-head attention, time first",
    "a lesson on multi-head attention",
    "a long post on attention from scratch",
    "a notebook that writes attention with einsum",
)
SHOW: Final = "show"  # in a link: the verdict without an answer


@dataclass(frozen=True)
class See:
    """Where one sees it: a page, the values of its link, and what stands there."""

    page: str
    what: str
    link: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim.

    Attributes:
        title: on its button; it must not tell what comes out.
        source: who says it.
        said: what, in one sentence.
        question: which its answers answer, in the order in which the judge counts them.
        judge: computes the verdict.
        see: where one sees it.
        timed: the verdict is one of times, which are never twice the same.
    """

    title: str
    source: str
    said: str
    question: str
    answers: tuple[str, ...]
    judge: Judge
    see: See
    timed: bool = False

    def usable(self, given: str) -> bool:
        """Tells whether a link may say this of the answer: nothing, the number of one counted from 1, or to show it."""
        return given in ("", SHOW, *(str(number) for number in range(1, len(self.answers) + 1)))


_IN_HEADS = ("in no head", "in fewer than half of them", "in half of them or more")
_TASKS = ("in all of them", "in some", "in none")

# by its name in the link; the groups and their order are those of the buttons
GROUPS: dict[str, dict[str, Claim]] = {
    "Words and heads": {
        "orange": Claim(
            "orange",
            LESSON,
            "In “orange is my favorite fruit”, orange looks most at favorite and fruit.",
            "In how many of MiniLM’s 72 heads do favorite and fruit get the two largest weights of orange, among the "
            "other words of the sentence?",
            _IN_HEADS,
            evidence.orange,
            See("explore", "the row of orange, in every head", (("s", ORANGE), ("at", "0.3.1"))),
        ),
        "heads": Claim(
            "several heads",
            LESSON,
            "Heads look at different things.",
            "How much of a word’s weight do two heads of one layer of MiniLM place on the same words, on average?",
            ("less than a third", "a third to two thirds", "more than two thirds"),
            evidence.heads,
            See("explore", "all heads, each with its kind", (("s", LONGER), ("look", "all"))),
        ),
        "mean": Claim(
            "the mean of the heads",
            f"{POST}, which returns that mean alone",
            "The mean over the heads of a layer says what the heads say.",
            "If every head of MiniLM’s first layer used the mean map, how far would what the layer hands on be from "
            "what it is?",
            ("less than 1 % of its length", "1 % to 20 %", "more than 20 %"),
            evidence.mean,
            See("explore", "the heads of the first layer", (("s", SENTENCE), ("at", "0.2"))),
        ),
        "same-word": Claim(
            "a word said twice",
            f"{POST}, of a model without positions",
            "A word that stands twice in a sentence looks at the others in the same way both times.",
            "“can you can that”: in all heads of MiniLM, when are the two rows of can equal?",
            ("with positions and without", "only without positions", "only with positions", "never"),
            evidence.same_word,
            See("compare", "the same sentence with positions and without", (("s", TWICE), ("at", "0.2"))),
        ),
        "symmetric": Claim(
            "A times A transposed",
            f"{POST}, which explains the product with A Aᵀ",
            "Scores are the product of a matrix with its own transpose, so the look goes both ways alike.",
            "In MiniLM’s first layer, which are symmetric: A Aᵀ of the embeddings, the scores q kᵀ, the weights?",
            ("all three", "A Aᵀ and the scores", "A Aᵀ alone", "none"),
            evidence.symmetric,
            See("explore", "the map of a head, row against column", (("s", SENTENCE), ("at", "0.0"))),
        ),
    },
    "Order and positions": {
        "order": Claim(
            "another order",
            POST,
            "Without positions, a sentence is represented in the same way whatever the order of its words.",
            "MiniLM without positions reads a sentence, then its words from behind. What happens to their vectors?",
            ("each becomes another one", "they are the same, in the new order"),
            evidence.order_of_words,
            See("compare", "the shuffle test", (("s", SENTENCE), ("pos2", "none"))),
        ),
        "news": Claim(
            "positions and the news",
            POST,
            "Positions make the classifier of news worse: its accuracy falls from .85 to .81.",
            "The post’s experiment, trained again: as the post does it, made fair, and made fair with sinusoids a "
            "tenth as large. In how many of these ways do positions cost accuracy, by more than the standard error?",
            ("in all three", "in some", "in none"),
            evidence.news,
            See("train", "the experiment", (("task", "BBC news"),)),
        ),
        "positions": Claim(
            "answers without positions",
            POST,
            "A classifier can do without positions: in the post the best ones had none.",
            "Three small tasks of ours, where two rows with the same words have other answers: in how many does a "
            "model without positions answer more rows rightly than one with sinusoids?",
            _TASKS,
            evidence.positions,
            See("train", "the curves of both", (("task", "who did what"), ("pe", "none"), ("pe", "sinusoidal"))),
        ),
        "waves": Claim(
            "waves",
            POST,
            "Sinusoids change who is looked at.",
            "“can you can that” in MiniLM, without positions and with sinusoids: in how many rows of all heads does "
            "another key get the largest weight?",
            ("in none", "in fewer than half", "in half of them or more"),
            evidence.waves,
            See("compare", "no positions beside sinusoids", (("s", TWICE), ("pos", "none"), ("pos2", "sinusoidal"))),
        ),
        "padding": Claim(
            "padding",
            f"{POST}, which fills up and leaves masks out",
            "Short texts can be filled up with padding, without a mask.",
            "“how are you” beside a longer sentence in one batch, nobody kept from the padding: which vector does "
            "MiniLM give it?",
            ("the one that it has alone", "nearly that (cosine .95 or more)", "clearly another one"),
            evidence.padding,
            See("masks", "padding with a mask and without", (("s", SENTENCE),)),
        ),
    },
    "Scores and weights": {
        "root-d": Claim(
            "the division by √d",
            TIME_FIRST,
            "The scores are divided by √d because the softmax would otherwise have very small gradients.",
            "Random queries and keys of 512 numbers, 16 keys, no division: in how many rows is the gradient of the "
            "weights almost 0?",
            ("in none", "in up to half of them", "in more than half"),
            evidence.root_of_d,
            See("by_hand", "the softmax over d, divided and not", (("ex", "entropy"),)),
        ),
        "minus-1e9": Claim(
            "−1e9 for −∞",
            "much code for masked attention; the annotated code, time first, takes −∞",
            "To write −1e9 on forbidden scores is as good as −∞.",
            "Only earlier words may be looked at, so the first row may look at nobody. In which rows of a head of "
            "MiniLM do −1e9 and −∞ give the same weights?",
            ("in every row", "in every row but those that may look at nobody", "in none"),
            evidence.minus_1e9,
            See("masks", "rows that may look at nobody", (("mask", "combination"), ("rule", "causal & !window:1"))),
        ),
        "row-sum": Claim(
            "rows that sum to 1",
            LESSON,
            "After the softmax the weights of a row sum to 1, masked or not.",
            "Only earlier words may be looked at, so the first row may look at nobody. What do the rows sum to?",
            ("each to 1", "each to 1, the first to 0", "to something below 1"),
            evidence.row_sum,
            See("masks", "the sum of each row", (("mask", "combination"), ("rule", "causal & !window:1"))),
        ),
    },
    "Projections and biases": {
        "values": Claim(
            "what is handed on",
            LESSON,
            "The values are the embeddings of the tokens.",
            "How alike are embedding and value of a token in MiniLM’s first layer, as a cosine?",
            ("the same direction, .99 or more", ".5 to .99", "below .5"),
            evidence.values,
            See("shapes", "from x to v, step by step", (("s", SENTENCE), ("at", "0.0"), ("step", "v"))),
        ),
        "biases": Claim(
            "no biases",
            LESSON,
            "Query, key and value need no biases: fewer parameters, and nothing is lost.",
            "Which of the three biases can be set to 0 in MiniLM, and no layer’s output changes?",
            ("all three", "only the query’s", "only the key’s", "none"),
            evidence.biases,
            See("implementations", "parameters of each way to write it"),
        ),
        "key-bias": Claim(
            "the key’s bias",
            f"{LESSON}, which leaves it out",
            "A bias on the keys changes nothing.",
            "The same number is added to every key (its bias). When does a weight of MiniLM change?",
            ("always", "never", "only if positions turn the keys (rotary)"),
            evidence.key_bias,
            See("implementations", "the gradient of the key’s bias"),
        ),
    },
    "Implementations": {
        "one-function": Claim(
            "naive and efficient",
            POST,
            "The efficient implementation computes the same function as the naive one.",
            "The same weights in both, a layer of MiniLM: how far apart are their outputs, relative to their size?",
            ("not at all", "less than a millionth", "more"),
            evidence.one_function,
            See(
                "implementations", "all implementations against one truth", (("impl", "naive"), ("beside", "efficient"))
            ),
        ),
        "torch": Claim(
            "2e−7 from torch",
            NOTEBOOK,
            "Written with einsum, it differs from torch’s own layer by 1.98e−7.",
            "Twenty draws of random weights in the notebook’s case (8 texts, 80 tokens, 12 numbers, 2 heads, no bias): "
            "for how many does the difference stay within that?",
            ("for all", "for some", "for none"),
            evidence.torchs_own,
            See("implementations", "the same on your sizes", (("b", "8"), ("n", "80"), ("d", "12"), ("h", "2"))),
        ),
        "axes": Claim(
            "any number of axes",
            POST,
            "One short function for scaled dot products works for tensors of more axes too, and agrees with torch’s.",
            "Two to five axes, random numbers: how far is ours from F.scaled_dot_product_attention?",
            ("not at all", "as far as rounding goes", "farther"),
            evidence.any_axes,
            See("by_hand", "the same function, number by number"),
        ),
        "naive": Claim(
            "a loop over the heads",
            POST,
            "The naive implementation, with a loop over the heads, is slower than the efficient one.",
            "Two sizes, both with their maps, on one thread of this machine: at how many is the loop slower?",
            ("at both", "at one", "at none"),
            times.naive,
            See("implementations", "times on your sizes", (("race", "naive"), ("race", "efficient"))),
            timed=True,
        ),
        "einsum": Claim(
            "einsum",
            NOTEBOOK,
            "Einsum should be preferred: it reads better and is as fast.",
            "Two sizes, both with their maps, on one thread of this machine: at how many is einsum as fast as view and "
            "transpose?",
            ("at both", "at one", "at none"),
            times.einsum,
            See("implementations", "times on your sizes", (("race", "einsum"), ("race", "efficient"))),
            timed=True,
        ),
    },
}
CLAIMS = {name: claim for group in GROUPS.values() for name, claim in group.items()}
