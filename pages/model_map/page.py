"""The model page: the boxes of the model, each with story, numbers, formula and code."""

from functools import partial

from pages.frame import view_page
from pages.frame.view import View

show = partial(view_page.show, "model_map", View("model_map", "model_map", "model_map/model_map.js"))
