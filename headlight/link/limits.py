"""What the controls offer, and how much a visitor may ask for."""

from mha_core.errors import HeadlightError, SizeError

LONGEST_TEXT = 12_000  # characters: 2,048 tokens of English prose have about 9,000
MOST_TOKENS = 512  # of a picture whose maps are all kept; beyond, Explore shows one layer at a time
MOST_WORDS = 8  # of a sentence worked by hand
MOST_FEATURES = 4096  # of a head, that a link may name
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
WIDEST_WINDOW = 512
MOST_TOKENS_AT_ONCE = 64  # of a sentence that is run under every position
LONGEST_RULE = 200  # characters of a mask in written form
LONGEST_PAINTED = 3000  # characters of a painted mask
MOST_PAINTED = 64  # tokens of a sentence whose mask can be painted
LONGEST_AXIS = 1024  # of a tensor whose shape is typed
MOST_SHUFFLES = 9999  # random orders of a sentence
WITHOUT_ASKING = 64  # tokens up to which every head is switched off alone without a button
HEADS_WITHOUT_ASKING = 150  # of a model whose heads are
MOST_LAYERS = 4  # of a model that a visitor trains
MOST_BUDGET = 1800  # seconds of training, all runs together
LONGEST_MATRICES = 2000  # characters of the edited matrices in a link
STRONG = 0.5  # a single weight between two words that are no neighbours, which makes a head one of a kind
MOST_OF_IT = 0.6  # of a row, which does
LONGEST_MODEL = 260  # characters of a model's name in a link
LONGEST_WORD = 60  # characters of the word whose probability is told
LONGEST_LOOK = 1000  # characters of how the maps are drawn
LONGEST_PIN = 6000  # characters of a pinned picture: its sentence, mask and the rest of it
MOST_CHOSEN = 1024  # options of a list at once
LONGEST_CHOICE = 1000  # characters of an option of a control
SIZES = {  # of a model that a visitor trains, and of its training: field of the recipe -> least and most
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
MOST_SCORES = 8_000_000  # b · h · n², and half of that for a training step, which keeps what it will need
MOST_PRODUCTS = 500_000_000  # b · n · d_model²


def check_sizes(
    b: int, n: int, d_model: int, n_heads: int, *, scores: int = MOST_SCORES, products: int = MOST_PRODUCTS
) -> None:
    """Raises a SizeError when a call would take too long to be waited for: more `scores` or `products` than allowed."""
    for formula, size, most in (
        ("b · h · n²", b * n_heads * n * n, scores),
        ("b · n · d²", b * n * d_model * d_model, products),
    ):
        if size > most:
            raise SizeError(f"{formula} = {size:,}, at most {most:,} are computed here; choose smaller sizes")


def check_length(text: str) -> None:
    """Raises a HeadlightError when a sentence has more characters than are computed.

    A field keeps twice as many, so of a longer one the number is not known.
    """
    if len(text) > LONGEST_TEXT:
        has = f"{len(text):,}" if len(text) < 2 * LONGEST_TEXT else f"{2 * LONGEST_TEXT:,} or more"
        raise HeadlightError(f"a sentence may have {LONGEST_TEXT:,} characters, this one has {has}; shorten it")
