"""What the controls offer, and how much a visitor may ask for."""

from __future__ import annotations

__all__ = ["LONGEST_TEXT", "MOST_WORDS", "POSITIONS", "TEMPERATURES", "WIDEST_WINDOW"]

LONGEST_TEXT = 2000  # characters
MOST_WORDS = 8  # of a sentence worked by hand
MOST_FEATURES = 4096  # of a head, that a link may name
POSITIONS = {"as trained": "trained", "none": "none", "sinusoidal": "sinusoidal"}  # in the control -> in the core
TEMPERATURES = (0.1, 5.0)
WIDEST_WINDOW = 512
