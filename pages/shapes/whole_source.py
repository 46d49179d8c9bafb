"""A class as it stands in its file, and below it every function and class of the attention package that it uses."""

import ast
import inspect
import sys
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

_OURS = "mha_core.attention."
_LEFT_OUT = {"Switches", "KVCache", "AttentionLayer"}  # what a pass is given, which says nothing of how it is computed


@lru_cache(maxsize=32)
def whole_source(kind: Callable[..., Any]) -> str:
    """The lines of a class or function, then those of all that it calls, each once and in the order of the calls."""
    return "\n\n\n".join(inspect.getsource(part).rstrip() for part in (kind, *called(kind)))


def called(kind: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The functions and classes of the attention package that one names, and those that these name."""
    found: dict[Callable[..., Any], None] = {}
    waiting = [kind]
    while waiting:
        for other in _called_by(waiting.pop(0)):
            if other is not kind and other not in found:
                found[other] = None
                waiting.append(other)
    return list(found)


def _called_by(one: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Those whose names stand in its lines, as its module knows them, in order."""
    names = [node for node in ast.walk(ast.parse(inspect.getsource(one))) if isinstance(node, ast.Name)]
    places = sorted((name.lineno, name.col_offset, name.id) for name in names)
    known = (vars(sys.modules[one.__module__]).get(name) for _, _, name in places if name not in _LEFT_OUT)
    return [other for other in known if isinstance(other, (type, FunctionType)) and other.__module__.startswith(_OURS)]
