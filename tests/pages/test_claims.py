"""The page of claims: nothing tells before an answer; an answer, or none, brings the verdict; its link opens it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest
import torch

from pages.claims import answer, evidence, page
from pages.claims.catalog import CLAIMS, GROUPS
from pages.claims.claim import LESSON, NOTEBOOK, OURS, POST, SHOW, TIME_FIRST
from pages.claims.rules.verdict import Verdict
from pages.kit.draw import pages
from pages.kit.picture.fields import FIELDS

from .conftest import app_at, blocks, payloads

# what is there where a claim's link leads: in what its views and sheets were given, or among the values of its query
SHOWN = {
    "orange": "at=0.3.1",
    "heads": "at=1.3.9",
    "overlap": "look=all",
    "mean": "at=0.2",
    "same-word": "pos2=none",
    "symmetric": "at=0.0",
    "order": "Shuffle test",
    "news": "accuracy on unseen sentences",
    "positions": "360 test rows",
    "waves": "pos2=sinusoidal",
    "padding": "Padding: a short sentence beside a longer one",
    "root-d": "Mean entropy of a row in bits, over d",
    "amplitude": "Random q and k, standard normal",
    "minus-1e9": "A row that may look at nobody",
    "row-sum": "row sums 1.0000",
    "values": '"name":"v.project"',
    "biases": "The settings now say biases in the attention none: press Train",
    "trained-biases": "Each bias alone set to 0",
    "key-bias": "of the key bias, its largest number relative to the whole gradient",
    "one-function": "class NaiveAttention",
    "torch": "The notebook reports 1.98e",
    "axes": "two loops, one in the other",
    "naive": "Which is the fastest here?",
    "fastest": "Which is the fastest here?",
    "einsum": "Which is the fastest here?",
}


# of one letter to 2,000, of other scripts, markup, nothing but signs
HOSTILE = (
    "x",
    "x" * 2_000,
    "🍊🍊",
    "橙子是我最喜欢的水果",
    "<b>orange</b>",
    "?!…",
    "orange " * 300,
    "../orange",
    "None",
)


def kinds(shown: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [block for block in shown if block["kind"] == kind]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What claims would be judged by, replaced by one that computes nothing and counts."""
    calls: list[int] = []

    def verdict(judge: object, timed: int) -> Verdict:
        calls.append(timed)
        return Verdict("depends", "It was seen to.", 1, (("one", 0.25), ("two", 1.0)), "parts")

    monkeypatch.setattr(evidence, "verdict", verdict)
    return calls


def test_there_are_enough_claims_and_every_one_is_whole() -> None:
    assert len(CLAIMS) >= 18
    assert len(CLAIMS) == sum(map(len, GROUPS.values()))
    assert len({claim.title for claim in CLAIMS.values()}) == len(CLAIMS)
    for name, claim in CLAIMS.items():
        assert len(name) <= FIELDS["claim"].longest
        assert 2 <= len(claim.answers) <= 4
        assert claim.question.endswith("?")
        assert claim.see.page in pages.PAGES


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_a_texts_own_words_or_a_question_of_ours(name: str, asked: list[int]) -> None:
    """A quote has at most fifteen words and names its text; the page shows both as they are, and ours as ours."""
    claim, panel = CLAIMS[name], answer.panel(name, "", 0)
    assert panel["note"] == claim.source
    if claim.source == OURS:
        assert panel["heading"] == claim.said
        assert claim.said.endswith(".")
        assert "“" not in claim.said
    else:
        assert claim.source in (LESSON, NOTEBOOK, POST, TIME_FIRST)
        assert panel["heading"] == f"“{claim.said}”"
        assert 1 <= len([word for word in claim.said.split() if word != "…"]) <= 15
    texts = [block["text"] for block in kinds(panel["blocks"], "text")]
    assert texts == [*([claim.about] if claim.about else []), claim.question]


def test_both_kinds_of_claims_are_there() -> None:
    ours = [name for name, claim in CLAIMS.items() if claim.source == OURS]
    assert {"minus-1e9", "symmetric", "key-bias", "mean", "waves", "einsum"} <= set(ours)  # no text says these
    assert {claim.source for claim in CLAIMS.values()} == {LESSON, NOTEBOOK, POST, TIME_FIRST, OURS}
    assert len(CLAIMS) - len(ours) >= 15


@pytest.mark.parametrize("name", CLAIMS)
def test_nothing_tells_before_an_answer(name: str, asked: list[int]) -> None:
    panel = answer.panel(name, "", 0)
    assert asked == []
    assert {block["kind"] for block in panel["blocks"]} == {"text", "buttons", "verdict"}
    (place,) = kinds(panel["blocks"], "verdict")
    assert [place[part] for part in ("result", "heading", "said")] == ["", "", ""]
    answers = kinds(panel["blocks"], "buttons")[0]["buttons"]
    assert [one["text"] for one in answers[:-1]] == list(CLAIMS[name].answers)
    assert not any(one["pressed"] for one in answers)


def test_an_answer_is_compared_with_the_numbers(asked: list[int]) -> None:
    def heading(given: str) -> str:
        return str(kinds(answer.panel("orange", given, 0)["blocks"], "verdict")[0]["heading"])

    right, wrong = CLAIMS["orange"].answers[1], CLAIMS["orange"].answers[0]
    assert heading("2") == f"It depends. You said “{right}”, and so do the numbers."
    assert heading("1") == f"It depends. You said “{wrong}”; the numbers say “{right}”."
    assert heading(SHOW) == f"It depends. To the question the numbers answer “{right}”."


