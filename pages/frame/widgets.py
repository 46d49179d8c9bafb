"""Controls made from the table of fields (`headlight.link.fields`) by their key, each bound to the link.

Label, range and default come from the table. What a page must add is what the table cannot know: choices that depend on
a model or on data, and a label that depends on another control.
"""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from headlight.link.fields import FIELDS
from headlight.server.public import NO_FILES, is_public

from .links import BOUND, bound


def _whole_page() -> None:
    """Has the page run for what was chosen, also where `canvas.rerun_when` asks for a part of it at the same time.

    Streamlit runs what one callback asks for in place of the page, unless another callback asks for nothing.
    """


_OF_LINK: dict[str, Any] = {"bind": BOUND, "on_change": _whole_page}


def hidden_but_mounted(name: str, shown: bool) -> Any:
    """A place that is hidden, yet mounted: Streamlit drops the part of the address of a control that is not."""
    return st.container(key=f"{'seen' if shown else 'unseen'}_{name}")


def folded(name: str, label: str, *keys: str, lazy: bool = False) -> Any:
    """A place that the visitor unfolds; it is unfolded at first where the link says something of one of these keys.

    `lazy`: the page runs again when it is unfolded, and its `open` says whether it is.
    """
    unfolded = st.session_state.setdefault(f"unfolded_{name}", any(key in st.query_params for key in keys))
    return st.expander(label, expanded=unfolded, key=f"folded_{name}", on_change="rerun" if lazy else "ignore")


def text(key: str, default: str | None = None, *, on_change: Callable[[], None] = _whole_page, **more: Any) -> str:
    """A text; `more` are arguments of `st.text_input`."""
    field = FIELDS[key]
    start = field.default if default is None else default
    return str(
        st.text_input(more.pop("label", field.label), start, key=key, bind=bound(key), on_change=on_change, **more)
    )


def number(key: str, *, label: str = "") -> float:
    """A number; its default when the field is empty."""
    field = FIELDS[key]
    value = st.number_input(label or field.label, *field.range, field.default, field.step, key=key, **_OF_LINK)
    return float(field.default if value is None else value)


def whole(key: str, *, label: str = "") -> int:
    """A whole number; its default when the field is empty."""
    return int(number(key, label=label))


def optional_number(key: str, usual: str, *, most: float | None = None, **more: Any) -> float | None:
    """A number whose empty field means what is usual."""
    field = FIELDS[key]
    least, end = field.range
    return st.number_input(
        field.label, least, end if most is None else most, None, key=key, **_OF_LINK, placeholder=usual, **more
    )


def slider(key: str) -> float:
    field = FIELDS[key]
    value: float = st.slider(field.label, *field.range, field.default, field.step, key=key, **_OF_LINK)
    return value


def choice(key: str, names: Sequence[str] = ()) -> str:
    field = FIELDS[key]
    names = list(names or field.choices)
    start = names.index(field.default) if field.default in names else 0
    return str(st.selectbox(field.label, names, start, key=key, **_OF_LINK) or names[start])


def optional_choice(key: str, usual: str, names: Sequence[str] = ()) -> str | None:
    """One out of a list; the empty field means what is usual."""
    field = FIELDS[key]
    return st.selectbox(field.label, list(names or field.choices), None, key=key, **_OF_LINK, placeholder=usual)


def segments(key: str, names: Sequence[str] = ()) -> str:
    """One out of a few that are all in sight."""
    field = FIELDS[key]
    offered = list(names or field.choices)
    chosen = st.segmented_control(field.label, offered, default=field.default, required=True, key=key, **_OF_LINK)
    return str(chosen or field.default)


def tabs(key: str) -> tuple[str, dict[str, Any]]:
    """Tabs: the name of the open one, and a place for each by its name; what a closed one holds stays mounted."""
    field = FIELDS[key]
    places = st.tabs(list(field.choices), default=field.default, key=key, **_OF_LINK)
    names = dict(zip(field.choices, places, strict=True))
    return next((name for name, place in names.items() if place.open), str(field.default)), names


def pills(key: str) -> list[str]:
    """Several out of a few that are all in sight, in their own order."""
    field = FIELDS[key]
    chosen = st.pills(field.label, field.choices, selection_mode="multi", default=field.default, key=key, **_OF_LINK)
    return [name for name in field.choices if name in chosen]


def several(key: str, names: Sequence[str] = (), **more: Any) -> list[str]:
    field = FIELDS[key]
    return list(
        st.multiselect(field.label, list(names or field.choices), field.default or None, key=key, **_OF_LINK, **more)
    )


def switch(key: str) -> bool:
    return bool(st.toggle(FIELDS[key].label, FIELDS[key].default, key=key, **_OF_LINK))


def file(label: str, kinds: list[str], key: str, megabytes: int, take: Callable[[bytes | None], None]) -> None:
    """A file of the visitor's: `take` gets its bytes, None when it was taken away. A public server has none."""
    if is_public():
        st.caption(NO_FILES)
        return

    def changed() -> None:
        left = st.session_state[key]
        take(None if left is None else left.getvalue())

    st.file_uploader(label, kinds, key=key, on_change=changed, max_upload_size=megabytes)
