"""The dictionary: what a text names is found, in the column of that text."""

from __future__ import annotations

import re

from pages.implementations.dialects import DIALECTS, dictionary

CODE, THREE, BLOG, EINSUM = (
    "annotated code, time first", "lesson with three helpers", "blog post, naive and efficient", "notebook in einsum",
)  # fmt: skip


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
            assert all([i, at, "focus"] in found["marks"] for i in own)
