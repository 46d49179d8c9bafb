"""The page Compare: one sentence under two settings, or two sentences, and their difference."""

from functools import partial

from pages.frame import view_page
from pages.frame.view import View

show = partial(view_page.show, "compare", View("pair_view", "pair", "compare/pair.js"))
