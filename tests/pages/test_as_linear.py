"""The stacked weights as nn.Linear keeps them, and the count of projections against the layers themselves."""

from __future__ import annotations

import torch
from torch import nn

from mha_core import IMPLEMENTATIONS
from pages.by_hand import as_linear
from pages.by_hand.workbook import Workbook, changed, defaults
from pages.kit.draw.sheet import Block

from .conftest import every


def matrix(blocks: list[Block], name: str) -> torch.Tensor:
    cells = next(block["cells"] for block in every(blocks) if block.get("name") == name)
    return torch.tensor([[float(cell.replace("−", "-")) for cell in line] for line in cells])


def test_it_is_what_a_linear_with_these_weights_computes() -> None:
    book = changed(Workbook(defaults()), {"edit": "w1", "row": 3, "col": 0, "text": "-7"})
    shown = [as_linear.panel(book)]
    linear = nn.Linear(4, 4, bias=False)
    linear.load_state_dict({"weight": matrix(shown, "W0 over W1")})
    torch.testing.assert_close(linear(matrix(shown, "x")), matrix(shown, "x Wᵀ"))
    assert torch.equal(matrix(shown, "Wᵀ"), matrix(shown, "W0 over W1").T)
    assert torch.equal(matrix(shown, "W0 over W1"), torch.cat([matrix(shown, "W0"), matrix(shown, "W1")]))
    assert matrix(shown, "W1").tolist() == [[20, 0, 0, -7], [0, 20, 0, 0]]


def test_six_projections_become_three() -> None:
    text, table = as_linear.projections()
    assert "6 projections become 3" in text["text"]
    assert [line[:3] for line in table["rows"]] == [
        ["naive", "6", "⟨2, 4⟩"],
        ["efficient", "3", "⟨4, 4⟩"],
        ["fused", "1", "⟨12, 4⟩"],
    ]
    for name, line in zip(as_linear.SPELLINGS, table["rows"], strict=True):
        layer = IMPLEMENTATIONS[name](4, 2, bias=False)
        numbers = sum(one.numel() for part, one in layer.named_parameters() if not part.startswith("out"))
        assert int(line[3]) == numbers == 48
