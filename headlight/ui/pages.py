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
        model: it shows one that is chosen in the bar.
        within: the page that leads to it, which the bar marks in its place; "" = the bar itself does.
    """

    group: str
    title: str
    question: str
    line: str
    model: bool = False
    within: str = ""


DEFAULT = "explore"  # the page at the server's own address
# The addresses of what is a part of another page now -> that page, and what its link says where the old one did not:
# "model" stands for a link that names a model, which brings its own sentence and first head.
MOVED: dict[str, tuple[str, dict[str, str]]] = {
    DEFAULT: ("", {}),
    "scaled-dot": ("by-hand", {"ex": "scaled+dot+product"}),
    "texts": ("lessons", {}),
    "side-by-side": ("compare", {"mean": "true", "s": "can+you+can+that", "at": "3.1"}),
}
# by the name of its package. The order tells a story: lessons, look, change, build, train.
PAGES = {
    "lessons": Named(
        "Learn",
        "Lessons",
        "What would you like to find out?",
        "Guess first. Then see what the model really does.",
    ),
    "claims": Named(
        "Learn",
        "Claims",
        "Is it true?",
        "Claims from five tutorials, and some of our own. True or false? Guess first, then see the measurement.",
    ),
    "explore": Named(
        "Look",
        "Explore",
        "Which words does each word look at?",
        "This is attention inside a small language model. Each row is one word; the darker a cell, the more that "
        "word attends to the word at the top of the column.",
        model=True,
    ),
    "glossary": Named(
        "Look",
        "Glossary",
        "What does this word mean?",
        "Every technical term in one sentence, and where it is used.",
    ),
    "compare": Named(
        "Change",
        "Compare",
        "What does one change do?",
        "One model with two settings, or two models. Orange marks what differs between left and right.",
        model=True,
    ),
    "masks": Named(
        "Change",
        "Masks",
        "Which words may each word see?",
        "Choose a mask or paint one. A cell without colour is blocked: the word of its row may not attend to the word "
        "of its column.",
        model=True,
    ),
    "positions": Named(
        "Change",
        "Positions",
        "How does a model know the word order?",
        "Attention alone ignores the order of the words. A positional encoding adds it.",
    ),
    "by_hand": Named(
        "Build",
        "By hand",
        "How is one weight calculated?",
        "Choose an example and follow its numbers, step by step, to the result.",
        model=True,
    ),
    "shapes": Named(
        "Build",
        "Shapes",
        "Which axis is which?",
        "Every step of one layer, with its line of code, its shape, and where its numbers lie in memory.",
        model=True,
    ),
    "implementations": Named(
        "Build",
        "Implementations",
        "How can attention be written?",
        "There are seven implementations of the same layer. Choose two and compare them side by side.",
    ),
    "train": Named(
        "Train",
        "Train",
        "Can a model learn this?",
        "Train small models on a task from scratch and watch them learn.",
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
