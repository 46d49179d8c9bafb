"""Quantities, the names in rules; `scene` evaluates them for the picture of a page."""
