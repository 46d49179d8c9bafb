"""Anything may be typed or sent: it is shown as text, nothing in it runs or is loaded, and every limit is named."""

from __future__ import annotations

from playwright.sync_api import expect

from mha_core.token_text import isolate

from .explore_page import Explore
from .measures import scrolls_sideways

EVIL = [
    "<script>window.ran = 1</script>",
    "<img src=x onerror=window.ran=1>",
    "<iframe srcdoc='<script>parent.ran = 1</script>'></iframe>",
    "<svg/onload=window.ran=1> <b>bold</b> <a href=https://example.org>a</a>",
    "![alt](https://example.org/a.png) [link](javascript:window.ran=1) **bold** `code` # head",
    "$\\frac{1}{2}$ and $$x^2$$ :material/home: :red[red] &lt;b&gt; \\\\n",
    "~ a~b~c~d~e~f ~",
]
ODD = [
    "I ❤️ 👩‍👩‍👧‍👦 and 🏳️‍🌈 it 😀",
    "שלום עולם it مرحبا بالعالم",
    "\u202eevil it \u202c\u2066 hidden \u2069",
    "Z\u0351\u036b\u0343\u036aa\u0322l\u0328g\u0489o\u0337 it e\u0301",
    "日本語 한국어 ไทย it",
    "\ufffd \u200b\u200d\ufeff it",
]
LOADED = "iframe, .view img, .view script, .view svg:not(.icon), .view b, .view a:not(.page-link)"


def test_code_and_any_script_are_text(explore: Explore) -> None:
    explore.open(s=EVIL[0], pin=f"3.1~none~trained~1~~{EVIL[1]}", look="table")
    for text in [" ".join(EVIL), " ".join(ODD)]:
        run = explore.typed(text)
        labels = [isolate(token) for token in run.tokens]
        assert explore.chips() == labels
        expect(explore.box).to_have_value(text)
        # up to 64 tokens the whole map, then the row in focus by weight: position, key, weight
        listed = {int(row[0]): row[1] for row in explore.table()} if len(run.tokens) > 64 else None
        heads = [row[0] for row in explore.table()] if listed is None else [listed[at] for at in sorted(listed)]
        assert heads == labels
        assert scrolls_sideways(explore.page) == 0
    assert explore.page.evaluate("window.ran") is None
    assert explore.page.locator(LOADED).count() == 0
    # NUL and half characters from a link
    explore.visit(f"{explore.url}/?s=a%00b%20%ED%A0%80%20it%FF")
    assert (explore.chips()[0], explore.chips()[-1]) == ("[CLS]", "[SEP]")
