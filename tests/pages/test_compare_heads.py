"""Every head switched off alone, on the Compare page."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import urlencode

import numpy as np
import pytest

from mha_core.measure import measures
from pages.kit.picture import pictures
from pages.kit.server.queue import QUEUE, Work
from pages.kit.server.visits import Visitor
from pages.kit.wire import routes

from .conftest import answers, unpacked
from .looped import run

LONG = "the cat ran a far way it was so we " * 50  # 502 tokens


def test_one_head_at_a_time() -> None:
    found = json.loads(routes.answer("each", b"s=can+you+can+that&mask=causal&mask2=window&s2=how+are+you"))
    cosines = measures.ablate_each_head(pictures.model_on("auto"), "can you can that", mask="causal")
    assert np.allclose(found["cosines"], cosines, atol=1e-6)
    layer, head = divmod(int(cosines.argmin()), 12)
    assert f"Switching off layer {layer} head {head} changes" in found["said"]
    assert found["title"] == f"L{layer} H{head} matters most"


@pytest.mark.parametrize(("text", "is_quick"), [("how are you", True), (LONG, False)])
def test_a_long_sentence_is_asked_about_first(text: str, is_quick: bool) -> None:
    header, _ = unpacked(answers("pair", urlencode({"s": text}))[0])
    assert header["eachIsQuick"] == is_quick


def test_it_is_heavy_work_where_it_is_not_known() -> None:
    assert routes.work_of("each", b"") is Work.BELOW
    passes, known = list[str](), b"s=how+are+you"
    routes.answer("each", known)

    def compute(raw: bytes) -> bytes:
        passes.append(raw.decode())
        return routes.answer("each", raw)

    async def ask(raw: bytes) -> bytes:
        return await QUEUE.answer(Visitor(), raw, lambda: compute(raw), asyncio.Event().wait(), work=Work.BELOW)

    run(ask(known))
    run(ask(b"s=nobody+asked+for+this"))
    assert passes == ["s=how+are+you", *["s=nobody+asked+for+this"] * 2], "it began anew among the heavy ones"
