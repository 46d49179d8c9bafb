"""The queue is fair: whose turn it is, how many come first, how long that takes at most. The clock is the test's."""

from __future__ import annotations

import pytest

from mha_core.errors import HeadlightError
from pages.kit.jobs.queue import Places, Turn, Visitor

from .waiting import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def queued(places: Places, address: str, session: str = "", seconds: float = 180) -> Turn:
    turn = Turn(Visitor(address, session or address), seconds)
    places.ask(turn)
    return turn


def began(places: Places, turns: dict[str, Turn], clock: Clock) -> list[str]:
    """The order in which these turns begin, each ending when the forecast says, which is checked on the way."""
    order = [name for name, turn in turns.items() if turn.began is not None]
    working = [turns[name] for name in order]
    while len(order) < len(turns):
        waiting = {name: turn for name, turn in turns.items() if turn.began is None}
        foreseen = {name: places.ahead(turn)[0] for name, turn in waiting.items()}
        assert sorted(foreseen.values()) == list(range(1, len(waiting) + 1))
        clock.now += min(places.ahead(turn)[1] for turn in waiting.values())
        first = min(working, key=lambda turn: (turn.began or 0) + turn.seconds)
        working.remove(first)
        places.leave(first)
        (new,) = [name for name, turn in waiting.items() if turn.began is not None]
        assert foreseen[new] == 1
        order.append(new)
        working.append(turns[new])
    return order


def test_places_are_taken_in_order_by_visitors_who_are_alike(clock: Clock) -> None:
    places = Places(2, 9, clock=clock)
    turns = {name: queued(places, name) for name in "abcd"}
    assert began(places, turns, clock) == list("abcd")


def test_ten_tabs_of_one_address_are_one_visitor(clock: Clock) -> None:
    places = Places(2, 40, clock=clock)
    tabs = {f"tab{number}": queued(places, "school", f"tab{number}") for number in range(10)}
    late = {"late": queued(places, "home"), "later": queued(places, "office")}
    order = began(places, {**tabs, **late}, clock)
    assert order[:4] == ["tab0", "tab1", "late", "later"]
    assert order[4:] == [f"tab{number}" for number in range(2, 10)]


def test_who_has_trained_least_comes_first(clock: Clock) -> None:
    places = Places(1, 9, clock=clock)
    first = queued(places, "", "much")
    clock.now += 100
    second = queued(places, "", "little")
    places.leave(first)
    clock.now += 10
    again = {
        "much": queued(places, "", "much"),
        "little": queued(places, "", "little"),
        "none": queued(places, "", "none"),
    }
    places.leave(second)
    assert again["none"].began == clock.now
    assert [places.ahead(again[name])[0] for name in ("none", "little", "much")] == [0, 1, 2]


def test_what_was_used_long_ago_does_not_count(clock: Clock) -> None:
    places = Places(1, 9, clock=clock)
    places.leave(queued(places, "", "early"))
    clock.now += 10
    first = queued(places, "", "early")
    clock.now += 1000
    places.leave(first)
    clock.now += 1801
    working = queued(places, "", "another")
    early, new = queued(places, "", "early"), queued(places, "", "new")
    places.leave(working)
    assert early.began is not None
    assert new.began is None


def test_how_long_it_takes_at_most(clock: Clock) -> None:
    places = Places(2, 9, clock=clock)
    queued(places, "a", seconds=100)
    queued(places, "b", seconds=60)
    waiting = [queued(places, name, seconds=180) for name in "cde"]
    assert [places.ahead(turn) for turn in waiting] == [(1, 60), (2, 100), (3, 240)]
    clock.now += 30
    assert places.ahead(waiting[0]) == (1, 30)
    clock.now += 500  # the one before takes longer than it may
    assert places.ahead(waiting[0]) == (1, 0)


def test_others_wait(clock: Clock) -> None:
    places = Places(1, 9, clock=clock)
    mine = queued(places, "", "me")
    queued(places, "", "me")
    assert not places.others_wait(mine)
    other = queued(places, "", "somebody")
    assert places.others_wait(mine)
    places.leave(other)
    assert not places.others_wait(mine)


def test_too_many_wait(clock: Clock) -> None:
    places = Places(1, 2, clock=clock)
    turns = [queued(places, name) for name in "abc"]
    with pytest.raises(HeadlightError, match="2 trainings are waiting already; try again in a minute"):
        queued(places, "d")
    places.leave(turns[1])
    assert queued(places, "d").began is None


def test_waiting_ends_with_a_place_or_when_it_is_given_up(clock: Clock) -> None:
    places = Places(1, 9, clock=clock)
    first, second = queued(places, "a"), queued(places, "b")
    places.wait(first, lambda: False)
    places.wait(second, lambda: True)
    assert second.began is None
    places.leave(first)
    places.wait(second, lambda: False)
    assert second.began == clock.now


def test_one_address_does_not_keep_others_out_of_the_queue(clock: Clock) -> None:
    places = Places(2, 10, clock=clock)
    tabs = [queued(places, "school", f"tab {number}") for number in range(12)]
    with pytest.raises(HeadlightError, match="10 trainings are waiting"):
        queued(places, "school", "one more")
    others = [queued(places, f"home {number}") for number in range(3)]
    assert [tab.displaced for tab in tabs] == [False] * 9 + [True] * 3  # those who came last
    places.wait(tabs[-1], lambda: False)  # it ends, without a place
    assert tabs[-1].began is None
    places.leave(tabs[-1])
    places.leave(tabs[0])
    assert others[0].began is not None
