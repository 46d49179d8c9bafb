"""Table of the pages, in the order of the navigation bar."""

import json
from dataclasses import dataclass
from urllib.parse import quote, urlencode


@dataclass(frozen=True)
class PageInfo:
    """Texts of a page in the navigation bar and its header.

    Attributes:
        group: group in the navigation bar.
        title: name of the page.
        question: question that the page answers.
        line: how to read the page.
        model: the page shows the model that is selected in the bar.
        parent: the page that leads to this one and is marked in the bar instead; "" if the bar lists this one.
    """

    group: str
    title: str
    question: str
    line: str
    model: bool = False
    parent: str = ""


DEFAULT = "explore"  # the page at the server's own address
# Path of a former page -> the page that contains it now, and the keys that its link adds unless the old link has them.
# A link with a "model" gets neither "s" nor "at", as the model has defaults of its own.
REDIRECTS: dict[str, tuple[str, dict[str, str]]] = {
    DEFAULT: ("", {}),
    "scaled-dot": ("by-hand", {"ex": "scaled+dot+product"}),
    "texts": ("lessons", {}),
    "side-by-side": ("compare", {"mean": "true", "s": "can+you+can+that", "at": "3.1"}),
}
# package -> page, in teaching order: learn, look, change, build, train
PAGES = {
    "lessons": PageInfo(
        "Learn",
        "Lessons",
        "What would you like to find out?",
        "Guess first. Then see what the model really does.",
    ),
    "claims": PageInfo(
        "Learn",
        "Claims",
        "Is it true?",
        "Claims from five tutorials, and some of our own. True or false? Guess first, then see the measurement.",
    ),
    "explore": PageInfo(
        "Look",
        "Explore",
        "Which words does each word look at?",
        "This is attention inside a small language model. Each row is one word; the darker a cell, the more that "
        "word attends to the word at the top of the column.",
        model=True,
    ),
    "glossary": PageInfo(
        "Look",
        "Glossary",
        "What does this word mean?",
        "Every technical term in one sentence, and where it is used.",
    ),
    "compare": PageInfo(
        "Change",
        "Compare",
        "What does one change do?",
        "One model with two settings, or two models. Orange marks what differs between left and right.",
        model=True,
    ),
    "masks": PageInfo(
        "Change",
        "Masks",
        "Which words may each word see?",
        "Choose a mask or paint one. A cell without colour is blocked: the word of its row may not attend to the word "
        "of its column.",
        model=True,
    ),
    "positions": PageInfo(
        "Change",
        "Positions",
        "How does a model know the word order?",
        "Attention alone ignores the order of the words. A positional encoding adds it.",
    ),
    "by_hand": PageInfo(
        "Build",
        "By hand",
        "How is one weight calculated?",
        "Choose an example and follow its numbers, step by step, to the result.",
        model=True,
    ),
    "shapes": PageInfo(
        "Build",
        "Shapes",
        "Which axis is which?",
        "Every step of one layer, with its line of code, its shape, and where its numbers lie in memory.",
        model=True,
    ),
    "implementations": PageInfo(
        "Build",
        "Implementations",
        "How can attention be written?",
        "There are seven implementations of the same layer. Choose two and compare them side by side.",
    ),
    "train": PageInfo(
        "Train",
        "Train",
        "Can a model learn this?",
        "Train small models on a task from scratch and watch them learn.",
    ),
}


def path(name: str) -> str:
    """Return the path of a page below the server's root, "" for the default page."""
    return "" if name == DEFAULT else name.replace("_", "-")


def link(name: str, *values: tuple[str, str]) -> str:
    """Return the path of a page with these values in its query."""
    return f"{path(name)}?{urlencode(values, quote_via=quote, errors='replace')}"


def as_json() -> str:
    """Return the table as JSON that can be embedded in HTML."""
    page_list = [{"path": path(name), **vars(page)} for name, page in PAGES.items()]
    return json.dumps(page_list, ensure_ascii=False).replace("<", "\\u003c")
