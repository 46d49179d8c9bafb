"""What both sides must agree on, said once: `python -m headlight.api.facts` writes it for the browser.

What it writes is `modules`, which a test compares with this.
"""

import json
from pathlib import Path
from typing import Any

from headlight import ROOT
from headlight.link import limits
from headlight.link.fields import DEFAULTS, DROP_ORDER, FIELDS, MASKS, MAX_LINK_BYTES, SIDE_KEYS
from headlight.picture import pictures
from headlight.picture.link_query import TYPED
from headlight.picture.query import MAX_BYTES
from headlight.registry import models, pretrained
from headlight.ui.terms import MARKED

FOLDER = ROOT / "assets" / "web" / "base"
_HEAD = "// Written by `python -m headlight.api.facts` from the Python side; do not edit.\n"
_LINES = {  # what a mask does, in a few words
    "none": "every word sees every word",
    "causal": "no word sees what comes after it",
    "window": "each word sees only the words near it",
    "prefix": "each word sees the first words and all earlier ones",
    "sinks": "each word sees only the first words",
    "dilated": "each word sees only every 2nd (or s-th) word on each side",
}
_NUMBERS = {"w": "words on each side, including itself", "first": "first words", "gap": "distance between them"}
_POSITIONS = {  # what an encoding of the order is, in a few words
    "as trained": "the encoding that the model was trained with",
    "none": "word order removed: the model sees a bag of words",
    "shuffled": "the learned table with its rows shuffled",
    "halved": "the learned table, scaled by 0.5",
    "doubled": "the learned table, scaled by 2",
    "sinusoidal": "sine waves of many wavelengths, added to each embedding",
    "rotary": "queries and keys are rotated by their position",
    "alibi": "scores decrease with the distance",
    "t5": "a bias on the score for each distance (random here)",
    "shaw": "a vector for each distance, added to the key (random here)",
}


def table() -> dict[str, tuple[str, str, Any]]:
    """Every fact: name -> its type in the browser, what it says, and the fact."""
    masks = [
        {"name": name, "line": line, "numbers": [[key, _NUMBERS[key], DEFAULTS[key]] for key in MASKS[name]]}
        for name, line in _LINES.items()
    ]
    return {
        "MASKS": (
            "{name: string, line: string, numbers: [string, string, number][]}[]",
            "The masks, each with what it does and the numbers that it takes: key, name, and what is usual.",
            masks,
        ),
        "POSITIONS": ("Record<string, string>", "The encodings of the order, in a few words.", _POSITIONS),
        "SIDE": ("string[]", "The keys of the link of one side of a picture.", list(SIDE_KEYS)),
        "RULE": ("string", "What `rule` of a link says by default.", DEFAULTS["rule"]),
        "MODEL": ("string", "The model that is shown where the link names none.", pretrained.MINILM),
        "LARGE_MODEL": ("string", "The one whose loading takes long enough to say so.", pretrained.SMOLLM2),
        "NOBODY": ("string", "The column for what of a row goes to no word.", pictures.UNASSIGNED),
        "MAX_LINK_BYTES": ("number", "Bytes of the query of a link.", MAX_LINK_BYTES),
        "LEFT_OUT": ("string[]", "What a longer link leaves out, in this order.", list(DROP_ORDER)),
        "MAX_QUERY_BYTES": ("number", "Bytes of a query that the server reads.", MAX_BYTES),
        "MAX_SENTENCE_LENGTH": ("number", "Characters of a sentence that is computed.", limits.MAX_TEXT_LENGTH),
        "MAX_TEXT_LENGTH": ("number", "Characters of a sentence that a box keeps.", FIELDS["s"].longest),
        "MAX_RULE_LENGTH": ("number", "Characters of a mask in written form.", limits.MAX_RULE_LENGTH),
        "MAX_WINDOW": ("number", "The largest number of a mask.", limits.MAX_WINDOW),
        "TEMPERATURES": ("number[]", "The ends of the softmax temperature.", list(limits.TEMPERATURES)),
        "CALLED": (
            "Record<string, string>",
            "The texts of a link in a sentence.",
            {key: FIELDS[key].noun for key in (*TYPED, "pin") if FIELDS[key].noun},
        ),
    }


def modules() -> dict[Path, str]:
    """Each file that is written, and its text; what a picture to take home does not need stands apart."""
    of_pages = {
        "TERMS": ("Record<string, string>", "The words that a text marks, each with its sentence.", MARKED),
        "OWN_CODE": ("string", "How one looks at a model of one’s own in Python.", models.OWN_CODE),
    }
    return {FOLDER / "facts.js": _text(table()), FOLDER / "page_facts.js": _text(of_pages)}


def _text(facts: dict[str, tuple[str, str, Any]]) -> str:
    said = [
        f"\n/** {says} @type {{{kind}}} */\nexport const {name} = {json.dumps(fact, ensure_ascii=False)};\n"
        for name, (kind, says, fact) in facts.items()
    ]
    return _HEAD + "".join(said)


if __name__ == "__main__":
    for file, text in modules().items():
        file.write_text(text, "utf-8")
