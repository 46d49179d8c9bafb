"""TypeScript declarations of all messages to the browser: `python -m pages.declarations` writes them.

Each message is a TypedDict beside the function that builds it, which mypy checks. tsc checks the browser's modules
against assets/web/base/messages.d.ts; a test compares that file with `text`.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from headlight import ROOT

FILE = ROOT / "assets" / "web" / "base" / "messages.d.ts"
MODULES = (
    "mha_core.show.packing", "mha_core.show.html", "pages.frame.view", "pages.frame.canvas", "pages.frame.controls",
    "headlight.picture.next_token", "headlight.ui.packing", "headlight.lessons.message", "headlight.lessons.files",
    "headlight.api.search",
    "pages.explore.handlers", "pages.explore.language_model", "pages.explore.heads_overview",
    "pages.explore.layer_flow", "pages.explore.long_pictures", "pages.explore.pair_channels",
    "pages.explore.residual_stream", "pages.explore.lens", "pages.explore.kv_cache", "pages.masks.message",
    "pages.compare.handlers", "pages.model_map.message", "pages.compare.orders", "pages.compare.ablations",
    "pages.shapes.handlers", "pages.train.film", "pages.positions.map_view", "headlight.rooms.messages",
)  # fmt: skip
_HEAD = """// Written by `python -m pages.declarations` of what makes the messages; do not edit.

export type Block = Record<string, any>; // of a sheet: headlight/ui/sheet.py
"""
_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null", dict[str, Any]: "Block"}


def text() -> str:
    """Return the contents of the file."""
    types: dict[str, type] = {}
    for module in map(import_module, MODULES):
        types |= {name: item for name, item in vars(module).items() if is_typeddict(item) and name[0] != "_"}
    return _HEAD + "".join(map(_interface, types.values()))


def _interface(message: type) -> str:
    fields = [_field(name, hint) for name, hint in get_type_hints(message, include_extras=True).items()]
    file = message.__module__.replace(".", "/")
    return f"export interface {message.__name__} {{ {' '.join(fields)} }} // {file}.py\n"


def _field(name: str, hint: Any) -> str:
    is_optional = get_origin(hint) is NotRequired
    return f"{name}?: {ts_type(get_args(hint)[0])};" if is_optional else f"{name}: {ts_type(hint)};"


def ts_type(hint: Any) -> str:
    """Return a type of Python as the TypeScript type of its JSON. Raises a TypeError for an unsupported one."""
    kind, parts = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        return str(hint.__name__)
    if hint in _NAMES:
        return _NAMES[hint]
    if kind is UnionType:
        return " | ".join(map(ts_type, parts))
    if kind is tuple:
        return f"[{', '.join(map(ts_type, parts))}]"
    if kind in (list, Sequence):
        element = ts_type(parts[0])
        return f"({element})[]" if get_origin(parts[0]) is UnionType else f"{element}[]"
    if kind in (dict, Mapping):
        return f"Record<{', '.join(map(ts_type, parts))}>"
    raise TypeError(f"a message cannot have a field of {hint}")


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
