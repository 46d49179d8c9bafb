"""Attention masks as rules: expressions over the query index i and the key index j.

A rule takes integer tensors i (len_q, 1) and j (1, len_k), counted from 0 with special tokens, and returns a bool
tensor, True = query i may attend to key j. Rules compose with `both`, `either` and `invert`; `allow` makes the tensor,
and `parse` reads the expression of a rule, such as "causal & window:3".
"""

from .rules import (
    Rule,
    both,
    causal,
    cells,
    dilated,
    documents,
    either,
    full,
    invert,
    prefix,
    sinks,
    split,
    unseen,
    window,
)
from .syntax import parse
from .tensor import allow, check, to_four_axes

__all__ = [
    "Rule",
    "allow",
    "both",
    "causal",
    "cells",
    "check",
    "dilated",
    "documents",
    "either",
    "full",
    "invert",
    "parse",
    "prefix",
    "sinks",
    "split",
    "to_four_axes",
    "unseen",
    "window",
]
