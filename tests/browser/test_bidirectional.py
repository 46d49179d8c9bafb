"""Hebrew, Arabic and signs without ink in the sentences of the app: they are read in their order, and can be seen."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

import pytest

from mha_core.token_text import isolate, quote

from .compare_page import Compare
from .explore_page import Explore
from .masks_page import Masks
from .modules import Modules

HEBREW, ARABIC, SIGNS = "שלום, הכלב של 2 ילדים רץ", "لم يعبر الحيوان الشارع", "I love you ❤️ 1️⃣ हिन्दी 👨‍👩‍👧"
# In each line of a text outside fields: the signs that are in no isolate, in the order of the text, and their places.
LINES = """(view) => {
  const lines = [], range = document.createRange(), walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!/[\\u0590-\\u08ff]/.test(node.data) || !node.parentElement.checkVisibility()) continue;
    if (getComputedStyle(node.parentElement).direction === "rtl") continue;
    let depth = 0;
    const line = { text: node.data, tops: [], lefts: [] };
    for (const [index, sign] of [...node.data].entries()) {
      if (sign === "\\u2068") depth += 1;
      if (!depth && sign.trim()) {
        range.setStart(node, index);
        range.setEnd(node, index + 1);
        const box = range.getBoundingClientRect();
        if (box.width) (line.tops.push(Math.round(box.top)), line.lefts.push(box.left));
      }
      if (sign === "\\u2069") depth -= 1;
    }
    lines.push(line);
  }
  return lines;
}"""


def check_order(page: Explore | Compare | Masks) -> set[str]:
    """Check that what stands around tokens goes from left to right; return these texts."""
    lines = page.view.evaluate(LINES)
    for line in lines:
        places = list(zip(line["tops"], line["lefts"], strict=True))
        for (top, left), (next_top, next_left) in pairwise(places):
            assert next_top > top or next_left > left, line
    return {line["text"] for line in lines}


@pytest.mark.parametrize("text", [HEBREW, ARABIC])
def test_sentences_keep_their_order_around_tokens(explore: Explore, compare: Compare, masks: Masks, text: str) -> None:
    explore.open(s=text, at="0.2.3").settled()
    texts = check_order(explore)
    assert len([one for one in texts if "“\u2068" in one]) >= 3  # a title, a question, the lines of query and value
    assert explore.box.evaluate("box => getComputedStyle(box).direction") == "rtl"
    compare.open(s=text, s2=text, pos2="as trained", mask2="causal", at="0.2.3").settled()
    assert any("Largest change: “\u2068" in one for one in check_order(compare))
    masks.open(s=text, mask="causal", at="0.2.3").settled()
    assert check_order(masks)


def tokens() -> Iterator[str]:
    yield from (HEBREW, ARABIC, SIGNS, "", " ", "\n\t", "ש<0xD7>", "##א", "🏴\U000e0067\U000e007f", "a\U000e0067")
    for first in (*range(0x3100), *range(0xFB00, 0x10000), *range(0x1F1E6, 0x1F200), *range(0xE0000, 0xE0200)):
        if unicodedata.category(chr(first)) not in ("Cn", "Cs"):
            yield from (chr(first), f"a{chr(first)}", f"\u2066{chr(first)} b")


def test_python_and_javascript_show_a_token_alike(modules: Modules) -> None:
    both = list(tokens())
    assert modules.each("base/token_text.js", both, "m.isolated(row)") == list(map(isolate, both))
    assert modules.each("base/words.js", both[:10], "m.quoted(row)") == list(map(quote, both[:10]))
