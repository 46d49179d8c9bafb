"""A room as it is held: what each act makes of it, and what of it is told to whom. No clock, no chance, no network.

An act changes a room or raises a Refusal and leaves it alone; it returns whether it changed anything. Secrets are not
held: a host and a phone are known by the names that `listen_name` makes of theirs.
"""

import hashlib
import hmac
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeGuard

from .messages import Cell, RoomAnswer, RoomAsked, RoomMine, RoomSentence, RoomState, RoomTally
from .refusals import (
    FULL,
    GUESSED,
    LOCKED,
    MOST_PHONES,
    NO_CELL,
    NO_OPTION,
    NOT_ASKED,
    NOT_IN,
    OVER,
    TOO_LONG,
    UNSHOWN,
    VOTE_CLOSED,
    Bilingual,
    Refusal,
)

MOST_OPTIONS: Final = 6  # of an own question; a lesson's step may have two more
LONGEST_SENTENCE: Final = 200  # characters, also of an option
LONGEST_TEXT: Final = 2000  # of a question and of an answer
LONGEST_LINK: Final = 6000
MOST_TOKENS: Final = 2048  # rows or columns of a map
LARGEST_VALUE: Final = 1e9  # of a measure

_LINK = re.compile(r"/(?:(?!/)[!-\[\]-~]*)?")  # of this server, with nothing that a browser reads as another one
_ID = re.compile(r"[\w-]{1,40}", re.ASCII)
_TURNS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # of the direction
_OPEN = ("open", "again")
# An act -> the states that it leads from, and the state that it leads to.
_STEPS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "discuss": (("closed",), "discuss"),
    "again": (("closed", "discuss"), "again"),
    "tallies": (("closed", "discuss", "closed_again"), "tallies"),
    "answer": (("closed", "discuss", "closed_again", "tallies"), "answer"),
}

Choice = int | Cell


class Stranger(Refusal):
    """A key or a token that is none of this room's."""

    def __init__(self, told: Bilingual | str) -> None:
        super().__init__(told, 403)


@dataclass
class Sentence:
    """One of a phone's."""

    number: int
    text: str
    value: float | None = None
    hidden: bool = False


