"""Whatever a browser sends as an event of a view or a sheet: nothing raises, and the page goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree

from headlight.link.fields import DEFAULTS
from pages.frame.view import Event, View

from .conftest import app_at

NAMES = (
    *("at", "look", "off", "pin", "preset", "compare", "turn", "try", "mask", "w", "rule", "on", "p", "join", "other"),
    *("step", "feature", "part", "value", "edit", "fill", "row", "col", "text", "reset", "lesson", "shuffle", "choice"),
)
DEEP: Any = []
for _ in range(60):
    DEEP = [DEEP]
VALUES: dict[str, Any] = {
    "nothing": None, "true": True, "a number": 3.1, "negative": -1, "nan": float("nan"), "huge": 10**400,
    "list of lists": [[], {}, [None]], "dict": {"at": "3.1"}, "deep": DEEP, "half a character": "\ud800", "empty": "",
    "script": "<script>", "arabic digits": "٣.١", "long": "x" * 8_000, "nul": "3.1\x00", "elsewhere": "99.99",
}  # fmt: skip
EVENTS: dict[str, Any] = {name: dict.fromkeys(NAMES, value) for name, value in VALUES.items()} | {
    "no event": None, "a text": "act", "a list": [1, 2], "no values": {},
    "10,000 keys": {str(number): number for number in range(10_000)},
    "a tampered mask": {"on": "none", "p": 3},
    "a list as a rule": {"join": "and", "other": ["causal"]},
    "an edit in no row": {"edit": "x", "row": 10**400, "col": True, "text": "1"},
    "an endless edit": {"edit": "x", "row": 0, "col": 0, "text": "1" * 300_000},
    "a reset of everything": {"reset": [[], {}, None, "nothing"]},
    "a part of nothing": {"part": "query", "value": 10**400},
}  # fmt: skip


def act(app: AppTest, view: str, event: Any) -> AppTest:
    """Sends an event as the browser does: as a trigger beside the state of every control."""
    (own,) = [one.proto.id for one in app.get("bidi_component") if one.proto.id.endswith(f"-{view}")]
    collect = ElementTree.get_widget_states

    def with_event(tree: ElementTree) -> WidgetStates:
        states = collect(tree)
        trigger = states.widgets.add()
        trigger.id = f"$$STREAMLIT_INTERNAL_KEY_{own}__events"
        trigger.json_trigger_value = json.dumps([{"event": "act", "value": event}])
        return states

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ElementTree, "get_widget_states", with_event)
        return app.run()


def wish(turn: int, event: Any) -> Any:
    return {"wishes": [{"turn": turn, "event": event}]}


def control_values(app: AppTest) -> dict[str, Any]:
    """What every control says, and the link of what none holds."""
    assert not app.exception
    link = {key: app.query_params[key] for key in DEFAULTS if key in app.query_params}
    return link | {key: app.session_state[key] for key in app.session_state if key in DEFAULTS}


def unchanged(app: AppTest, before: dict[str, Any], after: str) -> None:
    """Every control says what it said, or what it says by default."""
    for key, value in control_values(app).items():
        assert value in (before.get(key), DEFAULTS[key]), (after, key, value)
    assert not app.error, after


def in_five(some: list[Any]) -> list[list[Any]]:
    """In five parts: the size of a message is bounded."""
    return [some[start::5] for start in range(5)]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Has a view take each of the events that one message brings, and the page drawn once after them: those taken."""
    show, events_taken = View.show, list[Event]()

    def patiently(self: View, state: dict[str, Any], takes: Callable[[Event], None] | None = None) -> None:
        def take_each(message: Event) -> None:
            for event in message.get("each", [message]):
                assert takes is not None
                takes(event)
                events_taken.append(event)

        show(self, state, take_each)

    monkeypatch.setattr(View, "show", patiently)
    return events_taken


def test_no_event_of_a_view_breaks_its_page(taken: list[Event]) -> None:
    app = app_at("explore", s="how are you").run()
    before = control_values(app)
    names = [name for name, event in EVENTS.items() if isinstance(event, dict)]
    for some in in_five(names):
        act(app, "maps", {"each": [EVENTS[name] for name in some]})
        unchanged(app, before, str(some))
    for name in ("no event", "a text", "a list", "huge"):  # each in a message of its own, as from a browser
        act(app, "maps", EVENTS[name])
        unchanged(app, before, name)
    assert len(taken) >= len(names)
    assert not app.run().exception


def test_no_wish_of_a_sheet_breaks_its_page() -> None:
    """A sheet has its wishes in a list: each of them, some with a turn that is none; then what is no list."""
    app = app_at("by-hand").run()
    before = control_values(app)
    wishes: list[Any] = [{"turn": turn, "event": event} for turn, event in enumerate(EVENTS.values(), 1)]
    no_turns: list[Any] = [[], True, 10**400]
    wishes += [None, 3, *({"turn": turn, "event": {"edit": "x"}} for turn in no_turns)]
    for value in (*in_five(wishes), "text", 3.1, [VALUES], [[]], [None] * 10_000):
        act(app, "hand", {"wishes": value})
        unchanged(app, before, str(value)[:80])
    assert not app.run().exception
