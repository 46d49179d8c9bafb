"""What the browser is told has the types that both sides are checked by: mypy the makers, tsc the views."""

from __future__ import annotations

from typing import get_type_hints
from urllib.parse import urlencode

import pytest

from mha_core.show.packing import Maps
from pages import declarations
from pages.compare.handlers import ComparePicture
from pages.explore.handlers import ExplorePicture
from pages.explore.heads_overview import HeadsOverview
from pages.explore.kv_cache import CacheAnswer
from pages.explore.layer_flow import FlowAnswer
from pages.explore.lens import LensAnswer
from pages.explore.pair_channels import ChannelsAnswer
from pages.explore.residual_stream import ResidualAnswer
from pages.masks.message import Masks
from pages.model_map.message import ModelMap
from pages.shapes.handlers import StepsPicture, TraceHeader

from .conftest import answers, unpacked


def test_the_declarations_of_the_browser_are_those_of_the_messages() -> None:
    written = declarations.FILE.read_text("utf-8")
    assert written == declarations.text(), "run python -m pages.declarations"
    assert declarations.ts_type(list[tuple[int | None, str]]) == "[number | null, string][]"
    assert declarations.ts_type(list[int | None]) == "(number | null)[]"
    with pytest.raises(TypeError, match="cannot have a field of set"):
        declarations.ts_type(dict[str, set[str]])


def test_the_parts_of_an_answer_have_the_fields_of_their_types() -> None:
    for route, link, parts in (
        ("maps", {"pin": "0.2.3~causal~none~0.5~1.1-0.0~how are you"}, [ExplorePicture, Maps]),
        ("overview", {}, [HeadsOverview]),
        ("flow", {"view": "flow"}, [FlowAnswer]),
        ("channels", {}, [ChannelsAnswer]),
        ("residual", {}, [ResidualAnswer]),
        ("lens", {"model": "words-2layers-1", "s": "boat drum key"}, [LensAnswer]),
        ("cache", {}, [CacheAnswer]),
        ("masks", {"mask": "dilated"}, [Masks]),
        ("initial", {"mask": "causal"}, [ComparePicture]),
        ("architecture", {}, [ModelMap]),
        ("steps", {}, [StepsPicture, TraceHeader]),
    ):
        found = answers(route, urlencode({"s": "how are you", **link}))
        assert [set(unpacked(part)[0]) for part in found] == [set(get_type_hints(part)) for part in parts], route
