"""Implementations page."""
