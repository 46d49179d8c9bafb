"""The blog post's experiment: its printed figures beside ours, as docs/long-post.md has them."""

import re
from functools import lru_cache

from headlight import ROOT
from headlight.ui import sheet
from headlight.ui.sheet import Block

_LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")
_PLAIN = str.maketrans({"`": "", "\n": " ", "'": "’"})


@lru_cache(maxsize=1)
def panels() -> list[Block]:
    """Return a panel for each section of the document; tables without a text between them stand side by side."""
    sections = (ROOT / "docs" / "long-post.md").read_text("utf-8").split("\n## ")[1:]
    return [_panel(*section.split("\n", 1)) for section in sections]


def _panel(heading: str, text: str) -> Block:
    blocks = list[Block]()
    for paragraph in filter(None, text.strip().split("\n\n")):
        if not paragraph.startswith("|"):
            words = _LINK.sub(r"\1", paragraph.removeprefix("### ")).translate(_PLAIN)
            blocks.append(sheet.title(words) if paragraph.startswith("### ") else sheet.text(words))
            continue
        lines = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in paragraph.splitlines()]
        table = sheet.table(lines[0], lines[2:])
        if blocks and blocks[-1]["kind"] == "row":
            blocks[-1]["blocks"].append(table)
        else:
            blocks.append(sheet.row([table]))
    return sheet.panel(heading, blocks)
