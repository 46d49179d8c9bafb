"""Saved runs: a folder with run.json (the history), tokenizer.json and model.safetensors. No pickle.

A run that is read may come from a stranger: `bounds` limits its files and what they list.
"""

from .bounds import FILES, LARGEST, LARGEST_HEADER, LARGEST_PACKED, MOST_STEPS, MOST_VALUES, RUN, TOKENIZER, shapes
from .folder import pack, read, read_stack, read_tokenizer, save, unpack

__all__ = [
    "FILES",
    "LARGEST",
    "LARGEST_HEADER",
    "LARGEST_PACKED",
    "MOST_STEPS",
    "MOST_VALUES",
    "RUN",
    "TOKENIZER",
    "pack",
    "read",
    "read_stack",
    "read_tokenizer",
    "save",
    "shapes",
    "unpack",
]
