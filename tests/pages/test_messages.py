"""The fields of every message to the browser are those of assets/web/base/messages.d.ts, no more and no fewer."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from streamlit.testing.v1 import AppTest

from mha_core.show import html
from pages.kit.draw.web import FOLDER
from pages.kit.lessons.files import handout
from pages.kit.picture import pictures
from pages.kit.picture.settings import Settings
from pages.kit.wire import routes

from .conftest import ROUTE_OF, answers, app_at, components, control, told_to, unpacked

INTERFACE = re.compile(r"^export interface (\w+)(?: extends (\w+))? \{\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"^  (\w+)(\??): (.+?);", re.M)
NAMED = re.compile(
    r"^\(?([A-Z]\w+)(?: \| null\))?(\[\])*$|^\[([A-Z]\w+),.*\]$"
)  # Card[], (FilmProbe | null)[], [Side, Side]


def interfaces() -> dict[str, dict[str, tuple[bool, str]]]:
    """Interface -> field -> whether it may be left out, and its type."""
    found: dict[str, dict[str, tuple[bool, str]]] = {}
    for name, parent, body in INTERFACE.findall((FOLDER / "base" / "messages.d.ts").read_text("utf-8")):
        own = {field: (bool(optional), kind) for field, optional, kind in FIELD.findall(body)}
        found[name] = {**found.get(parent, {}), **own}
    return found


INTERFACES = interfaces()
ANY = {"Block"}  # a block of a sheet has the fields of its kind
# The interface of a message, its page, the name of the component, the link. "maps 1": the second part of what the wire
# answers this component.
MESSAGES = [
    ("FilmState", "train", "film", {"task": "who did what", "tab": "Film"}),
    ("FilmsHeader", "train", "film 0", {"task": "who did what", "tab": "Film"}),
    ("EncodingsState", "positions", "encodings", {}),
    ("SheetState", "by-hand", "sheet", {}),
]


def sent(app: AppTest, name: str) -> dict[str, Any]:
    """The header of the first message to a component, or of a part of what the wire answers it."""
    name, _, part = name.partition(" ")
    if part:
        return unpacked(answers(ROUTE_OF[name], control(app, name)["query"])[int(part)])[0]
    first = components(app, name)[0]
    header: dict[str, Any] = unpacked(first.bytes)[0] if first.bytes else told_to(first)
    return header


def check(value: Any, interface: str) -> None:
    """Every field of the value is named, every field named is there, down to the messages within."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, list) or one is None:
            check(one or [], interface)
            continue
        fields = INTERFACES[interface]
        needed = {name for name, (optional, _) in fields.items() if not optional}
        assert needed <= set(one), interface
        assert interface in ANY or set(one) <= set(fields), interface
        for name, (_, kind) in fields.items():
            within = NAMED.match(kind)
            if within and name in one:
                check(one[name], within[1] or within[3])


@pytest.mark.parametrize(("interface", "page", "component", "link"), MESSAGES, ids=[name for name, *_ in MESSAGES])
def test_a_message_has_the_fields_that_are_named(
    shipped: object, interface: str, page: str, component: str, link: dict[str, str]
) -> None:
    app = app_at(page, **{"s": "how are you", **link} if page != "by-hand" else {}).run()
    assert not app.exception
    check(sent(app, component), interface)


# The interface of a message of a page that a view owns, its route and the part of the answer, the link.
ANSWERS = [
    ("Picture", "maps 0", {"pin": "0.2.3~causal~none~0.5~1.1-0.0~how are you"}),
    ("Maps", "maps 1", {}),
    ("Masks", "masked 0", {"mask": "dilated"}),
    ("Masks", "entered 0", {}),
    ("Pair", "pair 0", {}),
    ("Pair", "begun 0", {"mask": "causal"}),
    ("StepsPicture", "steps 0", {}),
    ("TraceHeader", "steps 1", {}),
]
JSON = [("MaskOutcomes", "outcomes"), ("Shuffled", "shuffled"), ("HeadCosines", "each"), ("ReshapeLesson", "reshape")]


@pytest.mark.parametrize(("interface", "route", "link"), ANSWERS)
def test_an_answer_has_the_fields_that_are_named(interface: str, route: str, link: dict[str, str]) -> None:
    name, _, part = route.partition(" ")
    check(unpacked(answers(name, urlencode({"s": "how are you", **link}))[int(part)])[0], interface)


@pytest.mark.parametrize(("interface", "route"), JSON)
def test_an_answer_in_json_has_the_fields_that_are_named(interface: str, route: str) -> None:
    check(json.loads(routes.answer(route, b"s=how+are+you")), interface)


def test_what_is_told_of_a_run_in_a_file_and_of_a_lesson_on_paper() -> None:
    run = pictures.picture(Settings("how are you")).run
    _, parts = unpacked(html.message(run, html.described(run), [(0, 0)]))
    check(unpacked(parts)[0], "StandaloneRun")
    check(unpacked(handout(b"lesson=it"))[0], "Handout")


def test_every_interface_is_a_message_or_a_part_of_one() -> None:
    reached = {name for name, *_ in MESSAGES} | {name for name, *_ in ANSWERS} | {name for name, _ in JSON}
    reached |= {"StandaloneRun", "Handout", "Turns", "Answered"}
    for _ in INTERFACES:
        kinds = [kind for name in reached for _, kind in INTERFACES[name].values()]
        reached |= {found[1] or found[3] for found in map(NAMED.match, kinds) if found}
    assert reached == set(INTERFACES)
