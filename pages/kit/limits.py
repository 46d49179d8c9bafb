"""What the controls offer, and how much a visitor may ask for."""

from __future__ import annotations

__all__ = ["LONGEST_TEXT", "POSITIONS", "TEMPERATURES", "WIDEST_WINDOW"]

LONGEST_TEXT = 2000  # characters
POSITIONS = {"as trained": "trained", "none": "none", "sinusoidal": "sinusoidal"}  # in the control -> in the core
TEMPERATURES = (0.1, 5.0)
WIDEST_WINDOW = 512
