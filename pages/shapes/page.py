"""The page Shapes: every tensor of a layer in any implementation, and two implementations side by side."""

from functools import partial

from pages.frame import view_page
from pages.frame.view import View

show = partial(view_page.show, "shapes", View("step_view", "steps", "shapes/steps.js"))
