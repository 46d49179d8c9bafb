"""Room state, the acts that change it and the view that each member gets: a pure state machine.

An act changes the room, or raises a RoomError and leaves it unchanged. Secrets are not stored: host and phones are
identified by digests of theirs.
"""

import hashlib
import hmac
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from mha_core.errors import HeadlightError

from .messages import RoomAnswer, RoomAsked, RoomState

MAX_PHONES: Final = 300
MAX_OPTIONS: Final = 8
MAX_TEXT: Final = 2000  # characters of a question, an option and an answer
MAX_LINK: Final = 6000

_LINK = re.compile(r"/(?:(?!/)[!-\[\]-~]*)?")  # a path of this server; browsers read // and \ as another one
_ID = re.compile(r"[\w-]{1,40}", re.ASCII)
# An act -> the phases that it leads from, and the phase that it leads to.
_TRANSITIONS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "close": (("open",), "closed"),
    "discuss": (("closed",), "discuss"),
    "again": (("closed", "discuss"), "open"),
    "tallies": (("closed", "discuss"), "tallies"),
    "answer": (("closed", "discuss", "tallies"), "answer"),
}


class RoomError(HeadlightError):
    """An error of a request to a room: the sentence for the user and the status of the response."""

    def __init__(self, sentence: str, status: int = 422) -> None:
        super().__init__(sentence)
        self.status = status


class NotAuthorized(RoomError):
    """The key or token is not one of this room's."""

    def __init__(
        self, sentence: str = "This phone is not in the room, or the room was opened again; join again."
    ) -> None:
        super().__init__(sentence, 403)


@dataclass
class Room:
    """The stored state of one room."""

    code: str
    host: str  # digest of the host's key
    version: int = 1
    phase: str = "idle"
    round: int = 0
    follows: bool = True
    link: str = "/"
    question: RoomAsked | None = None
    answer: RoomAnswer | None = None
    locked: bool = False
    # digests of the phones' tokens, in the order in which they joined
    phones: dict[str, None] = field(default_factory=dict)
    # for each round, phone -> number of the option
    ballots: list[dict[str, int]] = field(default_factory=lambda: [{}, {}])

    def pack(self) -> bytes:
        """Return the room as JSON."""
        return json.dumps(vars(self), ensure_ascii=False, separators=(",", ":")).encode()


def unpack(content: bytes) -> Room:
    """Return the room that `Room.pack` has written."""
    return Room(**json.loads(content))


def secret_digest(secret: str) -> str:
    """Return the digest that identifies the owner of a key or a token without revealing it."""
    return hashlib.blake2b(secret.encode("utf-8", "replace"), digest_size=12).hexdigest()


def is_host(room: Room, name: str) -> bool:
    """Return whether the member of this name is the host, in constant time."""
    return hmac.compare_digest(name.encode("utf-8", "replace"), room.host.encode())


def check_host(room: Room, name: str) -> None:
    """Raise NotAuthorized unless the member of this name is the host."""
    if not is_host(room, name):
        raise NotAuthorized("Only the host of this room can do this.")


# ---- a phone's acts


def join(room: Room, name: str) -> None:
    """Add a phone; one that has joined before stays as it is."""
    if name in room.phones:
        return
    if room.locked:
        raise RoomError("The host has locked this room: no new phones can join.", 409)
    if len(room.phones) >= MAX_PHONES:
        raise RoomError(f"This room is full: {MAX_PHONES} phones have joined.", 409)
    room.phones[name] = None


def vote(room: Room, name: str, body: Mapping[str, Any]) -> None:
    """Record a phone's vote in the open round, replacing its earlier one."""
    if name not in room.phones:
        raise NotAuthorized
    if room.phase != "open" or room.question is None:
        raise RoomError("Voting is closed.", 409)
    if body.get("question") != room.question["id"] or body.get("round") != room.round:
        raise RoomError("That question is closed; there is a new one.", 409)
    choice, count = body.get("choice"), len(room.question["options"])
    if not _is_option(choice, count):
        raise RoomError(f"This option does not exist; choose one of {count}.")
    room.ballots[room.round][name] = choice


