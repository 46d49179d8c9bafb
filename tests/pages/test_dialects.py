"""The dictionary: where torch or transformers themselves can be asked, they are."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS, masks
from mha_core.errors import MaskError
from pages.implementations.dialects import DIALECTS, ROWS, dictionary

CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()
CODE, THREE, BLOG, EINSUM = (
    "annotated code, time first", "lesson with three helpers", "blog post, naive and efficient", "notebook in einsum",
)  # fmt: skip


def word(idea: str, dialect: str) -> str:
    return ROWS[idea][DIALECTS.index(dialect)]


@pytest.fixture
def theirs() -> nn.MultiheadAttention:
    torch.manual_seed(0)
    return nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True).double().eval()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 4, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_every_name_of_a_text_is_found_in_its_column() -> None:
    for dialect, names in (
        (CODE, "PrepareForMultiHeadAttention get_scores prepare_mask attn heads d_k scale output"),
        (THREE, "split_heads compute_attention combine_heads num_heads head_dim seq_length attention_weights"),
        (BLOG, "W_q W_k W_v head_blocks AttentionBlock projection projection_bias attn_weights n_heads"),
        (BLOG, "MyMultiheadAttention my_scaled_dot_product_attention averaged MyEfficientMultiHeadAttention"),
        (BLOG, "embed_dim head_embed_dim head_dim bs seq_len split_heads qk dk TextClassifier PositionalEncoding"),
        (EINSUM, "KX QX VX Uₜ Ut barycentres n_b n_h d_h D U Z Y L"),
    ):
        at = 1 + DIALECTS.index(dialect)
        for name in names.split():
            (found,) = dictionary(f" {name.upper()} ")
            own = [i for i, row in enumerate(found["rows"]) if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", row[at])]
            assert own, name
            assert all([i, at, "here"] in found["marks"] for i in own)


def test_true_is_blocked_in_multiheadattention_and_may_look_elsewhere(
    theirs: nn.MultiheadAttention, x: torch.Tensor
) -> None:
    assert word("a mask of True and False", "nn.MultiheadAttention").endswith("True = blocked")
    _, weights = theirs(x, x, x, attn_mask=~CAUSAL)
    assert weights[:, ~CAUSAL].eq(0).all()
    assert weights[:, CAUSAL].gt(0).all()
    _, padded = theirs(x, x, x, key_padding_mask=torch.tensor([[True, True, False, False]] * 2))
    assert padded[:, :, :2].eq(0).all()
    assert word("padding", "nn.MultiheadAttention").endswith("True = blocked")
    _, ours = IMPLEMENTATIONS["fused"](8, 2).double()(x, allow=CAUSAL)
    assert ours is not None
    assert ours[..., ~CAUSAL].eq(0).all()
    eye = torch.eye(4, dtype=torch.float64).expand(2, 4, 4)  # the unit matrix as values gives the weights
    assert F.scaled_dot_product_attention(x, x, eye, attn_mask=CAUSAL)[:, ~CAUSAL].eq(0).all()
    for dialect in ("Headlight", "F.scaled_dot_product_attention"):
        assert word("a mask of True and False", dialect).endswith("True = may look")
    assert masks.allow(masks.causal, 4, 4)[0, 0].equal(CAUSAL)
    # floats are added there, and refused here
    floats = CAUSAL.double()
    assert theirs(x, x, x, attn_mask=floats)[1].gt(0).all()
    assert F.scaled_dot_product_attention(x, x, eye, attn_mask=floats).gt(0).all()
    with pytest.raises(MaskError):
        IMPLEMENTATIONS["fused"](8, 2).double()(x, allow=floats)
