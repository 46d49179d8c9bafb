"""Constants that Python and the browser share: `python -m headlight.api.facts` writes them as JavaScript.

A test compares the written files with `modules`.
"""

import json
from pathlib import Path
from typing import Any

from headlight import ROOT, read_toml
from headlight.link import limits
from headlight.link.fields import DEFAULTS, DROP_ORDER, FIELDS, MASKS, MAX_LINK_BYTES, SIDE_KEYS
from headlight.link.limits import MAX_QUERY_BYTES
from headlight.link.rules import LINES
from headlight.picture import pictures
from headlight.picture.link_query import TEXT_KEYS
from headlight.registry import models, pretrained
from headlight.ui.palette import AXIS
from headlight.ui.terms import MARKED

FOLDER = ROOT / "assets" / "web" / "base"
_HEAD = "// Written by `python -m headlight.api.facts` from the Python side; do not edit.\n"
_MASK_NUMBERS = {"w": "words on each side, including itself", "first": "first words", "gap": "distance between them"}


def table() -> dict[str, tuple[str, str, Any]]:
    """Return the facts of all pages: name -> type in the browser, description and value."""
    masks = [
        {"name": name, "line": line, "numbers": [[key, _MASK_NUMBERS[key], DEFAULTS[key]] for key in MASKS[name]]}
        for name, line in LINES.items()
    ]
    positions = {name: texts["line"] for name, texts in read_toml("encodings").items() if "line" in texts}
    heads = read_toml("heads")
    kinds = {name: {"title": measure["title"], "text": measure["text"]} for name, measure in heads["measures"].items()}
    kinds |= {name: {"title": title, "text": ""} for name, title in heads["kinds"].items()}
    return {
        "HEAD_KINDS": (
            "Record<string, {title: string, text: string}>",
            "What heads do and how it is measured: the one list of names.",
            kinds,
        ),
        "AXIS": ("{tick: number, title: number}", "Size of the texts of every chart’s axes, in pixels.", AXIS),
        "MASKS": (
            "{name: string, line: string, numbers: [string, string, number][]}[]",
            "The masks, each with its effect and its numbers: key, name and default.",
            masks,
        ),
        "POSITIONS": ("Record<string, string>", "Short descriptions of the positional encodings.", positions),
        "SIDE": ("string[]", "Keys of the link that each side of a picture has.", list(SIDE_KEYS)),
        "RULE": ("string", "Default of the link's `rule`.", DEFAULTS["rule"]),
        "MODEL": ("string", "The default model.", pretrained.MINILM),
        "LARGE_MODEL": ("string", "A model that takes long to load.", pretrained.SMOLLM2),
        "NOBODY": ("string", "Label of the column for weight that goes to no token.", pictures.UNASSIGNED),
        "MAX_LINK_BYTES": ("number", "Longest query of a link, in bytes.", MAX_LINK_BYTES),
        "LEFT_OUT": ("string[]", "Keys that are dropped from a longer link, in this order.", list(DROP_ORDER)),
        "MAX_QUERY_BYTES": ("number", "Longest query that the server accepts, in bytes.", MAX_QUERY_BYTES),
        "MAX_TEXT_LENGTH": ("number", "Longest sentence that a field accepts, in characters.", FIELDS["s"].max_length),
        "MAX_RULE_LENGTH": ("number", "Longest rule of a mask, in characters.", limits.MAX_RULE_LENGTH),
        "MAX_WINDOW": ("number", "Largest number in a rule of a mask.", limits.MAX_WINDOW),
        "TEMPERATURES": ("number[]", "Range of the softmax temperature.", list(limits.TEMPERATURES)),
        "CALLED": (
            "Record<string, string>",
            "Nouns for the texts of a link.",
            {key: FIELDS[key].noun for key in (*TEXT_KEYS, "pin") if FIELDS[key].noun},
        ),
    }


def modules() -> dict[Path, str]:
    """Return the contents of the generated files by their paths.

    Facts that an exported picture does not need are in a file of their own.
    """
    titles = dict.fromkeys(field.page for field in FIELDS.values() if field.page != "several")
    keys = {title: [key for key, field in FIELDS.items() if field.page == title] for title in titles}
    page_facts = {
        "KEYS": ("Record<string, string[]>", "Keys of the link that only one page’s controls set, by its title.", keys),
        "TERMS": ("Record<string, string>", "Glossary terms that are marked in texts, with their meanings.", MARKED),
        "OWN_CODE": ("string", "Python code that shows a model of one’s own.", models.OWN_CODE),
    }
    return {FOLDER / "facts.js": _module_source(table()), FOLDER / "page_facts.js": _module_source(page_facts)}


def _module_source(facts: dict[str, tuple[str, str, Any]]) -> str:
    lines = [
        f"\n/** {description} @type {{{kind}}} */\nexport const {name} = {json.dumps(fact, ensure_ascii=False)};\n"
        for name, (kind, description, fact) in facts.items()
    ]
    return _HEAD + "".join(lines)


if __name__ == "__main__":
    for file, text in modules().items():
        file.write_text(text, "utf-8")
