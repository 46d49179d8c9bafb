"""What a phone may hear of a room, in the two languages that a phone speaks; what only the host can hear is English."""

from dataclasses import dataclass
from typing import Final

from mha_core.errors import HeadlightError

MOST_PHONES: Final = 300


@dataclass(frozen=True)
class Bilingual:
    """A sentence in both languages."""

    english: str
    german: str

    def said(self, language: str) -> str:
        """In German for "de", else in English."""
        return self.german if language == "de" else self.english

    def of(self, *figures: int) -> "Bilingual":
        """With figures where it has {}, thousands parted as each language does."""
        english = [f"{figure:,}" for figure in figures]
        return Bilingual(
            self.english.format(*english), self.german.format(*(figure.replace(",", ".") for figure in english))
        )


class Refusal(HeadlightError):
    """An act that is not done; the message is the sentence in English, `status` that of the answer."""

    def __init__(self, told: Bilingual | str, status: int = 422) -> None:
        self.told = Bilingual(told, told) if isinstance(told, str) else told
        super().__init__(self.told.english)
        self.status = status


AWAY: Final = Bilingual(
    "The rooms cannot be reached for a moment; nothing that was counted is lost. It goes on by itself.",
    "Die Räume sind gerade nicht zu erreichen; was gezählt wurde, ist nicht verloren. Es geht von selbst weiter.",
)
FULL: Final = Bilingual(
    "This room is full: {} have joined.", "Dieser Raum ist voll: {} sind schon darin."
).of(MOST_PHONES)  # fmt: skip
GUESSED: Final = Bilingual(
    "Too many codes were tried from your network; try again in a minute.",
    "Aus deinem Netz wurden zu viele Codes probiert; versuche es in einer Minute noch einmal.",
)
LATE: Final = Bilingual(
    "That took too long to arrive; send it again.", "Das kam nicht rechtzeitig an; schicke es noch einmal."
)
LOCKED: Final = Bilingual(
    "The host lets nobody new into this room.", "Die Lehrkraft lässt niemanden mehr in diesen Raum."
)
NOT_ASKED: Final = Bilingual("Sentences are not asked for now.", "Gerade wird nicht nach Sätzen gefragt.")
NOT_IN: Final = Bilingual(
    "This phone has not joined the room, or the room has begun anew; join again.",
    "Dieses Handy ist nicht im Raum, oder der Raum hat neu begonnen; geh noch einmal hinein.",
)
NO_CELL: Final = Bilingual(
    "There is no such cell; the map has {} rows and {} columns.",
    "Diese Zelle gibt es nicht; die Karte hat {} Zeilen und {} Spalten.",
)
NO_OPTION: Final = Bilingual(
    "There is no such option; choose one of {}.", "Diese Antwort gibt es nicht; wähle eine von {}."
)
NO_ROOM: Final = Bilingual(
    "There is no room of this code: it was mistyped, or the room is gone: "
    "deleted, 90 minutes without an act, or its server was started anew.",
    "Zu diesem Code gibt es keinen Raum: Er ist vertippt, oder den Raum gibt es nicht mehr: "
    "gelöscht, 90 Minuten ohne einen Schritt, oder sein Server hat neu begonnen.",
)
OFTEN: Final = Bilingual(
    "Too much came at once from here; try again in a moment.",
    "Von hier kam zu viel auf einmal; versuche es gleich noch einmal.",
)
OVER: Final = Bilingual(
    "That question is over; another one is asked now.", "Diese Frage ist vorbei; jetzt wird eine andere gestellt."
)
TOO_LONG: Final = Bilingual(
    "That is too long: {} characters, where {} are allowed.", "Das ist zu lang: {} Zeichen, erlaubt sind {}."
)
UNSHOWN: Final = Bilingual(
    "That has characters that cannot be shown; type it anew.",
    "Darin sind Zeichen, die sich nicht zeigen lassen; tippe es neu.",
)
VOTE_CLOSED: Final = Bilingual("Voting is closed.", "Die Abstimmung ist zu Ende.")
