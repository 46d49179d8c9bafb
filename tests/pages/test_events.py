"""Whatever a browser sends as an event of a view or a sheet: nothing raises, and the page goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree

from pages.by_hand import workbook
from pages.kit.draw import events, sheet
from pages.kit.draw.view import Event, View
from pages.kit.picture.fields import DEFAULTS

from .conftest import app_at, component, told_to

NAMES = (
    *("at", "look", "off", "pin", "preset", "compare", "turn", "try", "mask", "w", "rule", "on", "p", "join", "other"),
    *("step", "feature", "part", "value", "edit", "fill", "row", "col", "text", "reset", "lesson", "shuffle", "choice"),
)
DEEP: Any = []
for _ in range(60):
    DEEP = [DEEP]
VALUES: dict[str, Any] = {
    "nothing": None, "true": True, "a number": 3.1, "a large number": 10**6, "negative": -1, "nan": float("nan"),
    "infinity": float("inf"), "huge": 10**400, "list": [], "list of lists": [[], {}, [None]], "dict": {"at": "3.1"},
    "deep": DEEP, "half a character": "\ud800", "half a character behind": "3.1\udfff", "empty": "",
    "script": "<script>", "digits": "9" * 5000, "arabic digits": "٣.١", "root": "root_" * 1_500, "long": "x" * 8_000,
    "nul": "3.1\x00", "space": " 3.1 ", "dots": "3.1.1.1.1", "elsewhere": "99.99",
}  # fmt: skip
EVENTS: dict[str, Any] = {name: dict.fromkeys(NAMES, value) for name, value in VALUES.items()} | {
    "no event": None, "a text": "act", "a list": [1, 2], "no values": {},
    "10,000 keys": {str(number): number for number in range(10_000)},
    "a tampered mask": {"on": "none", "p": 3},
    "a list as a rule": {"join": "and", "other": ["causal"]},
    "a list as a join": {"join": ["and"], "other": "nothing"},
    "a list as a mask": {"mask": ["causal"], "w": 3},
    "an edit in no row": {"edit": "x", "row": 10**400, "col": True, "text": "1"},
    "an edit with a list": {"edit": "x", "row": 0, "col": 0, "text": ["1"]},
    "an endless edit": {"edit": "x", "row": 0, "col": 0, "text": "1" * 300_000},
    "half an edit": {"edit": "x", "row": 0, "col": 0, "text": "\udc00"},
    "a reset of everything": {"reset": [[], {}, None, "nothing"]},
    "a part of nothing": {"part": "query", "value": 10**400},
    "a part of a list": {"part": ["key"], "value": [1]},
}  # fmt: skip
# a page, the link it is opened with, and what on it sends events
PLACES = [
    ("explore", {"s": "how are you"}, "maps"),
    ("positions", {"s": "how are you"}, "portraits_head"),
    ("positions", {"s": "how are you"}, "encodings_view"),
    ("by-hand", {}, "hand"),
    ("by-hand", {"ex": "a real cell", "at": "3.1.2.1"}, "hand"),
    ("train", {"task": "who did what", "tab": "Report"}, "verdicts"),
]
SHEETS = {"portraits_head", "hand", "verdicts"}
REST = "The same events to the other views and sheets, each of which opens a page."


def of_places(*, sheets: bool, quick: str) -> list[Any]:
    """The views or the sheets, of which one alone belongs to the quick run."""
    return [
        pytest.param(*place, marks=[] if place[-1] == quick and place[0] != "train" else pytest.mark.thorough(REST))
        for place in PLACES
        if (place[-1] in SHEETS) == sheets
    ]


def opened(page: str, **values: str) -> AppTest:
    return app_at(page, **values).run()


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


def said(app: AppTest) -> dict[str, Any]:
    """What every control says, and the link of what none holds."""
    assert not app.exception
    link = {key: app.query_params[key] for key in DEFAULTS if key in app.query_params}
    return link | {key: app.session_state[key] for key in app.session_state if key in DEFAULTS}


def unchanged(app: AppTest, before: dict[str, Any], after: str) -> None:
    """Every control says what it said, or what it says by default."""
    for key, value in said(app).items():
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


@pytest.mark.parametrize(("page", "link", "view"), of_places(sheets=False, quick="maps"))
def test_no_event_breaks_a_page(
    shipped: object, taken: list[Event], page: str, link: dict[str, str], view: str
) -> None:
    app = opened(page, **link)
    before = said(app)
    names = [name for name, event in EVENTS.items() if isinstance(event, dict)]
    for some in in_five(names):
        act(app, view, {"each": [EVENTS[name] for name in some]})
        unchanged(app, before, str(some))
    for name in ("no event", "a text", "a list", "huge"):  # each in a message of its own, as from a browser
        act(app, view, EVENTS[name])
        unchanged(app, before, name)
    assert len(taken) >= len(names)
    assert not app.run().exception


@pytest.mark.parametrize(("page", "link", "view"), of_places(sheets=True, quick="hand"))
def test_no_wish_breaks_a_page(shipped: object, page: str, link: dict[str, str], view: str) -> None:
    """A sheet has its wishes in a list: each of them, some with a turn that is none; then what is no list."""
    app = opened(page, **link)
    before = said(app)
    wishes: list[Any] = [{"turn": turn, "event": event} for turn, event in enumerate(EVENTS.values(), 1)]
    no_turns: list[Any] = [[], True, 10**400]
    wishes += [None, 3, *({"turn": turn, "event": {"edit": "x"}} for turn in no_turns)]
    for value in (*in_five(wishes), "text", 3.1, [VALUES], [[]], [None] * 10_000):
        act(app, view, {"wishes": value})
        unchanged(app, before, str(value)[:80])
    assert not app.run().exception


def test_usual_events_still_do_what_they_say() -> None:
    app = opened("by-hand")
    act(app, "hand", wish(1, {"edit": "s", "row": 0, "col": 1, "text": "0.9"}))
    assert said(app)["m"].startswith("s_0.5_0.9")
    app = opened("by-hand", ex="a real cell")
    act(app, "hand", wish(1, {"part": "layer", "value": 2}))
    assert said(app)["at"] == "2.1.10"
    app = act(opened("positions"), "portraits_head", wish(1, {"preset": "ALiBi and T5"}))
    assert said(app)["enc"] == "alibi"
    told = component(app, "sheet", "told")
    assert told_to(told)["blocks"][0] == sheet.notices([]), "no word of the event stays on the page"


def test_an_event_whose_callback_is_cut_short_happens_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer message ends a callback wherever it asks for the session; the browser then sends the event once more."""
    app, changed = opened("by-hand"), workbook.changed

    def cut_short(*_: Any) -> None:
        raise InterruptedError

    edit = {"edit": "s", "row": 0, "col": 1, "text": "0.9"}
    monkeypatch.setattr(workbook, "changed", cut_short)
    act(app, "hand", wish(1, edit))
    assert app.exception
    monkeypatch.setattr(workbook, "changed", changed)
    act(app.run(), "hand", wish(1, edit))
    assert said(app)["m"].startswith("s_0.5_0.9")


def test_readers_take_their_own_kind_alone() -> None:
    for value in VALUES.values():
        text, whole = events.text({"a": value}, "a"), events.whole({"a": value}, "a")
        assert text is None or (text is value and isinstance(text.encode(), bytes))
        assert whole is None or (type(whole) is int and whole is value)
    assert (events.text({"a": "3.1"}, "a"), events.whole({"a": -1}, "a")) == ("3.1", -1)
    assert (events.text({"a": 3}, "a"), events.text({"a": "\ud800"}, "a"), events.whole({"a": True}, "a")) == (
        None,
    ) * 3
    assert (events.text({}, "a"), events.whole({}, "a")) == (None, None)
    for length, largest, usable in ((3000, 2**53 - 1, True), (3001, 2**53, False)):
        assert (events.text({"a": "x" * length}, "a") is not None) == usable
        assert (
            (events.whole({"a": largest}, "a") is not None)
            == (events.whole({"a": -largest}, "a") is not None)
            == usable
        )
