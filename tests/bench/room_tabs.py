"""A class of real tabs: `python -m tests.bench.room_tabs`. One lesson is given in a room, from end to end.

Every tab but the host's is a phone of its own, which joins by the code and presses its answers. An act takes as long as
until the last tab shows it; the browser, the server and what drives them share the machine.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Browser, Locator, expect

from pages.kit.lessons.course import course
from pages.kit.lessons.schema import Lesson
from pages.kit.lessons.variants import second
from tests.browser.lessons_page import Beside
from tests.browser.measures import PHONE
from tests.browser.plain_pages import Phone

from .chrome import chrome, new_page
from .serving import options, quantiles, serve

WAIT_MS = 60_000
SAID = "words => document.querySelector('#headlight-lesson [role=status]')?.textContent.includes(words)"
STANDS = "learn => new URLSearchParams(location.search).get('learn') === learn"
ASKED = f"{STANDS} && document.querySelector('.option:enabled')"
COUNTED = "rounds => document.querySelector('.option')?.querySelectorAll('.bar').length === rounds"
ANSWERED = "() => document.querySelector('.option[data-right]')"
CLOSED, DISCUSS = "The vote is closed.", "Talk to your neighbour"


@dataclass
class Class:
    """A host at a lesson, and the tabs that are in his room.

    Attributes:
        took: milliseconds until the last tab showed an act, by what it was.
        lost: votes that were not counted, or counted twice.
    """

    host: Beside
    phones: list[Phone]
    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    lost: int = 0

    @property
    def strip(self) -> Locator:
        return self.host.page.get_by_role("region", name="Room")

    def press(self, key: str, what: str, shown: str, arg: object = None) -> None:
        """Presses a key of the host's, and waits until every phone shows what it does."""
        begun = time.perf_counter()
        self.host.page.keyboard.press(key)
        for phone in self.phones:
            phone.page.wait_for_function(shown, arg=arg, timeout=WAIT_MS)
        self.took[what].append(1000 * (time.perf_counter() - begun))

    def vote(self, options: int, chosen: Callable[[int], int]) -> None:
        """Everybody presses an answer, the host sees that all have."""
        begun = time.perf_counter()
        for number, phone in enumerate(self.phones):
            phone.page.locator("#headlight-lesson .option").nth(chosen(number) % options).click()
        told = f"{len(self.phones)} have voted"
        expect(self.strip.get_by_role("status")).to_have_text(told, timeout=WAIT_MS)
        self.took["all vote"].append(1000 * (time.perf_counter() - begun))

    def count(self) -> None:
        """Compares the votes that stand on a phone with those that were given."""
        numbers = self.phones[0].page.locator(".option .bar .count").all_inner_texts()
        counted = sum(map(int, numbers))
        self.lost += abs(counted - 2 * len(self.phones))


def opened(browser: Browser, url: str, lesson: Lesson, phones: int) -> Class:
    """A lesson's first step in a room, and so many phones in it."""
    host = Beside(new_page(browser), url).begin(lesson)
    host.share().get_by_role("button", name="Open a room").click()
    room = Class(host, [])
    code = room.strip.locator('[aria-keyshortcuts="k"] .text').inner_text()
    for _ in range(phones):
        begun = time.perf_counter()
        phone = Phone(browser.new_context(**PHONE).new_page(), url)
        phone.join(code)
        room.phones.append(phone)
        room.took["a phone joins"].append(1000 * (time.perf_counter() - begun))
    expect(room.strip).to_contain_text(f"{phones} in", timeout=WAIT_MS)
    return room


def give(room: Class, lesson: Lesson) -> None:
    """Each step: two votes with talk between them, the tallies, the answer, and the second question if there is one."""
    for at, step in enumerate(lesson.steps, 1):
        name, options = f"{lesson.id}.{at}", len(step.options)
        room.press("v", "ask", ASKED, name)
        room.vote(options, lambda number: number)
        room.press("v", "close", SAID, CLOSED)
        room.press("r", "discuss", SAID, DISCUSS)
        room.press("v", "ask again", ASKED, name)
        room.vote(options, lambda number: number + 1)
        room.press("v", "close", SAID, CLOSED)
        room.press("t", "tallies", COUNTED, 2)
        room.count()
        room.press("s", "answer", ANSWERED)
        if more := second(step):
            room.press("x", "second question", ASKED, f"{name}.2")
            room.vote(len(more.options), lambda number: number)
            room.press("v", "close", SAID, CLOSED)
            room.press("s", "answer", ANSWERED)
        room.host.page.keyboard.press("q")
        room.strip.get_by_role("button", name="ask …").wait_for()
        if at < len(lesson.steps):
            room.press("ArrowRight", "next step", STANDS, f"{lesson.id}.{at + 1}")


def main() -> None:
    asked = options(__doc__, tabs=25)
    lesson = course().lessons["it"]
    with serve() as server, chrome() as browser:
        before = server.memory()
        room = opened(browser, server.url, lesson, asked.tabs)
        give(room, lesson)
        for what, took in room.took.items():
            print(f"{what}: {quantiles(took)}, longest {max(took):.0f} ({len(took)})")
        counted = "every vote counted once" if not room.lost else f"{room.lost} VOTES LOST OR COUNTED TWICE"
        print(f"{asked.tabs} tabs, {len(lesson.steps)} steps: {counted}; memory {server.memory() - before:+.0f} MiB")


if __name__ == "__main__":
    main()