def test_times_alone_are_taken_again(asked: list[int]) -> None:
    def after(name: str) -> list[str]:
        *_, buttons = kinds(answer.panel(name, "1", 7)["blocks"], "buttons")
        return [one["text"] for one in buttons["buttons"]]

    assert after("naive") == ["time it again", "next claim"]
    assert after("orange") == ["next claim"]
    assert asked == [7, 0]


@pytest.mark.parametrize("name", CLAIMS)
def test_the_link_to_see_it_has_values_of_controls(name: str) -> None:
    for key, value in CLAIMS[name].see.link:
        field = FIELDS[key]
        assert not field.choices or value in field.choices
        assert field.kind != "number" or field.ends[0] <= float(value) <= field.ends[1]
        assert len(value) < field.longest


@pytest.mark.parametrize("name", CLAIMS)
def test_the_link_opens_a_page_on_which_it_is_shown(name: str) -> None:
    link: dict[str, list[str]] = {}
    for key, value in CLAIMS[name].see.link:
        link.setdefault(key, []).append(value)
    app = app_at(CLAIMS[name].see.page, **link).run()
    everything = " ".join([payloads(app), *(code.value for code in app.code)])
    assert SHOWN[name] in everything
    assert "The link says" not in everything
    for key, values in link.items():
        if key not in app.session_state:  # what no control holds, the page reads from the link
            continue
        kept = app.session_state[key]
        every = kept if isinstance(kept, list) else [kept]
        assert [f"{one:g}" if isinstance(one, float) else str(one) for one in every] == values
    if name in ("trained-biases", "key-bias", "one-function"):
        (unfolded,) = [fold.label for fold in app.expander if fold.proto.expanded]
        assert unfolded.startswith("Two classes" if name == "one-function" else "The numbers")


def test_a_link_opens_an_answered_claim() -> None:
    app = app_at("claims", claim="order", say="2").run()
    (verdict,) = kinds(blocks(app, "claims"), "verdict")
    assert verdict["result"] == "holds"
    assert "so do the numbers" in verdict["heading"]
    pressed = [
        one["text"] for block in kinds(blocks(app, "claims"), "buttons") for one in block["buttons"] if one["pressed"]
    ]
    assert pressed == [CLAIMS["order"].answers[1], CLAIMS["order"].title]
    (link,) = kinds(blocks(app, "claims"), "terms")
    path, _, query = link["rows"][0][2].partition("?")
    assert path == "compare"
    assert tuple(parse_qsl(query)) == CLAIMS["order"].see.link


@pytest.mark.parametrize(
    ("link", "unusable"),
    [
        *(({"claim": text, "say": text}, [f"claim={text[:8]}", f"say={text[:8]}"]) for text in HOSTILE),
        ({"claim": "orange", "say": "x" * 2_000}, ["say=xxxxxxxx"]),
        ({"claim": "heads", "say": "4"}, ["say=4"]),
        ({"claim": "heads", "say": "1.0"}, ["say=1.0"]),
        ({"claim": "heads", "say": "٢"}, ["say=٢"]),
        ({"claim": "99", "say": "1"}, ["claim=99", "say=1"]),
        ({"claim": "order", "say": "3"}, ["say=3"]),
        ({"claim": "orange" * 100}, ["claim=orangeorange"]),
    ],
)
def test_a_link_with_unknown_values_says_so_and_tells_nothing(link: dict[str, str], unusable: list[str]) -> None:
    app = app_at("claims", **link).run()
    (notices,) = kinds(blocks(app, "claims"), "notices")
    assert len(notices["sentences"]) == len(unusable)
    for sentence, value in zip(notices["sentences"], unusable, strict=True):
        assert sentence.startswith(f"The link says {value}")
    (place,) = kinds(blocks(app, "claims"), "verdict")
    assert not place["result"]
    shown = CLAIMS[link["claim"] if link["claim"] in CLAIMS else "orange"]
    assert shown.question in [block["text"] for block in kinds(blocks(app, "claims"), "text")]


def test_what_a_visitor_sends_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    state, link = dict[str, Any](), dict[str, str]()
    monkeypatch.setattr("streamlit.session_state", state)
    monkeypatch.setattr("streamlit.query_params", link)
    for event in ({"say": "4"}, {"say": 1}, {"claim": "no such"}, {"claim": ["order"]}, {"again": "yes"}, {}):
        page.take(event)
    assert link == {}
    page.take({"say": "3"})
    assert link == {"say": "3"}
    page.take({"claim": "naive"})
    assert link == {"claim": "naive"}
    page.take({"again": True})
    assert link == {"claim": "naive", "say": SHOW}
    assert state["claim_timed"] > 0


def test_a_map_is_shown_with_its_tokens() -> None:
    (row,) = kinds(answer.panel("symmetric", SHOW, 0)["blocks"], "row")
    (matrix,) = kinds(row["blocks"], "matrix")
    assert matrix["rows"] == matrix["cols"]
    assert torch.tensor(matrix["levels"]).shape == (len(matrix["rows"]),) * 2
