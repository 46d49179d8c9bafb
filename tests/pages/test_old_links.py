"""Links of every version still open what they opened: those of version 1 were recorded with the code of 2026-11-22."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from headlight.link import link_version
from headlight.link.fields import DEFAULTS
from headlight.picture.link_query import LinkQuery

from .conftest import answers, app_at, payloads, unpacked

NEWER = {  # keys that no link of that day has
    "word", "tab", "three", "mean", "kin", "view", "tbias", "tdrop", "qs", "kv", "nk", "wv", "draw", "aat", "claim",
    "say", "lw", "biases", "drop", "find", "cand2", "only", "true", "said", "sort", "desc", "one",
    "unheard", "unheard2", "learn", "wrote", "model2", "at2", "box", "depth",
}  # fmt: skip
GONE = {"ratio", "apart", "longer", "sweep", "diff"}  # of controls that went: a link opens the same without
VERSIONS = {1: "old_links.json"}  # of the link format -> the links that were recorded of it
# page that a view owns -> the route of its picture
ROUTES = {"explore": "maps", "compare": "pair", "masks": "masks", "shapes": "steps"}
RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name(VERSIONS[1]).read_text("utf-8"))


def on_pages(*, owned: bool) -> list[str]:
    """The links of pages that a view owns, or of the others."""
    return [name for name, link in RECORDED["links"].items() if (link["page"] in ROUTES) == owned]


def test_a_link_of_a_view_shows_the_picture_that_it_showed() -> None:
    for name in on_pages(owned=True):
        link = RECORDED["links"][name]
        raw = urlencode(link["asked"], doseq=True)
        header, _ = unpacked(answers(ROUTES[link["page"]], raw)[0])
        assert [header["digest"]] == link["digests"], name
        assert {key: header[key] for key in link["place"]} == link["place"], name
        query = LinkQuery(raw.encode())
        for key in link["asked"].keys() - set(link["told"]):
            used, wanted = query[key], link["values"].get(key, DEFAULTS[key])
            assert (sorted(used) if isinstance(used, list) else used) == (
                sorted(wanted) if isinstance(wanted, list) else wanted
            ), (name, key)
        assert set(header["unusable"]) == set(link["told"]), name


def check_form(name: str) -> None:
    link = RECORDED["links"][name]
    app = app_at(link["page"], **link["asked"]).run()
    text = payloads(app)
    held = DEFAULTS.keys() & set(app.session_state)
    # what no control of a form page holds: the page reads the place, the browser the others
    assert set(link["values"]) - held <= {"at", "model", "big", "film"} | GONE, name
    now = {key: app.session_state[key] for key in held if app.session_state[key] != DEFAULTS[key] and key != "dev"}
    assert now == {key: value for key, value in link["values"].items() if key in held}, name
    assert set(re.findall(r'"The link says (\w+)=', text)) == set(link["told"]) - {"film"}, name
    for heading in link.get("headings", ()):
        assert json.dumps(heading)[1:-1] in text or heading in text, name


def test_links_of_by_hand_open_what_they_opened() -> None:
    for name in on_pages(owned=False):
        if RECORDED["links"][name]["page"] == "by-hand":
            check_form(name)


@pytest.mark.thorough("Every form page is opened at every recorded link; the others' controls have tests of their own.")
def test_links_of_the_other_forms_open_what_they_opened() -> None:
    for name in on_pages(owned=False):
        if RECORDED["links"][name]["page"] != "by-hand":
            check_form(name)


def test_no_default_has_changed_and_every_key_and_version_is_recorded() -> None:
    """A link leaves defaults out, so another default would change what old links open."""
    assert [[key, value] for key, value in DEFAULTS.items() if key not in NEWER] == [
        [key, value] for key, value in RECORDED["defaults"] if key not in GONE
    ]
    recorded = {key for link in RECORDED["links"].values() for key in link["asked"]}
    assert set(DEFAULTS) - recorded - NEWER == {"dev"}  # other devices are not on every machine
    assert list(VERSIONS) == list(range(1, link_version.CURRENT + 1)), "record links before the format changes"


def test_a_link_of_another_version_opens_as_far_as_it_is_understood() -> None:
    for version, notice in {
        "1": "",
        "2": "This link is of version 2, newer than version 1, which this Headlight reads",
        "9" * 400: "which is not a version of links; it is read as version 1.",
        "<b>": "The link says v=<b>, which is not a version of links; it is read as version 1.",
    }.items():
        app = app_at("by_hand", ex="a real cell", v=version, s="how are you", mask="causal", of_the_future="x").run()
        assert (app.session_state["s"], app.session_state["mask"]) == ("how are you", "causal")
        text = payloads(app)
        assert notice in text, version
        assert ("version 1" in text) == (f'"unusable": "{link_version.KEY}"' in text) == bool(notice), version
