"""The texts: what each has, in its own order and words, and the link that opens that here."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple
from urllib.parse import urlencode

from pages.kit.draw import pages

from . import sizes

TWICE, ORANGE = "can you can that", "orange is my favorite fruit"
NEWS, LIKE_IT = (("task", "BBC news"),), (("task", "made-up news"),)  # the post's, and one that can be asked


class Element(NamedTuple):
    """Something that a text has: its name there, what is to be said of it, and where it is here."""

    name: str
    said: str
    page: str
    link: tuple[tuple[str, str], ...] = ()

    @property
    def address(self) -> str:
        """The page's path and what its link says."""
        return pages.path(self.page) + (f"?{urlencode(self.link)}" if self.link else "")


@dataclass(frozen=True)
class SourceText:
    """A text: what it is called here, a line on what it is, and its elements."""

    name: str
    line: str
    elements: tuple[Element, ...]


@cache
def texts() -> tuple[SourceText, ...]:
    """All of them; the numbers in their sentences are counted in models of their sizes."""
    return _annotated_code(), _lesson(), _long_post(), _notebook()


def _step(name: str, said: str, implementation: str, step: str, *more: tuple[str, str]) -> Element:
    return Element(name, said, "shapes", (("impl", implementation), ("step", step), *more))


def _random(biases: str, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return (("lw", "random"), ("biases", biases), *more)


def _annotated_code() -> SourceText:
    def step(name: str, said: str, step: str, *more: tuple[str, str]) -> Element:
        return _step(name, said, "sequence_first", step, *more)

    causal = ("mask", "causal")
    return SourceText(
        "Annotated code, time first",
        "two copies: with its notes beside it, and on a blog",
        (
            step("PrepareForMultiHeadAttention", "One Linear for all heads.", "q.project"),
            step("view(*head_shape, heads, d_k)", "The last axis cut into heads; nothing moves.", "q.view"),
            step("(length, batch, d_model)", "Time comes first, the batch second.", "x.transpose"),
            step("get_scores", "ibhd,jbhd->ijbh, in a method of its own.", "scores.product"),
            step("get_scores, overridden", "Relative attention in four lines.", "scores", ("lesson", "relative")),
            Element("scale = 1 / √d_k", "Why the scores are divided.", "claims", (("claim", "root-d"),)),
            step("prepare_mask", "The mask gets an axis for the heads.", "masked.allow", causal),
            step("mask (q|1, k, b|1)", "An axis of size 1 stretches.", "masked", causal, ("lesson", "mask shapes")),
            step(
                "softmax(dim=1)", "Axis 1 is the keys here, the heads elsewhere.", "weights", ("lesson", "wrong axis")
            ),
            step(
                "dropout_prob 0.1",
                "The weights after it; rows no longer sum to 1.",
                "weights.dropout",
                *_random("all", ("drop", "0.1"), ("lesson", "dropout")),
            ),
            step("x = einsum(attn, value)", "Values, mixed by the weights.", "mixed"),
            step("self.output", "All heads side by side, through one more Linear.", "out"),
            step(
                "bias=False",
                "On query and key; value and output keep theirs.",
                "q.project",
                *_random("value and output"),
            ),
            Element(
                "the whole class",
                "It as it runs here, beside torch’s.",
                "implementations",
                (("impl", "sequence_first"), ("beside", "torch")),
            ),
            Element(
                "its use: auto-regression",
                "A model of characters, trained here.",
                "train",
                (("task", "your own text"),),
            ),
        ),
    )


def _lesson() -> SourceText:
    counted = sizes.layer(384, 12, bias=False, out_bias=True)
    whole = sizes.layer(384, 12, bias=True, out_bias=True)

    def step(name: str, said: str, step: str, *more: tuple[str, str]) -> Element:
        return _step(name, said, "efficient", step, *more)

    return SourceText(
        "Lesson with three helpers",
        "a class, step by step on slides, and an exercise",
        (
            Element(ORANGE, "The row of “orange”, in every head.", "explore", (("s", ORANGE), ("at", "0.3.1"))),
            Element("favorite and fruit", "Do they get the most of its look?", "claims", (("claim", "orange"),)),
            Element("one aspect a head", "Do heads look at different things?", "claims", (("claim", "heads"),)),
            Element(
                "values are embeddings", "They are projected first, as keys are.", "claims", (("claim", "values"),)
            ),
            step(
                "bias=False",
                f"On query, key and value, not at the output: {counted:,} of {whole:,} parameters at d_model 384.",
                "q.project",
                *_random("output alone"),
            ),
            step(
                "split_heads",
                "It says that the embeddings are split: its code splits query, key and value.",
                "q.view",
                ("lesson", "no transpose"),
            ),
            step("compute_attention", "Its scores are never divided by √d; here they are.", "scores"),
            step("attention_weights", "The softmax of the scores; rows sum to 1.", "weights"),
            Element("the optional mask", "Choose one, or paint it.", "masks", (("mask", "causal"),)),
            step(
                "combine_heads",
                "It says that the weights are transformed back: what goes in is the mixed values.",
                "joined",
                ("lesson", "contiguous"),
            ),
            step("the output layer", "The one place where heads meet.", "out"),
            step(
                "define your own",
                "Its exercise, beside the step and below all: choose every line, and see what it gives.",
                "out",
                ("lesson", "write it"),
            ),
            Element("its names", "Each beside the others’ word for it.", "implementations", (("find", "seq_length"),)),
        ),
    )


def _long_post() -> SourceText:
    total, embedding = sizes.classifier(1000)
    large, large_embedding = sizes.classifier(sizes.MINILM_TOKENS)
    scaled = (("qs", "2, 3, 6"),)
    size = (("b", "32"), ("n", "512"), ("d", "64"), ("h", "8"))
    return SourceText(
        "Long post on attention from scratch",
        "the first of five on the transformer",
        (
            Element("my_scaled_dot_product_attention", "Beside torch’s own, on (2, 3, 6).", "scaled_dot", scaled),
            Element(
                "other keys and values",
                "More keys, values of another width.",
                "scaled_dot",
                (*scaled, ("kv", "both from elsewhere"), ("nk", "5"), ("wv", "4")),
            ),
            Element(
                "how are you, by hand", "Its numbers in print, beside those computed.", "by_hand", (("ex", "one head"),)
            ),
            Element(
                "token, id, row", "From a word to its vector, number by number.", "by_hand", (("ex", "embedding"),)
            ),
            Element(
                "products as loops", "(3, 2, 10, 256) by its transpose.", "scaled_dot", (("aat", "3, 2, 10, 256"),)
            ),
            Element(
                "two heads by hand", "Its inputs, and what attention makes of them.", "by_hand", (("ex", "two heads"),)
            ),
            Element("padding", "It applies no mask “for this post”.", "claims", (("claim", "padding"),)),
            _step("AttentionBlock", "Three Linears a head, in a loop.", "naive", "q.head0"),
            Element(
                "MyMultiheadAttention",
                "The naive class beside the efficient one.",
                "implementations",
                (("impl", "naive"), ("beside", "efficient")),
            ),
            Element(
                "stacked weights",
                "Six projections become three. Its second QW₁ᵀ is the product with W₂.",
                "by_hand",
                (("ex", "stacked weights"),),
            ),
            _step("split_heads", "view, then transpose(1, 2).", "efficient", "q.transpose", ("lesson", "no transpose")),
            _step(
                "contiguous",
                "Why it comes before the last view.",
                "efficient",
                "mixed.contiguous",
                ("lesson", "contiguous"),
            ),
            Element("averaged weights", "What the mean over the heads says of them.", "claims", (("claim", "mean"),)),
            Element(
                "nn.MultiheadAttention",
                "All of them on a batch of its size.",
                "implementations",
                (*size, ("what", "training step without maps"), ("sweep", "false")),
            ),
            Element(
                "a vocabulary of 1,000",
                f"To train on a CPU: with the {sizes.MINILM_TOKENS:,} of its tokenizer the embedding alone would be "
                f"{large_embedding:,} of {large:,} parameters.",
                "train",
                (*NEWS, ("post", "as the post does it"), ("vocab", "1000")),
            ),
            Element(
                "TextClassifier",
                f"“Only 80K parameters”: it has {total:,}, {embedding:,} of them in its embedding.",
                "train",
                NEWS,
            ),
            Element(
                "classification reports",
                "A number a class, on news that are made up.",
                "train",
                (*LIKE_IT, ("tab", "Report")),
            ),
            Element(
                "predictions",
                "Every test row with its probabilities.",
                "train",
                (*LIKE_IT, ("tab", "Report"), ("desc", "true")),
            ),
            Element(
                "PositionalEncoding",
                "Its waves, and what they do to a sentence.",
                "positions",
                (("enc", "sinusoidal"),),
            ),
            Element(
                "how are you, you how are",
                "Two orders, probability by probability.",
                "train",
                (*LIKE_IT, ("tab", "Ask")),
            ),
            Element(
                TWICE,
                "Its map with its numbers, with positions and without.",
                "side_by_side",
                (("s", TWICE), ("three", "none"), ("three", "sinusoidal")),
            ),
            Element("0.81 with positions", "Do they make the classifier worse?", "claims", (("claim", "news"),)),
            Element("its names", "Each beside the others’ word for it.", "implementations", (("find", "embed_dim"),)),
        ),
    )


def _notebook() -> SourceText:
    def step(name: str, said: str, step: str) -> Element:
        return _step(name, said, "einsum", step)

    return SourceText(
        "Notebook in einsum",
        "one layer, product by product, against torch’s",
        (
            Element(
                "n_b, p, d = 8, 80, 12",
                "Its case, with 2 heads and no bias, and its 1.98e−7.",
                "implementations",
                (("b", "8"), ("n", "80"), ("d", "12"), ("h", "2"), ("biases", "none"), ("sweep", "false")),
            ),
            step("KX = einsum(K, X)", "The projections, in its letters.", "k.project"),
            step("KX.reshape", "(n_b, p, n_h, d_h): a view.", "k.view"),
            step(
                "D", "Its formula has ⟨k_s, q_t⟩, its code q_s · k_t: rows are the queries, as here.", "scores.product"
            ),
            step("U = exp(D / √d_h)", "exp of every score.", "weights.exp"),
            step("Ut", "U over its sum over t: the softmax.", "weights"),
            step("Z", "Barycentres of the values.", "mixed"),
            Element("barycentres, seen", "Outputs as points among the values.", "by_hand", (("ex", "one head"),)),
            step("Y = L Z", "The last matrix.", "out"),
            Element(
                "roughly the same amplitude",
                "How even a row is when q and k are noise.",
                "by_hand",
                (("ex", "entropy"),),
            ),
            Element("1.98e−7", "Is that its distance from torch’s own layer?", "claims", (("claim", "torch"),)),
            Element("einsum should be preferred", "Is it as fast?", "claims", (("claim", "einsum"),)),
            Element("its names", "Each beside the others’ word for it.", "implementations", (("find", "barycentres"),)),
        ),
    )
