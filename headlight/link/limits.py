"""Options of the controls, and limits on the size of requests."""

from mha_core.errors import HeadlightError, SizeError

MAX_TEXT_LENGTH = 12_000  # characters: 2,048 tokens of English prose have about 9,000
MAX_QUERY_BYTES = 60_000  # two sentences and a pinned one, with up to nine bytes a character
MAX_TOKENS = 512  # of a picture with all maps; beyond, Maps shows one layer at a time
MAX_WORDS = 8  # of a sentence on By hand
MAX_FEATURES = 4096  # of a head, addressable in a link
POSITIONS = {  # in the control -> in the core
    "as trained": "trained",
    "none": "none",
    "shuffled": "shuffled",
    "halved": "scaled:0.5",
    "doubled": "scaled:2",
    "sinusoidal": "sinusoidal",
    "rotary": "rotary",
    "alibi": "alibi",
    "t5": "t5",
    "shaw": "shaw",
}
TEMPERATURES = (0.1, 5.0)
MAX_WINDOW = 512
MAX_TOKENS_AT_ONCE = 64  # of a sentence that is run with every positional encoding
MAX_RULE_LENGTH = 200  # characters of a mask expression
MAX_PAINTED_LENGTH = 3000  # characters of a painted mask
MAX_PAINTED = 64  # tokens of a sentence with a painted mask
MAX_AXIS_LENGTH = 1024  # of a tensor with a typed shape
MAX_SHUFFLES = 9999  # random orders of a sentence
AUTO_ABLATION_TOKENS = 64  # tokens up to which each head is ablated in turn without a click
AUTO_ABLATION_HEADS = 150  # heads of a model up to which that is done
MAX_LAYERS = 4  # of a model trained here
MAX_BUDGET = 1800  # seconds of training, all runs together
MAX_MATRICES_LENGTH = 2000  # characters of the edited matrices in a link
STRONG_WEIGHT = 0.5  # a weight between distant words above which a head counts as of its kind
DOMINANT_WEIGHT = 0.6  # of a row; likewise
MAX_MODEL_LENGTH = 260  # characters of a model's name in a link
MAX_WORD_LENGTH = 60  # characters of the word with a probability
MAX_LOOK_LENGTH = 1000  # characters of the display options
MAX_PIN_LENGTH = 6000  # characters of a pinned picture: its sentence, mask and the rest of it
MAX_CHOICES = 1024  # options of a list at once
MAX_CHOICE_LENGTH = 1000  # characters of an option of a control
SIZES = {  # of a model trained here: field of the recipe -> minimum and maximum
    "d_model": (4, 256),
    "n_heads": (1, 16),
    "d_feed_forward": (0, 1024),
    "vocabulary": (50, 5000),
    "steps": (1, 5000),
    "batch": (1, 256),
    "threads": (1, 4),
    "max_len": (8, 512),
}
# of one call on random input
MAX_SCORES = 8_000_000  # b · h · n², and half of that for a training step, which keeps what it will need
MAX_PRODUCTS = 500_000_000  # b · n · d_model²


def check_sizes(
    b: int, n: int, d_model: int, n_heads: int, *, scores: int = MAX_SCORES, products: int = MAX_PRODUCTS
) -> None:
    """Raise a SizeError for a call with more `scores` or `products` than allowed, which would take too long."""
    for formula, size, maximum in (
        ("b · h · n²", b * n_heads * n * n, scores),
        ("b · n · d²", b * n * d_model * d_model, products),
    ):
        if size > maximum:
            raise SizeError(f"{formula} = {size:,}, at most {maximum:,} are allowed here; choose smaller sizes")


def check_length(text: str) -> None:
    """Raise a HeadlightError for a sentence with too many characters.

    Fields cut a text at twice the limit, so the length of a longer one is unknown.
    """
    if len(text) > MAX_TEXT_LENGTH:
        has = f"{len(text):,}" if len(text) < 2 * MAX_TEXT_LENGTH else f"{2 * MAX_TEXT_LENGTH:,} or more"
        raise HeadlightError(
            f"a sentence may have at most {MAX_TEXT_LENGTH:,} characters, and this one has {has}; shorten it"
        )