# ---- the host's acts


def act(room: Room, name: str, body: Mapping[str, Any]) -> None:
    """Apply an act of the host."""
    check_host(room, name)
    match body.get("act"):
        case "ask":
            question = _question(body.get("question"))
            if room.question is None or room.question["id"] != question["id"]:
                _reset(room, question, "open")
        case "idle":
            _reset(room, None, "idle")
        case "show":
            room.link = _link(body.get("link"))
        case "let_go" | "gather" as command:
            room.follows = command == "gather"
        case "lock":
            room.locked = body.get("on") is True
        case str(step) if step in _TRANSITIONS:
            _advance(room, step, body.get("answer"))
        case _:
            raise RoomError("Unknown action.")


def _reset(room: Room, question: RoomAsked | None, phase: str) -> None:
    room.question, room.phase, room.round, room.answer, room.ballots = question, phase, 0, None, [{}, {}]


def _advance(room: Room, step: str, answer: object) -> None:
    sources, target = _TRANSITIONS[step]
    next_round = 1 if step == "again" else room.round
    if (room.phase, room.round) == (target, next_round):
        return
    if room.phase not in sources or (room.round and step in ("discuss", "again")):
        raise RoomError("Close the vote first." if room.question else "Ask a question first.", 409)
    if target == "answer":
        room.answer = _answer(room, answer)
    room.phase, room.round = target, next_round


# ---- views of the members


def member_view(room: Room, name: str) -> RoomState:
    """Return what the member of this name may see.

    Raises:
        NotAuthorized: the name is unknown.
    """
    if not is_host(room, name) and name not in room.phones:
        raise NotAuthorized
    is_shown = room.phase in ("tallies", "answer") or (is_host(room, name) and room.phase not in ("idle", "open"))
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
        "tallies": _tallies(room) if is_shown else [],
        "answer": room.answer,
        "locked": room.locked,
        "choice": room.ballots[room.round].get(name),
    }


def _tallies(room: Room) -> list[list[int]]:
    options = range(len(room.question["options"])) if room.question else ()
    counted = [Counter(ballots.values()) for ballots in room.ballots[: room.round + 1]]
    return [[votes[option] for option in options] for votes in counted]


# ---- validation


def _text(value: object) -> str:
    """Validate a text for the screen, of one or more lines."""
    if not isinstance(value, str):
        raise RoomError("The text is missing.")
    if len(value) > MAX_TEXT:
        raise RoomError(f"This text is too long: {len(value):,} characters, at most {MAX_TEXT:,} are allowed.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") and letter != "\n" for letter in value):
        raise RoomError("That has characters that cannot be shown; type it again without them.")
    return value.strip()


def _link(value: object) -> str:
    if not isinstance(value, str) or len(value) > MAX_LINK or not _LINK.fullmatch(value):
        raise RoomError("A link must be a path on this server with its query.")
    return value


def _question(value: Any) -> RoomAsked:
    match value:
        case {"id": str(name), "options": list(options)} if _ID.fullmatch(name) and 2 <= len(options) <= MAX_OPTIONS:
            return {
                "id": name,
                "text": _text(value.get("text")),
                "options": [_text(option) for option in options],
                "learn": _text(value.get("learn", "")),
            }
    raise RoomError(f"A question needs an id of letters and digits, and 2 to {MAX_OPTIONS} options.")


def _answer(room: Room, value: object) -> RoomAnswer:
    count = len(room.question["options"]) if room.question else 0
    match value:
        case {"right": list(right), "text": text} if all(_is_option(number, count) for number in right):
            return {"right": sorted(set(right)), "text": _text(text)}
    raise RoomError("An answer needs a sentence and the numbers of the correct options.")


def _is_option(value: object, count: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count
