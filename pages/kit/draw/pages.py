"""Every page: its group in the bar, its name, the question it answers, and how to read it."""

import json
from dataclasses import dataclass
from urllib.parse import quote, urlencode


@dataclass(frozen=True)
class Named:
    """What the bar and the head of a page say.

    Attributes:
        group: in the bar, where one meets it.
        title: its name.
        question: what it answers.
        line: how to read it.
        within: the page that leads to it, which the bar marks in its place; "" = the bar itself does.
    """

    group: str
    title: str
    question: str
    line: str
    within: str = ""


DEFAULT = "explore"  # the page at the server's own address
# by the name of its package. The order tells a story: see, change, build, learn.
PAGES = {
    "lessons": Named(
        "Lessons",
        "Lessons",
        "What would you like to find out?",
        "Guess first. Then the curtain opens, and the numbers measured now decide.",
    ),
    "texts": Named(
        "Texts",
        "Texts",
        "You come from a text: where is it here?",
        "What each of five texts has, in its order; every link opens that very thing.",
    ),
    "explore": Named(
        "Look",
        "Explore",
        "Which words does each word look at?",
        "Each row is one word. The stronger a cell’s colour, the more it looks at the word above.",
    ),
    "glossary": Named(
        "Look",
        "Glossary",
        "What does this word mean?",
        "Every word that the pages use, in one sentence, and where one meets it.",
    ),
    "claims": Named(
        "Look",
        "Claims",
        "Is it true?",
        "Claims from five texts. True or false? Guess; then the model is measured.",
    ),
    "compare": Named(
        "Change",
        "Compare",
        "What does one change do?",
        "The same model twice. Only what is lit on the cards, and the sentences, can differ.",
    ),
    "side_by_side": Named(
        "Change",
        "Side by side",
        "Does the same word look the same way twice?",
        "One map for each positional encoding, with its numbers. Look at the rows of a word that stands there twice.",
        within="compare",
    ),
    "masks": Named(
        "Change",
        "Masks",
        "Who may look at whom?",
        "Choose a mask or paint one. A hatched cell may not be looked at.",
    ),
    "positions": Named(
        "Change",
        "Positions",
        "How does it know the order of the words?",
        "Attention alone sees a bag of words. A positional encoding tells it who stands where.",
    ),
    "by_hand": Named(
        "Build",
        "By hand",
        "Where does one weight come from?",
        "Choose an example and follow its numbers, step by step, to the result.",
    ),
    "scaled_dot": Named(
        "Build",
        "Scaled dot product",
        "What does attention compute, as one function?",
        "Choose shapes for queries, keys and values; the numbers are random, and torch's own function is asked too.",
    ),
    "shapes": Named(
        "Build",
        "Shapes",
        "Which axis is which?",
        "Every step of one layer: its line of code, the shape before and after, and where each number lies.",
    ),
    "implementations": Named(
        "Build",
        "Implementations",
        "How can it be written?",
        "Seven ways to write the same layer, with the same weights, and how far their numbers lie apart.",
    ),
    "train": Named(
        "Train",
        "Train",
        "Can it learn this?",
        "Small models learn a task from nothing, here and now, while you watch.",
    ),
}


def path(name: str) -> str:
    """The address of a page behind the server's; the default page has none."""
    return "" if name == DEFAULT else name.replace("_", "-")


def link(name: str, *values: tuple[str, str]) -> str:
    """The path of a page with these values in its query."""
    return f"{path(name)}?{urlencode(values, quote_via=quote, errors='replace')}"


def as_json() -> str:
    """All of it, in order, for the browser; it may stand in a page."""
    listed = [{"path": path(name), **vars(page)} for name, page in PAGES.items()]
    return json.dumps(listed, ensure_ascii=False).replace("<", "\\u003c")
