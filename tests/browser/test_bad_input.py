"""Anything may be typed or sent: it is shown as text, nothing in it runs or is loaded, and every limit is named."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .expected import TIRED
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
        assert explore.chips() == run.tokens
        expect(explore.box).to_have_value(text)
        # up to 64 tokens the whole map, then the row in focus by weight: position, key, weight
        listed = {int(row[0]): row[1] for row in explore.table()} if len(run.tokens) > 64 else None
        heads = [row[0] for row in explore.table()] if listed is None else [listed[at] for at in sorted(listed)]
        assert heads == run.tokens
        assert scrolls_sideways(explore.page) == 0
    assert explore.page.evaluate("window.ran") is None
    assert explore.page.locator(LOADED).count() == 0
    # NUL and half characters from a link
    explore.visit(f"{explore.url}/?s=a%00b%20%ED%A0%80%20it%FF")
    assert (explore.chips()[0], explore.chips()[-1]) == ("[CLS]", "[SEP]")


@pytest.mark.thorough("texts of 500 tokens and 100,000 letters; what is said of them is tested in tests/pages too")
def test_a_text_beyond_a_limit_stays_to_be_shortened_and_an_empty_box_keeps_its_maps(explore: Explore) -> None:
    notices = explore.view.locator(".notices p")
    explore.open()
    explore.typed("x" * 1500)
    explore.typed(TIRED)
    text = "x" * 99_999 + "y"
    explore.box.fill(text)
    expect(notices).to_have_text(
        [
            "A sentence may have 12,000 characters, this one has 24,000 or more; shorten it. "
            f"Below: the text before, “{TIRED}”.",
            "The sentence had 100,000 characters; the first 24,000 are kept.",
            "The full link would be longer than 6,000 bytes, so it omits the sentence.",
        ]
    )
    expect(explore.box).to_have_value(text[:24_000])
    explore.shows()
    explore.typed("short again")
    expect(notices).to_have_count(0)
    explore.box.fill("a b " * 276)
    expect(notices.first).to_contain_text(
        "This text has 554 tokens; the model can read 512. Remove about 42 words. "
        "Below: the text before, “short again”."
    )
    explore.clicked("cut it to what fits", ("a b " * 276)[:1019])
    expect(explore.button("cut it to what fits")).to_be_hidden()
    text = "it is long " * 1100
    explore.box.fill(text)
    expect(notices.first).to_contain_text("A sentence may have 12,000 characters, this one has 12,100; shorten it.")
    expect(explore.box).to_have_value(text)

    explore.typed("how are you")
    for text in ("", "   "):
        explore.box.fill(text)
        explore.wait_for_query(s=[text])
        explore.shows("how are you")
        expect(explore.view.locator(".empty")).to_be_visible()
    explore.page.reload()
    explore.shows()  # the first of the sentences that are offered
    expect(explore.box).to_have_value("   ")
    expect(explore.view.locator(".empty")).to_be_visible()
