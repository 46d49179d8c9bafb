"""Exports of a picture: code that recomputes it, a notebook, facts on it."""
