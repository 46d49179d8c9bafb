"""The Train page without a browser: opened with a link, its sheets read, its training waited for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.kit.jobs import training
from pages.kit.jobs.training import Job

from .conftest import SHELL
from .test_lab import wait

__all__ = ["TINY", "Train", "no_job_stays"]

# over in a second
TINY: dict[str, Any] = {"dm": "16", "nh": "2", "steps": "8", "batch": "8", "seeds": "1", "ratio": "false"}


class Train:
    """The page with the values of a link."""

    def __init__(self, **values: str | list[str]) -> None:
        self.app = AppTest.from_file(str(SHELL), default_timeout=120)
        for key, value in values.items():
            self.app.query_params[key] = value
        self.app.switch_page("../../train/page.py").run()

    @property
    def job(self) -> Job:
        """The present training."""
        found: Job = self.app.session_state["visit_things"].jobs[-1]
        return found

    def start(self) -> Job:
        self.app.button(key="train_start").click().run()
        return self.job

    def trained(self) -> Train:
        """Presses Train and waits until the page has everything."""
        job = self.start()
        wait(lambda: job.over)
        self.app.run()
        return self

    def blocks(self) -> list[dict[str, Any]]:
        """Every block of every sheet, those inside panels and rows too."""
        assert not self.app.exception
        assert not self.app.error
        found: list[dict[str, Any]] = []

        def walk(some: list[dict[str, Any]]) -> None:
            for block in some:
                found.append(block)
                walk(block.get("blocks", []))

        for component in self.app.get("bidi_component"):
            if component.proto.component_name == "headlight_sheet":
                walk(json.loads(component.proto.json)["blocks"])
        return found

    def notices(self) -> list[str]:
        return [text for block in self.blocks() if block["kind"] == "notices" for text in block["sentences"]]

    def texts(self) -> str:
        return "\n".join(block["text"] for block in self.blocks() if block["kind"] in ("text", "title"))

    def panel(self, heading: str) -> dict[str, Any]:
        (found,) = [block for block in self.blocks() if block.get("heading") == heading]
        return found

    def table(self, head: str) -> dict[str, Any]:
        """The table that has such a column."""
        (found,) = [block for block in self.blocks() if block["kind"] == "table" and head in block["head"]]
        return found

    def off(self, key: str) -> bool:
        return bool(self.app.button(key=key).disabled)


@pytest.fixture(autouse=True)
def no_job_stays() -> Iterator[None]:
    """No training outlives its test."""
    yield
    for job in training.under_way():
        job.kill()
    wait(lambda: not training.under_way())