@dataclass
class Room:
    """All that is held of one.

    Attributes:
        host: the `listen_name` of its key.
        phones: the names of those that joined, the first one first.
        ballots: of each round, who chose what.
    """

    code: str
    host: str
    version: int = 1
    phase: str = "idle"
    round: int = 0
    follows: bool = True
    link: str = "/"
    question: RoomAsked | None = None
    answer: RoomAnswer | None = None
    locked: bool = False
    write: str = "off"
    phones: dict[str, None] = field(default_factory=dict)
    ballots: list[dict[str, Choice]] = field(default_factory=lambda: [{}, {}])
    sentences: dict[str, Sentence] = field(default_factory=dict)

    def packed(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode()


def unpacked(content: bytes) -> Room:
    """A room of what `packed` made."""
    held = json.loads(content)
    held["ballots"] = [
        {name: tuple(choice) if isinstance(choice, list) else choice for name, choice in ballots.items()}
        for ballots in held["ballots"]
    ]
    if held["question"] and held["question"]["size"]:
        held["question"]["size"] = tuple(held["question"]["size"])
    held["sentences"] = {name: Sentence(**sentence) for name, sentence in held["sentences"].items()}
    return Room(**held)


def listen_name(secret: str) -> str:
    """The name of who has a key or a token; it tells nothing of it."""
    return hashlib.blake2b(secret.encode("utf-8", "replace"), digest_size=12).hexdigest()


def is_host(room: Room, name: str) -> bool:
    return hmac.compare_digest(name.encode("utf-8", "replace"), room.host.encode())


# ---- a phone's acts


def join(room: Room, name: str, *, is_slowed: bool = False) -> bool:
    """Lets a phone in; one that is in already comes back."""
    if name in room.phones:
        return False
    if is_slowed:
        raise Refusal(GUESSED, 429)
    if room.locked:
        raise Refusal(LOCKED, 409)
    if len(room.phones) >= MOST_PHONES:
        raise Refusal(FULL, 409)
    room.phones[name] = None
    return True


def vote(room: Room, name: str, said: Mapping[str, Any]) -> bool:
    """Counts the choice of a phone in the round that is open, in place of its earlier one."""
    _check_phone(room, name)
    if room.phase not in _OPEN or room.question is None:
        raise Refusal(VOTE_CLOSED, 409)
    if said.get("question") != room.question["id"] or said.get("round") != room.round:
        raise Refusal(OVER, 409)
    choice, ballots = _choice(room.question, said.get("choice")), room.ballots[room.round]
    changed = ballots.get(name) != choice
    ballots[name] = choice
    return changed


def write(room: Room, name: str, text: object, number: int) -> bool:
    """Keeps the sentence of a phone in place of its earlier one, an empty one takes it back.

    Args:
        number: by chance; another one when it is written anew, so that nothing said of the earlier words counts.
    """
    _check_phone(room, name)
    if room.write != "asked":
        raise Refusal(NOT_ASKED, 409)
    said, before = sentence_of(text), room.sentences.get(name)
    if not said:
        return room.sentences.pop(name, None) is not None
    if before is not None and before.text == said:
        return False
    taken = {one.number for one in room.sentences.values()}
    while number in taken:
        number += 1
    # what the host has hidden does not come back by being written anew
    room.sentences[name] = Sentence(number, said, hidden=before is not None and before.hidden)
    return True


def _check_phone(room: Room, name: str) -> None:
    if name not in room.phones:
        raise Stranger(NOT_IN)


def _choice(question: RoomAsked, said: object) -> Choice:
    size = question["size"]
    if size is None:
        if _is_whole(said, len(question["options"])):
            return said
        raise Refusal(NO_OPTION.of(len(question["options"])))
    match said:
        case [row, column] if _is_whole(row, size[0]) and _is_whole(column, size[1]):
            return row, column
    raise Refusal(NO_CELL.of(*size))


# ---- the host's acts


def act(room: Room, name: str, said: Mapping[str, Any]) -> bool:
    """Does what the host says."""
    if not is_host(room, name):
        raise Stranger("Only the host of this room may do that.")
    before = room.packed()
    match said.get("act"):
        case "ask":
            question = _question(said.get("question"))
            if room.question is None or room.question["id"] != question["id"]:
                _begin(room, question, "open")
        case "close":
            _close(room)
        case "idle":
            _begin(room, None, "idle")
        case "show":
            room.link = _link(said.get("link"))
        case "let_go" | "gather" as what:
            room.follows = what == "gather"
        case "lock":
            room.locked = said.get("on") is True
        case "write":
            _ask_to_write(room, said.get("state"))
        case "measure":
            _measure(room, said.get("values"))
        case "hide":
            for sentence in room.sentences.values():
                if sentence.number == said.get("number"):
                    sentence.hidden = said.get("on") is not False
        case str(what) if what in _STEPS:
            _step(room, what, said.get("answer"))
        case _:
            raise Refusal("There is no such act.")
    return room.packed() != before


def _begin(room: Room, question: RoomAsked | None, phase: str) -> None:
    room.question, room.phase, room.round, room.answer, room.ballots = question, phase, 0, None, [{}, {}]


def _close(room: Room) -> None:
    if room.phase in _OPEN:
        room.phase = "closed" if room.phase == "open" else "closed_again"
    elif room.phase not in ("closed", "closed_again"):
        raise Refusal("Voting is not open.", 409)


def _step(room: Room, act: str, answer: object) -> None:
    before, after = _STEPS[act]
    if room.phase == after:
        return
    if room.phase not in before or (after == "again" and room.round):
        raise Refusal("That cannot be done now: close the vote first." if room.question else "Ask first.", 409)
    if after == "answer":
        room.answer = _answer(room, answer)
    room.phase, room.round = after, 1 if after == "again" else room.round


def _ask_to_write(room: Room, said: object) -> None:
    if not isinstance(said, str) or said not in ("off", "asked", "shown"):
        raise Refusal("Sentences are off, asked or shown.")
    if said == "asked" and room.write != "asked":  # perhaps with another measure
        for sentence in room.sentences.values():
            sentence.value = None
    room.write = said


def _measure(room: Room, said: object) -> None:
    match said:
        case list(values) if len(values) <= MOST_PHONES and all(map(_is_value, values)):
            found = dict(values)
        case _:
            raise Refusal("A measure is a number of a sentence and a value.")
    for sentence in room.sentences.values():
        sentence.value = found.get(sentence.number, sentence.value)


# ---- what is told


def state(room: Room) -> RoomState:
    """What everybody may know, as a phone that has said nothing is told it."""
    return {
        "code": room.code,
        "version": room.version,
        "phase": room.phase,
        "round": room.round,
        "follows": room.follows,
        "link": room.link,
        "question": room.question,
        "joined": len(room.phones),
        "voted": len(room.ballots[room.round]),
        "tallies": _tallies(room) if room.phase in ("tallies", "answer") else [],
        "answer": room.answer if room.phase == "answer" else None,
        "locked": room.locked,
        "write": room.write,
        "written": len(room.sentences),
        "points": _points(room) if room.write == "shown" else [],
        "mine": {"choice": None, "sentence": ""},
    }


def state_of(room: Room, name: str) -> RoomState:
    """What who has this name is told. Raises a Stranger."""
    told = state(room)
    if is_host(room, name):
        told["points"] = _points(room)
        if room.phase not in ("idle", *_OPEN):
            told["tallies"] = _tallies(room)
        return told
    told["mine"] = mine(room, name)
    return told


def mine(room: Room, name: str) -> RoomMine:
    """What a phone itself has said. Raises a Stranger."""
    _check_phone(room, name)
    own = room.sentences.get(name)
    return {"choice": room.ballots[room.round].get(name), "sentence": own.text if own else ""}


def sentences(room: Room, name: str) -> list[RoomSentence]:
    """The sentences that who has this name may read, in an order that tells nothing. Raises a Stranger."""
    if not is_host(room, name):
        _check_phone(room, name)
        if room.write != "shown":
            return []
    told = list[RoomSentence]()
    for one in sorted(room.sentences.values(), key=lambda one: one.number):
        if not one.hidden or is_host(room, name):
            measured: dict[str, Any] = {} if one.value is None else {"value": one.value}
            told.append({"number": one.number, "text": one.text, "hidden": one.hidden, **measured})  # type: ignore[typeddict-item]
    return told


def _points(room: Room) -> list[tuple[int, float]]:
    seen = [one for one in room.sentences.values() if not one.hidden]
    return sorted((one.number, one.value) for one in seen if one.value is not None)


def _tallies(room: Room) -> list[RoomTally]:
    return [_tally(room, ballots) for ballots in room.ballots[: room.round + 1]]


def _tally(room: Room, ballots: Mapping[str, Choice]) -> RoomTally:
    counted = Counter(ballots.values())
    options = len(room.question["options"]) if room.question and room.question["size"] is None else 0
    dots = [(*cell, count) for cell, count in sorted(counted.items(), key=str) if isinstance(cell, tuple)]
    return {"voted": len(ballots), "counts": [counted[option] for option in range(options)], "dots": dots}


# ---- what may be said


def text_of(said: object, longest: int) -> str:
    """A text for the screen, on one or more lines. Raises a Refusal."""
    if not isinstance(said, str):
        raise Refusal("A text is missing.")
    text = "".join(letter for letter in said if letter not in _TURNS).strip()
    if len(text) > longest:
        raise Refusal(TOO_LONG.of(len(text), longest))
    if any(unicodedata.category(letter) in ("Cc", "Cs") and letter != "\n" for letter in text):
        raise Refusal(UNSHOWN)
    return text


def sentence_of(said: object) -> str:
    """A sentence as a phone writes it, on one line. Raises a Refusal."""
    return text_of(" ".join(said.split("\n")) if isinstance(said, str) else said, LONGEST_SENTENCE)


def _link(said: object) -> str:
    if not isinstance(said, str) or len(said) > LONGEST_LINK or not _LINK.fullmatch(said):
        raise Refusal("A link is a path of this server with its query.")
    return said


def _question(said: object) -> RoomAsked:
    if not isinstance(said, dict) or said.get("kind") not in ("lesson", "own", "cell"):
        raise Refusal("A question is a lesson’s step, an own one, or a click on the map.")
    kind, options, learn, name = said["kind"], said.get("options"), said.get("learn", ""), said.get("id")
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise Refusal("A question has an id of letters and digits.")
    if not isinstance(options, list) or not isinstance(learn, str) or len(learn) > LONGEST_SENTENCE:
        raise Refusal("A question has options and names its lesson.")
    most = {"cell": 0, "own": MOST_OPTIONS, "lesson": MOST_OPTIONS + 2}[kind]
    if not min(most, 2) <= len(options) <= most:
        raise Refusal(f"A question has 2 to {most} options." if most else "A click on the map has no options.")
    link = said.get("link", "")
    longest = LONGEST_SENTENCE if kind == "own" else LONGEST_TEXT
    return {
        "id": name,
        "kind": kind,
        "text": text_of(said.get("text"), LONGEST_TEXT),
        "options": [text_of(option, longest) for option in options],
        "link": _link(link) if link != "" or kind == "cell" else "",
        "learn": text_of(learn, LONGEST_SENTENCE),
        "size": _size(said.get("size")) if kind == "cell" else None,
        "second": said.get("second") is True,
    }


def _size(said: object) -> Cell:
    match said:
        case [rows, columns] if _is_whole(rows, MOST_TOKENS + 1) and _is_whole(columns, MOST_TOKENS + 1):
            if rows and columns:
                return rows, columns
    raise Refusal(f"A map has 1 to {MOST_TOKENS:,} rows and columns.")


def _answer(room: Room, said: object) -> RoomAnswer:
    right = said.get("right", []) if isinstance(said, dict) else None
    count = len(room.question["options"]) if room.question else 0
    if not isinstance(said, dict) or not isinstance(right, list) or not all(_is_whole(one, count) for one in right):
        raise Refusal("An answer has a sentence, and the numbers of the options that are right.")
    return {"right": sorted(set(right)), "text": text_of(said.get("text", ""), LONGEST_TEXT)}


def _is_whole(said: object, below: int) -> TypeGuard[int]:
    return isinstance(said, int) and not isinstance(said, bool) and 0 <= said < below


def _is_value(said: object) -> bool:
    match said:
        case [int(), int() | float() as value]:
            return not isinstance(value, bool) and -LARGEST_VALUE <= value <= LARGEST_VALUE
    return False
