"""What is changed in the model of By hand, in a few words, known before the controls are made."""

from mha_core.errors import HeadlightError
from pages.kit.frame import links
from pages.kit.frame.picture_page import PicturePage
from pages.kit.picture import words


def label(page: PicturePage) -> str:
    """What the fold says while it is closed: "Change the model (causal mask, 1 head off)"."""
    try:
        changed = words.label(links.asked().settings(text="-"), page.model)
    except HeadlightError:  # what cannot be used is told below
        return "Change the model"
    return f"Change the model ({changed})"
