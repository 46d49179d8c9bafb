"""The page of claims: nothing tells before an answer; an answer, or none, brings the verdict; its link opens it."""

from __future__ import annotations

from typing import Any

import pytest

from headlight.lessons import course
from headlight.lessons.quantities import times
from headlight.lessons.schema import LessonStep
from headlight.lessons.verdict import Verdict
from headlight.link.fields import FIELDS
from pages.claims import page
from pages.claims.page import OURS, SHOW, by_name

from .conftest import app_at, blocks

CLAIMS = by_name(course.claims())


def kinds(shown: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [block for block in shown if block["kind"] == kind]


def panel(name: str, given: str) -> list[dict[str, Any]]:
    return list(page.panel(CLAIMS, name, given)["blocks"])


@pytest.fixture
def judgements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that were judged, by a verdict that computes nothing."""
    calls: list[str] = []

    def verdict(step: LessonStep, query: object) -> Verdict:
        calls.append(step.query)
        return Verdict("B", (("one", 0.25, "0.25"), ("two", 1.0, "1")), "B: so.", "depends", "It was seen to.")

    monkeypatch.setattr(page, "verdict", verdict)
    return calls


def test_a_claim_is_a_texts_own_words_or_a_question_of_ours(judgements: list[str]) -> None:
    """A quote has at most fifteen words and names its text; before an answer nothing is judged."""
    assert course.claims().errors == ()
    for name, (_, claim) in CLAIMS.items():
        assert len(name) <= FIELDS["claim"].longest
        shown = page.panel(CLAIMS, name, "")
        assert shown["note"] == (claim.source or OURS)
        if claim.source:
            assert 1 <= len([word for word in claim.said.split() if word != "…"]) <= 15, name
        (place,) = kinds(shown["blocks"], "verdict")
        assert [place[part] for part in ("result", "heading", "said")] == ["", "", ""]
        assert not any(one["pressed"] for one in kinds(shown["blocks"], "buttons")[0]["buttons"])
    assert judgements == []


@pytest.mark.usefixtures("judgements")
def test_an_answer_is_compared_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    def heading(given: str) -> str:
        return str(kinds(panel("orange", given), "verdict")[0]["heading"])

    assert heading("depends") == "It depends: true in some cases. You said “it depends”, and so do the numbers."
    assert heading("true") == "It depends: true in some cases. You said “true”."
    assert heading(SHOW) == "It depends: true in some cases."
    monkeypatch.setattr(page, "verdict", lambda *_: Verdict(None, (), "No rule holds.", "holds", "Why."))
    assert heading("false") == "True. You said “false”."
    monkeypatch.setattr(page, "verdict", lambda *_: Verdict(None, (), "There is no verdict here: it is full."))
    assert heading("true") == "There is no verdict here: it is full."


def test_a_link_opens_an_answered_claim() -> None:
    shown = blocks(app_at("claims", claim="order", say="true").run(), "claims")
    (verdict,) = kinds(shown, "verdict")
    assert verdict["result"] == "holds"
    assert "so do the numbers" in verdict["heading"]
    cards = [one for block in kinds(shown, "cards") for one in block["cards"]]
    assert len(cards) == len(CLAIMS)
    step, claim = CLAIMS["order"]
    assert [one["text"] for one in cards if one["pressed"]] == [f"“{claim.said}”"]
    (link,) = kinds(shown, "terms")
    assert link["rows"][0][2] == f"compare?{step.query}"


def test_a_link_with_unknown_values_says_so_and_shows_no_verdict() -> None:
    cases: list[tuple[dict[str, str], list[str]]] = [
        ({"claim": "x" * 2_000, "say": "<b>orange</b>"}, ["claim=xxxxxxxx", "say=<b>orang"]),
        ({"claim": "heads", "say": "٢"}, ["say=٢"]),
    ]
    for link, unusable in cases:
        shown = blocks(app_at("claims", **link).run(), "claims")
        (notices,) = kinds(shown, "notices")
        for sentence, value in zip(notices["sentences"], unusable, strict=True):
            assert sentence.startswith(f"The link says {value}")
        (place,) = kinds(shown, "verdict")
        assert not place["result"], link
        step, _ = CLAIMS[link["claim"] if link["claim"] in CLAIMS else "symmetric"]
        assert f"Measured: {step.ask}" in [block["text"] for block in kinds(shown, "text")]


@pytest.mark.usefixtures("judgements")
def test_older_links_still_open_their_claim() -> None:
    """A number was an answer; where no claim was named, it was the first one of then."""
    cases: list[tuple[dict[str, str], str]] = [({}, "symmetric"), ({"say": "2"}, "orange")]
    for link, name in cases:
        shown = blocks(app_at("claims", **link).run(), "claims")
        assert kinds(shown, "notices")[0]["sentences"] == []
        (chosen,) = [one for block in kinds(shown, "cards") for one in block["cards"] if one["pressed"]]
        assert chosen["event"] == {"claim": name}
        assert bool(kinds(shown, "verdict")[0]["result"]) == ("say" in link)


def test_what_a_visitor_sends_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    link, forgotten = dict[str, str](), list[bool]()
    monkeypatch.setattr("streamlit.session_state", {})
    monkeypatch.setattr("streamlit.query_params", link)
    monkeypatch.setattr(times, "forget", lambda: forgotten.append(True))
    for event in ({"say": "5"}, {"say": 1}, {"claim": "no such"}, {"claim": ["order"]}, {"again": "yes"}, {}):
        page.take(event)
    assert link == {}
    page.take({"say": "true"})
    assert link == {"say": "true"}
    link["say"] = "2"
    page.take({"say": "false"})
    assert link == {"claim": "orange", "say": "false"}
    page.take({"claim": "naive"})
    assert link == {"claim": "naive"}
    page.take({"again": True})
    assert (link, forgotten) == ({"claim": "naive", "say": SHOW}, [True])
