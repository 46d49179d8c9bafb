"""The page of claims: nothing tells before an answer; an answer, or none, brings the verdict; its link opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import torch

from pages.claims import page
from pages.claims.page import ANSWERS, OURS, SHOW, by_name
from pages.kit.lessons import course
from pages.kit.lessons.quantities import times
from pages.kit.lessons.schema import LessonStep
from pages.kit.lessons.verdict import Verdict
from pages.kit.picture.fields import FIELDS

from .conftest import app_at, blocks, payloads

CLAIMS = by_name(course.claims())
TEXTS = {
    "annotated code for multi-head attention, time first", "a lesson on multi-head attention",
    "a long post on attention from scratch", "a notebook that writes attention with einsum",
}  # fmt: skip

# what the page of a claim's link holds, in its views, its sheets or the values of its query
SHOWN = {
    "orange": "at=0.3.1", "heads": "at=1.3.9", "overlap": "look=all", "mean": "at=0.2", "same-word": "no positions",
    "symmetric": "at=0.0", "order": "The same vectors in the new order", "news": "Recorded on 1,225 texts of news",
    "positions": "360 test rows", "waves": "pos2=sinusoidal",
    "padding": "Padding: a short sentence beside a longer one", "root-d": "Mean entropy of a row in bits, over d",
    "amplitude": "Random q and k, standard normal", "minus-1e9": "A row that may look at nobody",
    "row-sum": "row sums 1.0000", "values": '"name":"v.project"',
    "biases": "Now chosen: biases in the attention none. Press Train", "trained-biases": "Each bias alone set to 0",
    "key-bias": "of the key bias, its largest number relative to the whole gradient",
    "one-function": "class NaiveAttention", "torch": "The notebook reports 1.98e",
    "axes": "two loops, one in the other", "naive": "Which is the fastest here?",
    "fastest": "Which is the fastest here?", "einsum": "Which is the fastest here?",
}  # fmt: skip

HOSTILE = ("x", "x" * 2_000, "橙子是我最喜欢的水果", "<b>orange</b>", "?!…", "../orange", "None")


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


def test_there_are_enough_claims_of_both_kinds_and_every_one_is_whole() -> None:
    found = course.claims()
    assert found.errors == ()
    assert len(CLAIMS) == sum(len(lesson.steps) for lesson in found.lessons.values()) >= 25  # no name stands twice
    assert len({claim.title for _, claim in CLAIMS.values()}) == len(CLAIMS)
    for name, (step, _) in CLAIMS.items():
        assert len(name) <= FIELDS["claim"].longest
        assert step.ask.endswith("?")
        assert not step.right
    ours = {name for name, (_, claim) in CLAIMS.items() if not claim.source}
    assert {claim.source for _, claim in CLAIMS.values()} == {*TEXTS, ""}
    assert len(CLAIMS) - len(ours) >= 15


def test_a_claim_is_a_texts_own_words_or_a_question_of_ours(judgements: list[str]) -> None:
    """A quote has at most fifteen words and names its text; before an answer nothing is judged."""
    for name, (step, claim) in CLAIMS.items():
        shown = page.panel(CLAIMS, name, "")
        assert shown["note"] == (claim.source or OURS)
        assert shown["heading"] == (f"“{claim.said}”" if claim.source else claim.said)
        if claim.source:
            assert 1 <= len([word for word in claim.said.split() if word != "…"]) <= 15, name
        else:
            assert claim.said.endswith("."), name
        texts = [block["text"] for block in kinds(shown["blocks"], "text")]
        assert texts == [claim.about, f"Measured: {step.ask}"]
        (place,) = kinds(shown["blocks"], "verdict")
        assert [place[part] for part in ("result", "heading", "said")] == ["", "", ""]
        answers = kinds(shown["blocks"], "buttons")[0]["buttons"]
        assert [one["text"] for one in answers] == [*ANSWERS.values(), "just show me"]
        assert not any(one["pressed"] for one in answers)
        assert {block["kind"] for block in shown["blocks"]} == {"text", "buttons", "verdict"}
    assert judgements == []


@pytest.mark.usefixtures("judgements")
def test_an_answer_is_compared_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    def heading(given: str) -> str:
        return str(kinds(panel("orange", given), "verdict")[0]["heading"])

    assert heading("depends") == "It depends: true in some cases. You said “it depends”, and so do the numbers."
    assert heading("true") == "It depends: true in some cases. You said “true”."
    assert heading(SHOW) == heading("2") == "It depends: true in some cases."
    measured = kinds(panel("orange", "true"), "text")[-1]["text"]
    assert measured.endswith(f"? {CLAIMS['orange'][0].options[1].text.capitalize()}.")
    buttons = {name: [one["text"] for one in kinds(panel(name, "1"), "buttons")[-1]["buttons"]] for name in CLAIMS}
    timed = {name for name, (_, claim) in CLAIMS.items() if claim.timed}
    assert {name for name, texts in buttons.items() if texts == ["time it again", "next claim"]} == timed
    assert all(buttons[name] == ["next claim"] for name in CLAIMS.keys() - timed)
    monkeypatch.setattr(page, "verdict", lambda *_: Verdict(None, (), "No rule holds.", "holds", "Why."))
    assert heading("false") == "True. You said “false”."
    assert kinds(panel("orange", "true"), "text")[-1]["text"].endswith("?")
    monkeypatch.setattr(page, "verdict", lambda *_: Verdict(None, (), "There is no verdict here: it is full."))
    assert heading("true") == "There is no verdict here: it is full."


@pytest.mark.thorough("twenty-five runs of whole pages; the files' links are read when they are loaded")
def test_the_link_opens_a_page_on_which_it_is_shown() -> None:
    for name in CLAIMS:
        link = parse_qs(CLAIMS[name][0].query)
        app = app_at(CLAIMS[name][0].page, **link).run()
        everything = " ".join([payloads(app), *(code.value for code in app.code)])
        assert SHOWN[name] in everything, name
        assert "The link says" not in everything, name
        for key, values in link.items():
            if key in app.session_state:  # what no control holds, the page reads from the link
                kept = app.session_state[key]
                each = kept if isinstance(kept, list) else [kept]
                assert [f"{one:g}" if isinstance(one, float) else str(one) for one in each] == values, (name, key)
        if name in ("trained-biases", "key-bias", "one-function"):
            (unfolded,) = [fold.label for fold in app.expander if fold.proto.expanded]
            assert unfolded.startswith("The whole classes" if name == "one-function" else "The numbers")


def test_a_link_opens_an_answered_claim() -> None:
    shown = blocks(app_at("claims", claim="order", say="true").run(), "claims")
    (verdict,) = kinds(shown, "verdict")
    assert verdict["result"] == "holds"
    assert "so do the numbers" in verdict["heading"]
    pressed = [one["text"] for block in kinds(shown, "buttons") for one in block["buttons"] if one["pressed"]]
    assert pressed == ["True"]
    cards = [one for block in kinds(shown, "cards") for one in block["cards"]]
    assert len(cards) == len(CLAIMS)
    step, claim = CLAIMS["order"]
    assert [one["text"] for one in cards if one["pressed"]] == [f"“{claim.said}”"]
    (link,) = kinds(shown, "terms")
    assert link["rows"][0][2] == f"compare?{step.query}"


def test_a_link_with_unknown_values_says_so_and_shows_no_verdict() -> None:
    cases: list[tuple[dict[str, str], list[str]]] = [
        *(({"claim": text, "say": text}, [f"claim={text[:8]}", f"say={text[:8]}"]) for text in HOSTILE),
        *(({"claim": "heads", "say": say}, [f"say={say}"]) for say in ("4", "1.0", "٢")),
        ({"claim": "99", "say": "1"}, ["claim=99", "say=1"]),
        ({"claim": "order", "say": "3"}, ["say=3"]),
        ({"claim": "orange" * 100}, ["claim=orangeorange"]),
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
    cases: list[tuple[dict[str, str], str]] = [
        ({}, "symmetric"), ({"say": "true"}, "symmetric"), ({"say": "2"}, "orange"),
        ({"claim": "heads", "say": "1"}, "heads"),
    ]  # fmt: skip
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


def test_a_map_is_shown_with_its_tokens() -> None:
    (row,) = kinds(panel("symmetric", SHOW), "row")
    (matrix,) = kinds(row["blocks"], "matrix")
    assert (matrix["rows"], torch.tensor(matrix["levels"]).shape) == (matrix["cols"], (len(matrix["rows"]),) * 2)


def test_a_file_with_a_mistake_is_named_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other groups stay, also where the claim that opens first is gone."""
    for file in course.CLAIMS.glob("*.toml"):
        text = file.read_text("utf-8")
        broken = text.replace("$luck >= .01", "$luck >= ", 1)
        (tmp_path / file.name).write_text(broken, "utf-8")
    monkeypatch.setattr(course, "CLAIMS", tmp_path)
    app = app_at("claims").run()
    (notices,) = kinds(blocks(app, "claims"), "notices")
    assert "1-words-and-heads.toml, line" in " ".join(notices["sentences"])
    assert not kinds(blocks(app, "claims"), "verdict")
    app = app_at("claims", claim="root-d").run()
    assert len(kinds(blocks(app, "claims"), "verdict")) == 1
