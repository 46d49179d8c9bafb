"""The same thing in other words: how the sources and the libraries name, order and mask it. Data only, no streamlit."""

from __future__ import annotations

from pages.kit.draw.sheet import Block, table

__all__ = ["DIALECTS", "ROWS", "dictionary"]

DIALECTS = (
    "Headlight",
    "annotated code, time first",
    "other sources",
    "nn.MultiheadAttention",
    "F.scaled_dot_product_attention",
    "transformers",
)

# what is meant -> how each dialect says it, in the order of DIALECTS; "–" where it has no word for it
ROWS: dict[str, tuple[str, ...]] = {
    "width of a token": ("d_model", "d_model", "d_model; d", "embed_dim", "–", "hidden_size"),
    "width of a head": (
        "d_head",
        "d_k",
        "head_embed_dim; head_dim; d_h",
        "head_dim. kdim is another thing: how wide the key is before its projection",
        "E, the last axis",
        "head_dim; attention_head_size",
    ),
    "number of heads": ("n_heads", "heads", "num_heads; n_h", "num_heads", "a leading axis", "num_attention_heads"),
    "axes of the input": (
        "b i c: batch first",
        "i b c: length first",
        "b i c: batch first",
        "i b c: length first; b i c with batch_first=True",
        "… i d: already split, heads before the length",
        "b i c: batch first",
    ),
    "axes of the weights": (
        "b h i j",
        "i j b h: the softmax is over axis 1",
        "b h i j",
        "b i j: averaged over heads; b h i j with average_attn_weights=False",
        "returns none",
        'b h i j, one a layer; only with attn_implementation="eager"',
    ),
    "a mask of True and False": (
        "allow: True = may look",
        "mask [query, key, batch]: True = may look",
        "an optional mask, or none",
        "attn_mask: True = blocked",
        "attn_mask: True = may look",
        "attention_mask: 1 = keep",
    ),
    "padding": (
        "keep (b, j): True = real token",
        "part of the mask",
        "never masked in the long post",
        "key_padding_mask (b, j): True = blocked",
        "part of attn_mask",
        "attention_mask (b, j): 1 = keep",
    ),
    "a mask of floats": (
        "refused",
        "–",
        "–",
        "added to the scores, so 0 and 1 block nothing",
        "added to the scores, so 0 and 1 block nothing",
        "a 4-D one is added to the scores",
    ),
    "a row with nothing allowed": (
        "weights 0",
        "–",
        "–",
        "not a number",
        "output 0",
        "equal weights on forbidden keys: the smallest number is added, not −∞",
    ),
    "q kᵀ / √d_head": ("scores", "scores", "scores; D / √d_h", "not shown", "not shown", "attn_weights"),
    "after the softmax": ("weights", "attn", "exp(…) / sum over t", "attn_output_weights", "not shown", "attn_weights"),
    "weights · v": ("mixed", "x", "–", "not shown", "attn_output", "attn_output"),
    "weights and dropout": (
        "returned before dropout",
        "–",
        "–",
        "returned after dropout: in train mode rows do not sum to 1",
        "dropout_p acts in eval mode too",
        "returned after dropout",
    ),
    "bias=False": (
        "none on q, k and v; out_bias decides on the last",
        "none on q and k, value and output keep theirs",
        "none on q, k and v in the lesson; none at all in the notebook",
        "none on all four",
        "no projections",
        "as the model says",
    ),
}


def dictionary() -> Block:
    """A row for each idea, a column for each dialect."""
    rows = [[idea, *words] for idea, words in ROWS.items()]
    caption = "A row for each idea. Other sources: a lesson, a long post, an einsum notebook. Axes as in the pictures."
    return table(["", *DIALECTS], rows, caption, prose=True)
