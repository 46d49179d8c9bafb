"""Controls made from the table of fields (`headlight.link.fields`) by key, each bound to the link.

Label, range and default come from the table. Pages pass what depends on a model, on data or on another control.
"""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from headlight.link.fields import FIELDS
from headlight.server.public import NO_FILES, is_public

from .links import BINDING, binding_for


def _rerun_page() -> None:
    """Make the page run again after a change, even if another callback asks for a fragment only.

    Streamlit runs the fragment that a callback asks for instead of the page, unless another callback asks for nothing.
    """


_BINDING: dict[str, Any] = {"bind": BINDING, "on_change": _rerun_page}


def hidden_but_mounted(name: str, is_visible: bool) -> Any:
    """Return a container that stays mounted while hidden, as Streamlit drops the key of an unmounted control."""
    return st.container(key=f"{'seen' if is_visible else 'unseen'}_{name}")


def fold(name: str, label: str, *keys: str, lazy: bool = False, open_now: bool = False) -> Any:
    """Return a collapsible container (st.expander), open at first if the link has one of these keys.

    With `lazy` the page runs again when it opens or closes, and its `open` says which; `open_now` opens a closed one.
    """
    unfolded = st.session_state.setdefault(f"unfolded_{name}", any(key in st.query_params for key in keys))
    is_open = unfolded or open_now
    return st.expander(label, expanded=is_open, key=f"folded_{name}", on_change="rerun" if lazy else "ignore")


def text(key: str, default: str | None = None, *, on_change: Callable[[], None] = _rerun_page, **more: Any) -> str:
    """Show a text field; `more` are arguments of `st.text_input`."""
    field = FIELDS[key]
    start = field.default if default is None else default
    options: dict[str, Any] = {"key": key, "bind": binding_for(key), "on_change": on_change}
    return str(st.text_input(more.pop("label", field.label), start, **options, **more))


def number(key: str, *, label: str = "") -> float:
    """Show a number field and return its value, the default if it is empty."""
    field = FIELDS[key]
    value = st.number_input(label or field.label, *field.range, field.default, field.step, key=key, **_BINDING)
    return float(field.default if value is None else value)


def integer(key: str, *, label: str = "") -> int:
    """Show an integer field and return its value, the default if it is empty."""
    return int(number(key, label=label))


def optional_number(key: str, usual: str, *, upper: float | None = None, **more: Any) -> float | None:
    """Show a number field that may be empty; `usual` is its placeholder."""
    field = FIELDS[key]
    lower, end = field.range
    return st.number_input(
        field.label, lower, end if upper is None else upper, None, key=key, **_BINDING, placeholder=usual, **more
    )


def slider(key: str) -> float:
    """Show a slider and return its value."""
    field = FIELDS[key]
    value: float = st.slider(field.label, *field.range, field.default, field.step, key=key, **_BINDING)
    return value


def choice(key: str, names: Sequence[str] = (), default: str | None = None) -> str:
    """Show a select box and return the selected option; `default` takes the place of the table's."""
    field = FIELDS[key]
    names = list(names or field.choices)
    start = next((index for index, name in enumerate(names) if name == (default or field.default)), 0)
    return str(st.selectbox(field.label, names, start, key=key, **_BINDING) or names[start])


def optional_choice(key: str, usual: str, names: Sequence[str] = ()) -> str | None:
    """Show a select box that may be empty; `usual` is its placeholder."""
    field = FIELDS[key]
    return st.selectbox(field.label, list(names or field.choices), None, key=key, **_BINDING, placeholder=usual)


def segments(key: str, names: Sequence[str] = ()) -> str:
    """Show a segmented control and return the selected option."""
    field = FIELDS[key]
    options = list(names or field.choices)
    value = st.segmented_control(field.label, options, default=field.default, required=True, key=key, **_BINDING)
    return str(value or field.default)


def tabs(key: str) -> tuple[str, dict[str, Any]]:
    """Show tabs; return the name of the open one, and a container for each, which stays mounted while closed."""
    field = FIELDS[key]
    containers = st.tabs(list(field.choices), default=field.default, key=key, **_BINDING)
    names = dict(zip(field.choices, containers, strict=True))
    return next((name for name, place in names.items() if place.open), str(field.default)), names


def pills(key: str) -> list[str]:
    """Show pills for multiple selection and return the selected options in their own order."""
    field = FIELDS[key]
    names = st.pills(field.label, field.choices, selection_mode="multi", default=field.default, key=key, **_BINDING)
    return [name for name in field.choices if name in names]


def multiselect(key: str, names: Sequence[str] = (), **more: Any) -> list[str]:
    """Show a select box for multiple selection; `more` are arguments of `st.multiselect`."""
    field = FIELDS[key]
    return list(
        st.multiselect(field.label, list(names or field.choices), field.default or None, key=key, **_BINDING, **more)
    )


def switch(key: str) -> bool:
    """Show a toggle and return whether it is on."""
    return bool(st.toggle(FIELDS[key].label, FIELDS[key].default, key=key, **_BINDING))


def file(label: str, kinds: list[str], key: str, megabytes: int, on_file: Callable[[bytes | None], None]) -> None:
    """Show a file uploader, or a note on a public server.

    `on_file` gets the bytes, or None when the file is removed.
    """
    if is_public():
        st.caption(NO_FILES)
        return

    def on_change() -> None:
        upload = st.session_state[key]
        on_file(None if upload is None else upload.getvalue())

    st.file_uploader(label, kinds, key=key, on_change=on_change, max_upload_size=megabytes)
