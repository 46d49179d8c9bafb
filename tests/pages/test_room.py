"""A room's states: whatever is said in whatever order, a vote counts once and nobody sees a tally while one is open."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pages.kit.rooms import room as rules
from pages.kit.rooms.messages import RoomState
from pages.kit.rooms.refusals import MOST_PHONES, Refusal
from pages.kit.rooms.room import Room, listen_name, unpacked

from .room_client import CELL_QUESTION, OWN_QUESTION

HOST = listen_name("key")
PHASES = ("idle", "open", "closed", "discuss", "again", "closed_again", "tallies", "answer")
ACTS = ("close", "discuss", "again", "tallies", "answer", "idle", "let_go", "gather")
NAMES = some.sampled_from(["a", "b", "c", "d"])


def opened() -> Room:
    return Room("ABCDEF", HOST)


def act(room: Room, name: str, **more: Any) -> bool:
    return rules.act(room, HOST, {"act": name, **more})


def ask(room: Room, question: dict[str, Any] = OWN_QUESTION, name: str = "q1") -> None:
    act(room, "ask", question=question | {"id": name})


class Class(RuleBasedStateMachine):
    """A host and four phones that say whatever they like; beside them who counts by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.room = opened()
        self.counted: list[dict[str, object]] = [{}, {}]
        self.asked = 0

    @rule(name=NAMES)
    def join(self, name: str) -> None:
        rules.join(self.room, name)

    @rule(is_cell=some.booleans(), is_new=some.booleans())
    def ask(self, is_cell: bool, is_new: bool) -> None:
        before = self.room.question
        self.asked += is_new or before is None
        ask(self.room, CELL_QUESTION if is_cell else OWN_QUESTION, f"q{self.asked}")
        if before is None or before["id"] != f"q{self.asked}":
            self.counted = [{}, {}]

    @rule(name=some.sampled_from(ACTS))
    def act(self, name: str) -> None:
        before = self.room.packed()
        try:
            act(self.room, name, answer={"right": [], "text": "so it is"})
        except Refusal:
            assert self.room.packed() == before
        if name == "idle":
            self.counted = [{}, {}]

    @rule(name=NAMES, option=some.integers(-1, 3), is_cell=some.booleans(), late=some.booleans())
    def vote(self, name: str, option: int, is_cell: bool, late: bool) -> None:
        room, before = self.room, self.room.packed()
        choice: object = [option, option] if is_cell else option
        question = room.question["id"] if room.question else "q0"
        is_fine = (
            name in room.phones
            and room.phase in ("open", "again")
            and not late
            and room.question is not None
            and 0 <= option < 3
            and is_cell == (room.question["kind"] == "cell")
        )
        said = {"question": "q0" if late else question, "round": room.round, "choice": choice}
        try:
            rules.vote(room, name, said)
        except Refusal:
            assert not is_fine
            assert room.packed() == before
            return
        assert is_fine
        self.counted[room.round][name] = (option, option) if is_cell else option

    @invariant()
    def every_vote_counts_once(self) -> None:
        assert self.room.ballots == self.counted
        now = self.counted[self.room.round]
        assert rules.state(self.room)["voted"] == len(now)
        assert all(rules.mine(self.room, name)["choice"] == now.get(name) for name in self.room.phones)

    @invariant()
    def no_tally_and_no_answer_is_seen_early(self) -> None:
        phase = self.room.phase
        assert phase in PHASES
        told = [rules.state_of(self.room, name) for name in self.room.phones]
        assert all(bool(state["tallies"]) == (phase in ("tallies", "answer")) for state in told)
        assert all((state["answer"] is not None) == (phase == "answer") for state in told)
        host = rules.state_of(self.room, HOST)
        assert bool(host["tallies"]) == (phase not in ("idle", "open", "again"))
        for number, tally in enumerate(host["tallies"]):
            chosen = Counter(self.counted[number].values())
            assert tally["voted"] == sum(tally["counts"]) + sum(count for *_, count in tally["dots"]) == chosen.total()
            assert all(chosen[option] == count for option, count in enumerate(tally["counts"]))
            assert all(chosen[(row, column)] == count for row, column, count in tally["dots"])

    @invariant()
    def it_is_held_as_it_is(self) -> None:
        assert unpacked(self.room.packed()) == self.room


TestClass = Class.TestCase
TestClass.settings = settings(stateful_step_count=50)


