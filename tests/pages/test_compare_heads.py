"""Every head switched off alone, on the Compare page."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import numpy as np
import pytest

from mha_core.measure import measures
from pages.kit.picture import pictures
from pages.kit.picture.sharing import Unwanted, wanted
from pages.kit.wire import routes
from pages.kit.wire.line import Work

from .conftest import answers, unpacked

LONG = "the cat ran a far way it was so we " * 50  # 502 tokens


def test_one_head_at_a_time() -> None:
    found = json.loads(routes.answer("each", b"s=can+you+can+that&mask=causal&mask2=window&s2=how+are+you"))
    cosines = measures.ablate_each_head(pictures.model_on("auto"), "can you can that", mask="causal")
    assert np.allclose(found["cosines"], cosines, atol=1e-6)
    layer, head = divmod(int(cosines.argmin()), 12)
    assert f"Switching off layer {layer} head {head} changes" in found["said"]
    assert found["title"] == f"L{layer} H{head} is missed most"


@pytest.mark.parametrize(("text", "is_quick"), [("how are you", True), (LONG, False)])
def test_a_long_sentence_is_asked_about_first(text: str, is_quick: bool) -> None:
    header, _ = unpacked(answers("pair", urlencode({"s": text}))[0])
    assert header["eachIsQuick"] == is_quick


def test_it_is_heavy_work_that_ends_when_nobody_waits_for_it() -> None:
    assert routes.work_of("each", b"") == Work.HEAVY
    with pytest.raises(Unwanted), wanted(lambda: False):
        routes.answer("each", b"s=nobody+waits+for+this")
