"""The types of all that the browser is told, for its side: `python -m pages.declarations` writes them.

What makes a message names its fields, in a TypedDict beside it, and mypy holds it to them. The file written of these is
assets/web/base/messages.d.ts, by which tsc checks the browser's side; a test compares it with this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from headlight import ROOT

FILE = ROOT / "assets" / "web" / "base" / "messages.d.ts"
MODULES = (
    "mha_core.show.packing", "mha_core.show.html", "pages.frame.view", "pages.frame.canvas",
    "headlight.ui.packing", "headlight.lessons.message", "headlight.lessons.files", "headlight.api.search",
    "pages.explore.message",
    "pages.explore.goes_on", "pages.explore.heads_overview",
    "pages.explore.layer_flow", "pages.explore.long_pictures", "pages.explore.pair_channels", "pages.masks.message",
    "pages.compare.message",
    "pages.compare.orders", "pages.compare.each_head", "pages.shapes.message", "pages.train.film",
    "pages.positions.map_view", "headlight.rooms.messages",
)  # fmt: skip
_HEAD = """// Written by `python -m pages.declarations` of what makes the messages; do not edit.

export type Block = Record<string, any>; // of a sheet: headlight/ui/sheet.py
"""
_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null", dict[str, Any]: "Block"}


def text() -> str:
    found: dict[str, type] = {}
    for module in map(import_module, MODULES):
        found |= {name: one for name, one in vars(module).items() if is_typeddict(one) and name[0] != "_"}
    return _HEAD + "".join(map(_interface, found.values()))


def _interface(message: type) -> str:
    fields = [_field(name, hint) for name, hint in get_type_hints(message, include_extras=True).items()]
    file = message.__module__.replace(".", "/")
    return f"export interface {message.__name__} {{ {' '.join(fields)} }} // {file}.py\n"


def _field(name: str, hint: Any) -> str:
    left_out = get_origin(hint) is NotRequired
    return f"{name}?: {written(get_args(hint)[0])};" if left_out else f"{name}: {written(hint)};"


def written(hint: Any) -> str:
    """A type as TypeScript writes that of its JSON. Raises a TypeError for one that no message has yet."""
    kind, parts = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        return str(hint.__name__)
    if hint in _NAMES:
        return _NAMES[hint]
    if kind is UnionType:
        return " | ".join(map(written, parts))
    if kind is tuple:
        return f"[{', '.join(map(written, parts))}]"
    if kind in (list, Sequence):
        element = written(parts[0])
        return f"({element})[]" if get_origin(parts[0]) is UnionType else f"{element}[]"
    if kind in (dict, Mapping):
        return f"Record<{', '.join(map(written, parts))}>"
    raise TypeError(f"a message cannot have a field of {hint}")


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
