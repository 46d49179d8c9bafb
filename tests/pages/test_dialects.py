"""The dictionary: where torch or transformers themselves can be asked, they are."""

from __future__ import annotations

import inspect
import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mha_core import IMPLEMENTATIONS, masks
from mha_core.errors import MaskError
from pages.implementations.dialects import DIALECTS, ROWS, dictionary


def said(idea: str, dialect: str) -> str:
    return ROWS[idea][DIALECTS.index(dialect)]


@pytest.fixture
def theirs() -> nn.MultiheadAttention:
    torch.manual_seed(0)
    return nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True).eval()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 4, 8)


CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()


def test_every_row_has_a_word_for_every_dialect() -> None:
    assert all(len(words) == len(DIALECTS) for words in ROWS.values())
    assert all(word for words in ROWS.values() for word in words)
    (whole,) = dictionary()
    assert len(whole["rows"]) == len(ROWS)
    assert len(DIALECTS) == len(set(DIALECTS)) == 8


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        (
            "annotated code, time first",
            "PrepareForMultiHeadAttention get_scores prepare_mask attn heads d_k scale output",
        ),
        ("lesson with three helpers", "split_heads compute_attention combine_heads num_heads head_dim"),
        ("lesson with three helpers", "seq_length attention_weights"),
        (
            "blog post, naive and efficient",
            "W_q W_k W_v head_blocks AttentionBlock projection projection_bias attn_weights n_heads",
        ),
        ("blog post, naive and efficient", "MyMultiheadAttention my_scaled_dot_product_attention averaged"),
        ("blog post, naive and efficient", "embed_dim head_embed_dim head_dim bs seq_len split_heads qk dk"),
        ("blog post, naive and efficient", "MyEfficientMultiHeadAttention TextClassifier PositionalEncoding"),
        ("notebook in einsum", "KX QX VX Uₜ Ut barycentres n_b n_h d_h D U Z Y L"),
    ],
)
def test_every_name_of_a_text_is_found_in_its_column(dialect: str, names: str) -> None:
    at = 1 + DIALECTS.index(dialect)
    for name in names.split():
        (found,) = dictionary(f" {name.upper()} ")
        own = [i for i, row in enumerate(found["rows"]) if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", row[at])]
        assert own, name
        assert all([i, at, "here"] in found["marks"] for i in own)


def test_a_word_that_nobody_uses_is_said_to_be_missing() -> None:
    (told,) = dictionary("<b>flash</b>")
    assert told["text"] == "No text and no library has “<b>flash</b>” here."


def test_the_mistakes_of_before_are_mended() -> None:
    assert said("a row with nothing allowed", "annotated code, time first").startswith("not a number")
    assert "after it" in said("weights and dropout", "annotated code, time first")
    assert said("axes of the weights", "blog post, naive and efficient").endswith("b i j")
    assert said("weights · v", "notebook in einsum").startswith("Z")
    assert said("number of heads", "blog post, naive and efficient") == "n_heads"
    assert "does not divide" in said("q kᵀ / √d_head", "lesson with three helpers")
    assert "none on its projection" in said("bias=False", "blog post, naive and efficient")
    assert "d_model" not in said("width of a token", "blog post, naive and efficient")


def test_true_means_blocked_in_multiheadattention(theirs: nn.MultiheadAttention, x: torch.Tensor) -> None:
    assert said("a mask of True and False", "nn.MultiheadAttention").endswith("True = blocked")
    _, weights = theirs(x, x, x, attn_mask=~CAUSAL)
    assert weights[:, ~CAUSAL].eq(0).all()
    assert weights[:, CAUSAL].gt(0).all()
    keep = torch.tensor([[True, True, False, False]] * 2)
    _, padded = theirs(x, x, x, key_padding_mask=keep)
    assert padded[:, :, :2].eq(0).all()
    assert said("padding", "nn.MultiheadAttention").endswith("True = blocked")


def test_true_means_may_look_here_and_in_sdpa(x: torch.Tensor) -> None:
    _, weights = IMPLEMENTATIONS["fused"](8, 2)(x, allow=CAUSAL)
    assert weights is not None
    assert weights[..., ~CAUSAL].eq(0).all()
    eye = torch.eye(4).expand(2, 4, 4)
    fused = F.scaled_dot_product_attention(x, x, eye, attn_mask=CAUSAL)  # with the unit matrix as values: the weights
    assert fused[:, ~CAUSAL].eq(0).all()
    for dialect in ("Headlight", "F.scaled_dot_product_attention"):
        assert said("a mask of True and False", dialect).endswith("True = may look")
    assert masks.allow(masks.causal, 4, 4)[0, 0].equal(CAUSAL)


def test_floats_are_added_or_refused(theirs: nn.MultiheadAttention, x: torch.Tensor) -> None:
    floats = CAUSAL.float()
    _, weights = theirs(x, x, x, attn_mask=floats)
    assert weights.gt(0).all()
    fused = F.scaled_dot_product_attention(x, x, torch.eye(4).expand(2, 4, 4), attn_mask=floats)
    assert fused.gt(0).all()
    with pytest.raises(MaskError):
        IMPLEMENTATIONS["fused"](8, 2)(x, allow=floats)


def test_averaging_is_their_default(theirs: nn.MultiheadAttention, x: torch.Tensor) -> None:
    _, averaged = theirs(x, x, x)
    _, each = theirs(x, x, x, average_attn_weights=False)
    assert averaged.shape == (2, 4, 4)
    assert each.shape == (2, 2, 4, 4)
    torch.testing.assert_close(averaged, each.mean(dim=1))


def test_dropout_shows_in_their_weights_and_not_in_ours(theirs: nn.MultiheadAttention, x: torch.Tensor) -> None:
    _, weights = theirs.train()(x, x, x, average_attn_weights=False)
    assert (weights.sum(-1) - 1).abs().max() > 0.01
    _, ours = IMPLEMENTATIONS["efficient"](8, 2, dropout=0.5).train()(x)
    assert ours is not None
    torch.testing.assert_close(ours.sum(-1), torch.ones(2, 2, 4))
    dropped = F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)  # a function knows no eval mode
    assert not torch.allclose(dropped, F.scaled_dot_product_attention(x, x, x))


def test_a_row_with_nothing_allowed(theirs: nn.MultiheadAttention, x: torch.Tensor) -> None:
    nothing = torch.zeros(4, 4, dtype=torch.bool)
    with torch.enable_grad():
        out, _ = theirs(x, x, x, attn_mask=~nothing)
    assert out.isnan().all()
    assert F.scaled_dot_product_attention(x, x, x, attn_mask=nothing).eq(0).all()
    _, weights = IMPLEMENTATIONS["einsum"](8, 2)(x, allow=nothing)
    assert weights is not None
    assert weights.eq(0).all()


def test_names_and_orders(theirs: nn.MultiheadAttention) -> None:
    arguments = inspect.signature(nn.MultiheadAttention).parameters
    assert {"embed_dim", "num_heads", "kdim", "bias"} <= arguments.keys()
    assert arguments["batch_first"].default is False
    assert theirs.head_dim == 4
    assert theirs.kdim == 8
    assert nn.MultiheadAttention(8, 2, kdim=6, batch_first=True).kdim == 6
    without = nn.MultiheadAttention(8, 2, bias=False)
    assert [name for name, _ in without.named_parameters()] == ["in_proj_weight", "out_proj.weight"]
    here = inspect.signature(IMPLEMENTATIONS["fused"]).parameters
    assert {"d_model", "n_heads", "bias", "out_bias"} <= here.keys()
    assert IMPLEMENTATIONS["fused"](8, 2).d_head == 4
