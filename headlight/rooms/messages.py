"""The protocol of a room: a host asks, the phones of a class answer. What is said to whom, and in which state.

Everything lies under `PATH`, for this server's own pages alone. An act is a POST of one JSON object; what comes back is
200 with JSON, or one sentence as plain text: 404 there is no such room (any more), 403 the key or the token does not
fit, 409 not in this state or full, 422 the content does not fit, 413 it is too long, 429 too often, 503 the rooms
cannot be reached just now. With 429 and 503 comes `Retry-After`; **every act may be sent again as it is**: what was
done already is not done twice. An answer that breaks off is none.

| POST | body | answer | by whom |
| open | {} | RoomOpened | anybody; he is its host |
| join | {code, token?, key?} | RoomJoined | a phone, again with its token; a host with his key |
| act | {code, key, act, …} | RoomVersion | the host, see below |
| vote | {code, token, question, round, choice} | RoomVersion | a phone; choice: an option's number, or [row, column] |
| sentence | {code, token, text} | RoomVersion | a phone; the last one counts, "" takes it back |
| delete | {code, key} | {} | the host; all of it is gone at once |

| GET | query | answer |
| events | code, listen | an event stream (`EventSource`): the present state at once, then newer ones, 5 a second |
| sentences | code, listen | RoomSentences: to the host all, to a phone those that may be seen |

`key` and `token` are secrets and travel in bodies alone. `listen` names who listens, is made of the secret by the
server, and allows no act, so it may stand in an address. A tab keeps its token (sessionStorage); without one, or with
one that is not known, `join` gives a new one, which is another voter.

Events: `room` with a RoomState; `wait` with a RoomTold, while the rooms cannot be reached: the stream stays, and the
next `room` is the newest; `gone` with a RoomTold, the last one: close the EventSource, or it asks again. It connects
anew by itself, also to another copy of the server.

The acts of a host, by `act`, and the state ("phase") that they lead to. One that leads to where the room is already
does nothing. `ask` is allowed in any state.

| ask | question: RoomAsked → open; its `id` is made by the host's tab: the same id again changes nothing |
| close | open → closed, again → closed_again |
| discuss | closed → discuss |
| again | closed, discuss → again: the second vote |
| tallies | closed, closed_again, discuss → tallies: everybody sees them side by side |
| answer | answer: RoomAnswer; closed, discuss, closed_again, tallies → answer: everybody sees it and the tallies |
| idle | any → idle: no question |
| show | link: a path of this server with its query. The host's view; phones that follow show it |
| let_go | phones go on alone from `link` |
| gather | phones follow again |
| lock | on: true keeps new phones out; known ones come back |
| write | state: "off", "asked" (phones may send one), "shown" (points are seen, and their sentences) |
| measure | values: [[number of a sentence, its measure], …], computed by the host's tab |
| hide | number: of a sentence, on: true or false |

A tally is told to the host from `closed` on, to phones in `tallies` and `answer`, and to nobody in `open` and `again`.
"""

from typing import Final, NotRequired, TypedDict

from headlight.ui.web import API

PATH: Final = f"{API}/room"
ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # of a code: without O and 0, I and 1
CODE_LETTERS: Final = 6

Cell = tuple[int, int]  # row (query) and column (key) of the map, counted from 0


class RoomOpened(TypedDict):
    code: str
    key: str  # of the host: in his own link behind #, never in the phones'
    listen: str


class RoomJoined(TypedDict):
    token: str  # "" to a host
    listen: str


class RoomVersion(TypedDict):
    version: int  # of the state in which it was done; the stream comes to it


class RoomTold(TypedDict):
    told: str  # a sentence for the screen


class RoomAsked(TypedDict):
    id: str  # made by the host's tab, 1 to 40 of [A-Za-z0-9_-]; another question has another one
    kind: str  # "lesson", "own" (2 to 6 options) or "cell" (a click on the map of `link`)
    text: str
    options: list[str]  # of a lesson's step its options' texts; none of a cell
    link: str  # the picture that is asked of; "" of an own question without one
    learn: str  # "lesson.step" as in links; "" but of a lesson
    size: Cell | None  # rows and columns of the map, of a cell
    second: bool  # the second question of the same idea


class RoomAnswer(TypedDict):
    right: list[int]  # the numbers of the options that are right; may be none
    text: str  # the sentence that was computed


class RoomTally(TypedDict):
    voted: int
    counts: list[int]  # by option
    dots: list[tuple[int, int, int]]  # of a cell: row, column, how many


class RoomMine(TypedDict):
    choice: int | Cell | None  # in the round that is under way, or was last
    sentence: str


class RoomState(TypedDict):
    code: str
    version: int  # grows with each change; an older one is never sent after a newer one
    phase: str  # idle open closed discuss again closed_again tallies answer
    round: int  # 0, from `again` on 1
    follows: bool
    link: str
    question: RoomAsked | None
    joined: int
    voted: int  # in this round
    tallies: list[RoomTally]  # none while they may not be seen, else one for each round
    answer: RoomAnswer | None
    locked: bool
    write: str  # off asked shown
    written: int  # sentences
    points: list[tuple[int, float]]  # number and measure of the sentences that may be seen, in no order of time
    mine: RoomMine  # of this phone


class RoomSentence(TypedDict):
    number: int  # by chance, another one when it is written anew, and no part of its owner
    text: str
    value: NotRequired[float]  # once it is measured
    hidden: bool


class RoomSentences(TypedDict):
    sentences: list[RoomSentence]
