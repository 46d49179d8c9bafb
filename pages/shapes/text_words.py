"""What a step is called in the texts that write attention the way this implementation does."""

import re

NOTES = "annotated code, time first"
LESSON = "lesson with three helpers"
POST = "blog post, naive and efficient"
NOTEBOOK = "notebook in einsum"

_SPLIT = (
    "split_heads: (batch_size, seq_length, num_heads, head_dim); it says that the embeddings are split, and splits the "
    "query, the key and the value",
    "split_heads: .view(batch_size, seq_len, n_heads, head_embed_dim)",
)
_ATTEND = "compute_attention"
_COMBINE = "combine_heads"
# implementation -> text -> step -> its words there; "q.view" stands for k and v too, with their own letter for q
WORDS: dict[str, dict[str, dict[str, str]]] = {
    "sequence_first": {
        NOTES: {
            "x.transpose": "query, key, value: (length, batch, d_model)",
            "q.project": "PrepareForMultiHeadAttention: self.linear(x)",
            "q.view": "x.view(*head_shape, heads, d_k)",
            "scores.product": "get_scores: einsum('ibhd,jbhd->ijbh', query, key)",
            "scores": "scores × scale, scale = 1 / √d_k",
            "masked.allow": "prepare_mask: mask (q|1, k, b|1), then unsqueeze(-1)",
            "masked": "scores.masked_fill(mask == 0, −inf)",
            "weights": "attn = softmax(scores), dim 1",
            "weights.dropout": "attn = dropout(attn)",
            "mixed": "x = einsum('ijbh,jbhd->ibhd', attn, value)",
            "joined": "x.reshape(length, batch, heads · d_k)",
            "out.project": "output(x)",
        }
    },
    "naive": {
        POST: {
            "q.head": "AttentionBlock: W_q(query), one block a head",
            "k.head": "AttentionBlock: W_k(key)",
            "v.head": "AttentionBlock: W_v(value)",
            "mixed.head": "AttentionBlock: my_scaled_dot_product_attention(q, k, v)",
            "weights": "attn_weights, averaged over the heads before they are returned",
            "joined": "the outputs of head_blocks, concatenated",
            "out": "projection",
        }
    },
    "efficient": {
        LESSON: {
            "q.project": "query(x), without bias",
            "k.project": "key(x), without bias",
            "v.project": "value(x), without bias",
            "q.view": _SPLIT[0],
            "scores.product": f"{_ATTEND}: query times the transposed key",
            "scores": f"{_ATTEND}: never divided; the lesson takes the softmax of the product itself",
            "masked": f"{_ATTEND}: the mask is optional",
            "weights": f"{_ATTEND}: attention_weights, the softmax",
            "mixed": f"{_ATTEND}: attention_weights times value",
            "mixed.transpose": _COMBINE,
            "mixed.contiguous": _COMBINE,
            "joined": f"{_COMBINE}: (batch_size, seq_length, d_model); it says “weights”, and joins the mixed values",
            "out": "the output layer, with bias",
        },
        POST: {
            "q.project": "W_q(query)",
            "k.project": "W_k(key)",
            "v.project": "W_v(value)",
            "q.view": _SPLIT[1],
            "q.transpose": ".transpose(1, 2)",
            "mixed": "attn: my_scaled_dot_product_attention(q, k, v)",
            "mixed.transpose": ".transpose(1, 2)",
            "mixed.contiguous": ".contiguous()",
            "joined": ".view(batch_size, seq_len, embed_dim)",
            "out": "projection",
        },
    },
    "einsum": {
        NOTEBOOK: {
            "x": "X, clouds of points: (n_b, p, d)",
            "q.project": "QX = einsum('ij,bsj->bsi', Q, X)",
            "k.project": "KX = einsum('ij,bsj->bsi', K, X)",
            "v.project": "VX = einsum('ij,bsj->bsi', V, X)",
            "q.view": "reshape to (n_b, p, n_h, d_h)",
            "scores.product": "D = einsum('bshi,bthi->bhst', QX, KX): (n_b, n_h, p, p); its formula has ⟨k_s, q_t⟩, "
            "this line q_s · k_t",
            "scores": "D / √d_h",
            "weights.exp": "U = exp(D / √d_h)",
            "weights": "Uₜ = U / its sum over t",
            "mixed": "Z = einsum('bhst,bthi->bshi', Uₜ, VX): barycentres of the values",
            "joined": "Z, reshaped to (n_b, p, d)",
            "out": "Y = einsum('ij,bsj->bsi', L, Z)",
        }
    },
}


def of(implementation: str, step: str) -> list[tuple[str, str]]:
    """(text, its words) of each text that has this step; of the steps of single heads all have the same."""
    name = re.sub(r"\.head\d+$", ".head", step)
    of_q = re.sub(r"^[kv]\.", "q.", name)
    texts = WORDS.get(implementation, {}).items()
    found = ((text, words.get(name) or words.get(of_q, "")) for text, words in texts)
    return [(text, said) for text, said in found if said]
