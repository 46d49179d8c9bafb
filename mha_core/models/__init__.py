"""Whole models over the attention layers: the stack of blocks and what is built on it."""
