"""The modules of assets/web in a plain page of the app's server: a test hands them a table and reads what they say."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Page

from headlight.ui.web import PREFIX

BYTES = "const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));"


class Modules:
    def __init__(self, page: Page) -> None:
        self.page = page

    def each(self, module: str, rows: Sequence[Any], expression: str) -> list[Any]:
        """The value of a JavaScript expression for every `row`, where `m` holds what the module exports."""
        imported = f"const m = await import('{PREFIX}/{module}'); {BYTES}"
        values: list[Any] = self.page.evaluate(
            f"async (rows) => {{ {imported} return rows.map((row) => {expression}); }}", list(rows)
        )
        return values

    def one(self, module: str, row: Any, expression: str) -> Any:
        return self.each(module, [row], expression)[0]


def as_text(packed: bytes) -> str:
    """Bytes as an expression gets them: `bytes(row)`."""
    return base64.b64encode(packed).decode()
