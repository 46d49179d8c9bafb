"""The claims, group by group: what five texts say in their own words, and questions of our own."""

from . import evidence, layers, times
from .claim import LESSON, NOTEBOOK, OURS, POST, TIME_FIRST, Claim, See
from .evidence import LONGER, ORANGE, SENTENCE, TWICE

_TASKS = ("in all of them", "in some", "in none")
_APART = ("no farther than rounding goes", "by up to a thousandth", "by more")
_SIZES = ("at both", "at one", "at none")
_TABLES = (("diff", "relative"),)  # unfolds the tables of Implementations

# by its name in the link; the groups and their order are those of the buttons
GROUPS: dict[str, dict[str, Claim]] = {
    "Words and heads": {
        "orange": Claim(
            "orange, favorite, fruit",
            LESSON,
            'the tokens "favorite" and "fruit" receive the highest attention when processing "orange"',
            "In how many of MiniLM’s 72 heads do favorite and fruit get the two largest weights of orange, among the "
            "other words of the sentence?",
            ("in no more than chance gives", "in more, but in fewer than half", "in half of them or more"),
            evidence.orange,
            See("explore", "the row of orange, in every head", (("s", ORANGE), ("at", "0.3.1"))),
            about="In the sentence “orange is my favorite fruit”.",
        ),
        "heads": Claim(
            "what heads look for",
            LESSON,
            "focus on different aspects of the sequence in parallel, like relationships, sentiment, or subject",
            "From a pronoun to whom it stands for (relationships), from a thing to the word that judges it "
            "(sentiment), from a verb to its subject, twelve sentences each: for which of them does one of MiniLM’s 72 "
            "heads look there more often than chance or a fixed distance explains?",
            ("for all three", "for some of them", "for none"),
            evidence.heads,
            See("explore", "a head on such a sentence", (("s", evidence.FOUND), ("at", evidence.FOUND_AT))),
            about="Said of what several heads do.",
        ),
        "overlap": Claim(
            "two heads of a layer",
            OURS,
            "Two heads of a layer place less than half of their weight on the same words.",
            "How much of a word’s weight do two heads of one layer of MiniLM place on the same words, on average?",
            ("less than a third", "a third to two thirds", "more than two thirds"),
            evidence.overlap,
            See("explore", "all heads, each with its kind", (("s", LONGER), ("look", "all"))),
        ),
        "mean": Claim(
            "the mean of the heads",
            OURS,
            "The mean over the heads of a layer says what the heads say.",
            "If every head of MiniLM’s first layer used the mean map, how far would what the layer hands on be from "
            "what it is?",
            ("less than 1 % of its length", "1 % to 20 %", "more than 20 %"),
            evidence.mean,
            See("explore", "the heads of the first layer", (("s", SENTENCE), ("at", "0.2"))),
            about="The long post’s layers return that mean, which many tools show.",
        ),
        "same-word": Claim(
            "a word said twice",
            POST,
            "Both occurrence of this word has exactly the same attention weight with other tokens.",
            "“can you can that”: in all heads of MiniLM, when are the two rows of can equal?",
            ("with positions and without", "only without positions", "only with positions", "never"),
            evidence.same_word,
            See("compare", "the same sentence with positions and without", (("s", TWICE), ("at", "0.2"))),
            about="Said of “can” in its two models without positions; with positions, it says, they differ.",
        ),
        "symmetric": Claim(
            "attention is symmetric",
            OURS,
            "Attention is symmetric: as much as I look at you, you look at me.",
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
            "there is no notion of order of tokens when we compute attention",
            "MiniLM without positions reads a sentence, then its words from behind. What happens to their vectors?",
            ("each becomes another one", "they are the same, in the new order"),
            evidence.order_of_words,
            See("compare", "the shuffle test", (("s", SENTENCE), ("pos2", "none"))),
            about="Said of attention without positions.",
        ),
        "news": Claim(
            "positions and the news",
            POST,
            "The accuracy in the validation set is 0.81 which is pretty low compared to others",
            "The post’s experiment, trained again: as the post does it, made fair, and made fair with sinusoids a "
            "tenth as large. In how many of these ways do positions cost accuracy, by more than the standard error?",
            ("in all three", "in some", "in none"),
            evidence.news,
            See("train", "the experiment", (("task", "BBC news"),)),
            about="Said of its classifier with positions; the others have .85 and .87.",
        ),
        "positions": Claim(
            "are positions needed?",
            POST,
            "Why Positional Embeddings are needed and how they impact the learned behaviour",
            "Three small tasks of ours that only the order of the words decides, and the post’s own news: in how many "
            "does a model with sinusoids answer more rows rightly than one without positions?",
            _TASKS,
            evidence.positions,
            See("train", "the curves of both", (("task", "who did what"), ("pe", "none"), ("pe", "sinusoidal"))),
            about="From its conclusion.",
        ),
        "waves": Claim(
            "sinusoids and the look",
            OURS,
            "Sinusoids change who is looked at.",
            "“can you can that” in MiniLM, without positions and with sinusoids: in how many rows of all heads does "
            "another key get the largest weight?",
            ("in none", "in fewer than half", "in half of them or more"),
            evidence.waves,
            See("compare", "no positions beside sinusoids", (("s", TWICE), ("pos", "none"), ("pos2", "sinusoidal"))),
        ),
        "padding": Claim(
            "padding and a mask",
            POST,
            "We apply mask so that we do not attend to the tokens which are padded.",
            "“how are you” beside a longer sentence in one batch, with that mask and without: when does MiniLM give it "
            "the vector that it has alone?",
            ("with the mask and without", "only with the mask", "not even with it"),
            evidence.padding,
            See("masks", "padding with a mask and without", (("s", SENTENCE),)),
            about="It then leaves the mask out “for this post”.",
        ),
    },
    "Scores and weights": {
        "root-d": Claim(
            "the division by √d",
            TIME_FIRST,
            "to avoid large dot-products",
            "Random queries and keys of 512 numbers, 16 keys, no division: in how many rows is the gradient of the "
            "weights almost 0?",
            ("in none", "in up to half of them", "in more than half"),
            evidence.root_of_d,
            See("by_hand", "how sharp a row is over d, divided and not", (("ex", "entropy"),)),
            about="Scores are divided by √d_k for it: large ones give the softmax very small gradients.",
        ),
        "amplitude": Claim(
            "weights at the start",
            NOTEBOOK,
            "the entries … have roughly the same amplitude, which is important to ease training",
            "With its own K, Q and points, all drawn with unit variance (8 clouds of 80 points, 12 numbers, 2 heads): "
            "how large is the largest of the 80 weights of a row, on average?",
            ("less than 10 times an even share", "10 times, but no more than half of the row", "more than half of it"),
            evidence.amplitudes,
            See("by_hand", "how sharp a row is with random queries and keys of unit variance", (("ex", "entropy"),)),
            about="Said of the weights, exp(q k / √d) over their sum, when K and Q begin as noise of unit variance.",
        ),
        "minus-1e9": Claim(
            "−1e9 for −∞",
            OURS,
            "To write −1e9 on forbidden scores is as good as −∞.",
            "Only earlier words may be looked at, so the first row may look at nobody. In which rows of a head of "
            "MiniLM do −1e9 and −∞ give the same weights?",
            ("in every row", "in every row but those that may look at nobody", "in none"),
            evidence.minus_1e9,
            See("masks", "rows that may look at nobody", (("mask", "combination"), ("rule", "causal & !window:1"))),
        ),
        "row-sum": Claim(
            "rows that sum to 1",
            POST,
            "the numbers in each row add up to 1",
            "All rows of MiniLM’s 72 heads on one sentence: how many of them sum to 1, up to rounding?",
            ("every one", "some", "none"),
            evidence.row_sum,
            See("masks", "the sum of each row", (("mask", "combination"), ("rule", "causal & !window:1"))),
            about="Said of the weights, after the softmax.",
        ),
    },
    "Projections and biases": {
        "values": Claim(
            "values and embeddings",
            LESSON,
            "the values matrix, which are the token embeddings",
            "How alike are embedding and value of a token in MiniLM’s first layer, as a cosine?",
            ("the same direction, .99 or more", ".5 to .99", "below .5"),
            layers.values,
            See("shapes", "from x to v, step by step", (("s", SENTENCE), ("at", "0.0"), ("step", "v"))),
        ),
        "biases": Claim(
            "training without biases",
            LESSON,
            "reducing model parameters without impacting the ability to capture relationships",
            "A small model is trained here to tell who did what, with biases and without, from three seeds: for how "
            "many does it answer as many unseen rows rightly without them?",
            ("for all three", "for some", "for none"),
            layers.biases,
            See(
                "train",
                "this training without biases, when you press Train",
                (("task", "who did what"), ("tbias", "no")),
            ),
            about="Said of bias=False on query, key and value. Here the output has none either.",
        ),
        "trained-biases": Claim(
            "a trained bias set to 0",
            OURS,
            "The biases of a trained model can be set to 0, and nothing is lost.",
            "Which of the three biases can be set to 0 in MiniLM, and no layer’s output changes?",
            ("all three", "only the query’s", "only the key’s", "none"),
            layers.trained_biases,
            See("implementations", "each bias alone set to 0", _TABLES),
        ),
        "key-bias": Claim(
            "the key’s bias",
            OURS,
            "A bias on the keys changes nothing.",
            "The same number is added to every key (its bias). When does a weight of MiniLM change?",
            ("always", "never", "only if positions turn the keys (rotary)"),
            layers.key_bias,
            See("implementations", "the gradient of the key’s bias", _TABLES),
        ),
    },
    "Implementations": {
        "one-function": Claim(
            "naive and torch",
            POST,
            "both of these models should have almost the same accuracy",
            "The same weights in the naive implementation and in torch’s, a layer of MiniLM: how far apart are their "
            "outputs, relative to their size?",
            _APART,
            layers.same_accuracy,
            See("implementations", "both classes side by side", (("impl", "naive"), ("beside", "torch"))),
            about="Said of its classifiers with naive attention and with torch’s.",
        ),
        "torch": Claim(
            "1.98e−7 from torch",
            NOTEBOOK,
            "1.9810291e-07",
            "Twenty draws of torch’s own initial weights in that case, and normal points: how far apart are the two?",
            _APART,
            layers.torchs_own,
            See(
                "implementations",
                "the same case with other random weights",
                (("b", "8"), ("n", "80"), ("d", "12"), ("h", "2"), ("biases", "none")),
            ),
            about="Its printed relative difference between einsum and nn.MultiheadAttention without biases: 8 clouds "
            "of 80 points, 12 numbers, 2 heads.",
        ),
        "axes": Claim(
            "loops over other axes",
            POST,
            "every dimension other than the last two is used to loop",
            "A loop over all matrices of tensors with two to five axes, random numbers: how far is it from "
            "F.scaled_dot_product_attention on the whole tensors?",
            _APART,
            layers.any_axes,
            See("scaled_dot", "a product on four axes and its two loops", (("aat", "3, 2, 10, 256"),)),
            about="Said of products of tensors with more than two axes.",
        ),
        "naive": Claim(
            "efficient against naive",
            POST,
            "much quicker than our naive implementation",
            "Two sizes, both with their maps, on one thread of this machine: at how many does the loop over the heads "
            "take longer than the efficient way?",
            _SIZES,
            times.naive,
            See("implementations", "a race of the two, on sizes of yours", (("race", "naive"), ("race", "efficient"))),
            about="Said of its efficient implementation: 186 s of training instead of 218.",
            timed=True,
        ),
        "fastest": Claim(
            "torch’s own layer",
            POST,
            "Clearly our implementation of MHA is not as fast as Pytorch.",
            "Two sizes, both with their maps, on one thread of this machine: at how many does the naive way take "
            "longer than torch’s own layer?",
            _SIZES,
            times.naive_beside_torch,
            See("implementations", "a race of the two, on sizes of yours", (("race", "naive"), ("race", "torch"))),
            about="Said of its naive implementation: 218 s of training, torch’s 155.",
            timed=True,
        ),
        "einsum": Claim(
            "the speed of einsum",
            OURS,
            "Einsum is as fast as view and transpose.",
            "Two sizes, both with their maps, on one thread of this machine: at how many is einsum as fast?",
            _SIZES,
            times.einsum,
            See("implementations", "a race of the two, on sizes of yours", (("race", "einsum"), ("race", "efficient"))),
            about="The notebook prefers it “over direct array manipulation”, and says nothing of speed.",
            timed=True,
        ),
    },
}
CLAIMS = {name: claim for group in GROUPS.values() for name, claim in group.items()}
