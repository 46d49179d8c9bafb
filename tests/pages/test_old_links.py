"""Links of every version still open what they opened: those of version 1 were recorded with the code of 2026-11-22."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.picture import link_version
from pages.kit.picture.fields import DEFAULTS

from .conftest import app_at, payloads

NEWER = {
    "word",
    "tab",
    "three",
    "mean",
    "kin",
    "tbias",
    "tdrop",
    "qs",
    "kv",
    "nk",
    "wv",
    "draw",
    "aat",
    "claim",
    "say",
    "lw",
    "biases",
    "drop",
    "find",
    "cand2",
    "run",
    "only",
    "true",
    "said",
    "sort",
    "desc",
    "lines",
    "one",
    "bag",
    "unheard",
    "unheard2",
    "learn",
    "wrote",
}  # keys that no link of that day has
VERSIONS = {1: "old_links.json"}  # of the link format -> the links that were recorded of it
READ = ("at", "model", "film", "big", "learn")  # what no control holds
RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name(VERSIONS[1]).read_text("utf-8"))


def opened(app: AppTest) -> dict[str, Any]:
    """The controls, settings and place of a page, and the keys that it said could not be used."""
    text = payloads(app)
    told = list(dict.fromkeys(re.findall(r'"The link says (\w+)=', text)))
    unheld = {key: app.query_params[key] for key in READ if key in app.query_params and key not in told}
    state = unheld | {key: app.session_state[key] for key in DEFAULTS if key in app.session_state and key != "dev"}
    found: dict[str, Any] = {"told": told}
    if state:  # a page of forms
        found["values"] = {key: value for key, value in state.items() if value != DEFAULTS[key]}
    if digests := sorted(set(re.findall(r'"digest": ?"([0-9a-f-]+)"', text))):
        place = re.findall(r'"(layer|head|row|key)": ?(\d+|null)', text)
        found |= {"digests": digests, "place": {name: json.loads(number) for name, number in place}}
    return found


@pytest.mark.parametrize("name", RECORDED["links"])
def test_a_link_opens_what_it_opened(name: str) -> None:
    link = RECORDED["links"][name]
    app = app_at(link["page"], **link["asked"]).run()
    now = opened(app)
    assert set(now.pop("told")) == set(link["told"])
    assert now == {key: link[key] for key in now}
    for heading in link.get("headings", ()):
        assert json.dumps(heading)[1:-1] in payloads(app) or heading in payloads(app)


def test_no_default_has_changed() -> None:
    """A link leaves defaults out, so another default would change what old links open."""
    assert [[key, value] for key, value in DEFAULTS.items() if key not in NEWER] == RECORDED["defaults"]


def test_every_key_stands_in_a_link() -> None:
    asked = {key for link in RECORDED["links"].values() for key in link["asked"]}
    assert set(DEFAULTS) - asked - NEWER == {"dev"}  # other devices are not on every machine


def test_links_of_every_version_are_kept() -> None:
    assert list(VERSIONS) == list(range(1, link_version.CURRENT + 1)), "record links before the format changes"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1", ""),
        ("2", "This link is of version 2, later than version 1, which this Headlight reads"),
        ("9" * 400, "which is no version of links; it is read as version 1."),
        ("<b>", "The link says v=<b>, which is no version of links; it is read as version 1."),
    ],
)
def test_a_link_of_another_version_opens_as_far_as_it_is_understood(version: str, said: str) -> None:
    app = app_at("by_hand", ex="a real cell", v=version, s="how are you", mask="causal", of_the_future="x").run()
    assert (app.session_state["s"], app.session_state["mask"]) == ("how are you", "causal")
    assert said in payloads(app)
    assert ("version 1" in payloads(app)) == bool(said)
    assert (f'"unusable": "{link_version.KEY}"' in payloads(app)) == bool(said)
