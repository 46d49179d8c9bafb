"""The Train page without a browser: opened with a link, its sheets read, its training waited for."""

from __future__ import annotations

from typing import Any

from headlight.jobs.training import TrainingJob
from mha_core.training.limits import TrainingPlan

from .conftest import app_at, blocks
from .waiting import PATIENCE, wait

# over in a second; its budget is for a machine that is busy: a training steps back for all else
TINY: dict[str, Any] = {
    "dm": "16", "nh": "2", "steps": "8", "batch": "8", "seeds": "1", "budget": "1800",
}  # fmt: skip
NEWS = "\n".join(["text,label", *(f"{word} {other},{word}" for word in ("sport", "tech") for other in "abcdefgh")])


class Train:
    """The page with the values of a link."""

    def __init__(self, **values: str | list[str]) -> None:
        self.app = app_at("train", **values).run()

    @property
    def job(self) -> TrainingJob:
        """The present training."""
        present: TrainingJob = self.app.session_state["training_visit"].jobs[-1]
        return present

    def open(self, tab: str) -> Train:
        self.app.session_state["tab"] = tab
        self.app.run()
        return self

    def start(self) -> TrainingJob:
        self.app.button(key="train_start").click().run()
        return self.job

    def looked(self) -> TrainingJob:
        """Presses Train and waits until the page has the first look at the test rows."""
        job = self.start()
        wait(lambda: job.record.has_evaluations)
        self.app.run()
        return job

    def over(self) -> Train:
        """Waits until the training has ended and the page has everything."""
        self.job.join(PATIENCE)
        self.app.run()
        return self

    def trained(self) -> Train:
        """Presses Train and waits for all of it."""
        self.start()
        return self.over()

    def blocks(self) -> list[dict[str, Any]]:
        return blocks(self.app)

    def notices(self) -> list[str]:
        return [text for block in self.blocks() if block["kind"] == "notices" for text in block["sentences"]]

    def progress(self) -> str:
        """What stands at the bar."""
        (bar,) = self.app.get("progress")
        return str(bar.proto.text)

    def texts(self) -> str:
        return "\n".join(block["text"] for block in self.blocks() if block["kind"] in ("text", "title"))

    def table(self, head: str) -> dict[str, Any]:
        """The table that has such a column."""
        (found,) = [block for block in self.blocks() if block["kind"] == "table" and head in block["head"]]
        return found

    def off(self, key: str) -> bool:
        return bool(self.app.button(key=key).disabled)


def plan_of(page: Train, planned: list[TrainingPlan]) -> TrainingPlan:
    """Presses Train."""
    page.app.button(key="train_start").click().run()
    return planned[-1]


def upload(page: Train, key: str, content: bytes, kind: str = "text/csv") -> None:
    """Gives a file to an uploader."""
    page.app.file_uploader(key=key).set_value((f"file.{kind.partition('/')[2]}", content, kind)).run()
