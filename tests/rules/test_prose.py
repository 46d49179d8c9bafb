"""Plain English in the documents: words that stand for a person, a request or a repetition in no other project."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
WORDS = {  # a word, and what to write instead
    "visitors?": "user, client",
    "nobody|somebody|whoever": "the user, no one, anyone who",
    "he|his|him": "they, their",
    "anew": "again",
    "hung up|hangs up": "disconnected",
    "is told|are told": "receives",
    "bubbles?": "tooltip",
}
# code, quotations and labels of the screen keep their words; so do tables that are generated, and the words not to use
QUOTED = re.compile(r"```.*?```|`[^`\n]*`|“[^”]*”|\*[^*\n]+\*|^\| `\w+` \| [^\n]*$", re.DOTALL | re.MULTILINE)
VOCABULARY = re.compile(r"^## Vocabulary$.*?^### Names$", re.DOTALL | re.MULTILINE)


def test_documents_are_in_plain_english() -> None:
    matches = []
    for file in DOCUMENTS:
        prose = QUOTED.sub(" ", VOCABULARY.sub("", file.read_text("utf-8")))
        for word, instead in WORDS.items():
            for match in re.finditer(rf"\b(?:{word})\b", prose, re.IGNORECASE):
                context = prose[max(0, match.start() - 30) : match.end() + 30].replace("\n", " ")
                matches.append(f"{file.name}: “{context}”: {instead}")
    assert not matches, "\n".join(matches)