def test_a_question_a_link_or_a_measure_that_does_not_fit_is_refused() -> None:
    room = opened()
    before = room.packed()
    broken: list[Any] = [
        None, [], {"kind": "quiz"}, OWN_QUESTION | {"id": "a b"}, OWN_QUESTION | {"options": ["one"]},
        OWN_QUESTION | {"options": ["x"] * 7}, OWN_QUESTION | {"options": [1, 2]}, OWN_QUESTION | {"text": "x" * 2001},
        OWN_QUESTION | {"text": "nul\0"}, OWN_QUESTION | {"link": "//evil.example"}, CELL_QUESTION | {"size": [0, 4]},
        CELL_QUESTION | {"size": [True, 4]}, CELL_QUESTION | {"link": "https://evil.example"},
    ]  # fmt: skip
    links: list[Any] = ["", "x", "//x", "/\\x", "/a b", "/a\n", "/" + "a" * 6000, None, 1]  # off this server
    measures: list[Any] = [
        None, {}, [[1]], [[1, "x"]], [[1, float("nan")]], [[1, 10**400]], [[1, True]], [["1", 1]], [[1, 2, 3]],
    ]  # fmt: skip
    acts: list[tuple[str, dict[str, Any]]] = [
        *(("ask", {"question": {"id": "q1"} | one if isinstance(one, dict) else one}) for one in broken),
        *(("show", {"link": link}) for link in links),
        *(("measure", {"values": values}) for values in measures),
    ]
    for name, more in acts:
        with pytest.raises(Refusal):
            act(room, name, **more)
        assert room.packed() == before, more


@given(text=some.text(max_size=250))
@example("<b>bold</b>")
@example("\u202eevil")
@example("nul\0")
@example("שלום")
@example("\ud800")
@example("x" * 10_000)
def test_a_sentence_is_kept_as_it_can_be_shown_or_refused(text: str) -> None:
    room = opened()
    rules.join(room, "a")
    act(room, "write", state="asked")
    try:
        rules.write(room, "a", text, 5)
    except Refusal:
        assert not room.sentences
        return
    kept = [one.text for one in room.sentences.values()]
    assert all(0 < len(one) <= 200 and not set(one) & set("\0\n\r\u202e\u2066") for one in kept)
    assert json.loads(room.packed().decode())


def test_sentences_are_seen_without_their_owners_and_not_before_the_host_shows_them() -> None:
    room = opened()
    for name in "abcd":
        rules.join(room, name)
    with pytest.raises(Refusal, match="not asked"):
        rules.write(room, "a", "too early", 1)
    act(room, "write", state="asked")
    for name, number in zip("abc", (7, 7, 3), strict=True):
        rules.write(room, name, f"by {name}", number)
    assert rules.sentences(room, "a") == []
    act(room, "measure", values=[[7, 0.5], [8, 0.25], [99, 1]])
    assert rules.state_of(room, "a")["points"] == []
    assert rules.state_of(room, HOST)["points"] == [(7, 0.5), (8, 0.25)]
    act(room, "write", state="shown")
    act(room, "hide", number=8, on=True)
    assert [one["text"] for one in rules.sentences(room, "d")] == ["by c", "by a"]
    assert [one["text"] for one in rules.sentences(room, HOST)] == ["by c", "by a", "by b"]
    states: list[RoomState] = [rules.state_of(room, name) for name in "abcd"]
    assert all(state["points"] == [(7, 0.5)] for state in states)
    assert [state["mine"]["sentence"] for state in states] == ["by a", "by b", "by c", ""]
    act(room, "write", state="asked")
    assert rules.state_of(room, HOST)["points"] == [], "another measure, perhaps"
    act(room, "measure", values=[[7, 0.75]])
    rules.write(room, "a", "by a, anew", 9)
    act(room, "measure", values=[[7, 0.5]])  # of what it was before
    assert rules.state_of(room, HOST)["points"] == []
    rules.write(room, "b", "hidden ones stay so", 4)
    assert [one["hidden"] for one in rules.sentences(room, HOST)] == [False, True, False]
    rules.write(room, "b", " ", 4)
    assert len(room.sentences) == 2


def test_a_room_is_full_and_may_be_locked() -> None:
    room = opened()
    for number in range(MOST_PHONES):
        assert rules.join(room, str(number))
    with pytest.raises(Refusal, match="full"):
        rules.join(room, "one more")
    assert not rules.join(room, "7"), "who is in comes back"
    room.phones.pop("8")
    act(room, "lock", on=True)
    with pytest.raises(Refusal, match="nobody new"):
        rules.join(room, "8")
