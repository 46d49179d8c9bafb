"""Masks page."""
