"""Timers of the browser's code: four of the views that own what is shown; the others hold no state of theirs."""

from __future__ import annotations

import re
from pathlib import Path

WEB = Path(__file__).parents[2] / "assets" / "web"
TIMER = re.compile(r"\bset(?:Timeout|Interval)\(")
# Nothing is kept equal to something else by waiting: these wait for a visitor, or for a server.
OF_VIEWS = {
    "wire/wire_view.js": ["the address follows a choice, or a pause in typing"],
    "wire/wire.js": ["an answer that is long in coming is marked", "a question that failed is asked again"],
    "shapes/steps.js": ["a key held down walks through the steps without a question for each", "play"],
}
OTHERS = {
    "base/copy_button.js": ["“copied” goes"],
    "base/view_base.js": ["what is read aloud follows a pause", "a late drawing"],
    "explore/next_tokens.js": ["play"],
    "lessons/lesson.js": ["the verdict follows a pause"],
    "wire/answered.js": ["what was not answered is asked again"],
    "frame/first.js": ["the early picture goes, if nothing replaces it", "a font that does not come", "after a frame"],
    "frame/boot.js": ["Streamlit’s files are let go, if nothing is drawn"],
    "files/take_along.js": ["a file that was handed over is forgotten"],
    "positions/encodings.js": ["after a frame"],
}


def test_every_timer_is_named() -> None:
    found = {
        file.relative_to(WEB).as_posix(): len(TIMER.findall(file.read_text("utf-8"))) for file in WEB.rglob("*.js")
    }
    assert {name: many for name, many in found.items() if many} == {
        name: len(why) for name, why in {**OF_VIEWS, **OTHERS}.items()
    }
    assert sum(why != "play" for all_of_one in OF_VIEWS.values() for why in all_of_one) <= 4
