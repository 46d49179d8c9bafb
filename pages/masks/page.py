"""Masks page: which tokens may look at which, as rules or painted, with the weights before and after."""

from functools import partial

from pages.frame import view_page
from pages.frame.view import View

show = partial(view_page.show, "masks", View("painter", "masks", "masks/painter.js"))
