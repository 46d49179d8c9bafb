"""The layers of the five texts, of a GPT on torch's kernel and of a blockwise softmax, as a student types them."""

from __future__ import annotations

# Texts 1 and 2: keyword-only and time first; the bias of the values is always on, the mask's sizes of 1 broadcast.
ANNOTATED = """
class PrepareForMultiHeadAttention(nn.Module):
    def __init__(self, d_model, heads, d_k, bias):
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads, self.d_k = heads, d_k

    def forward(self, x):
        head_shape = x.shape[:-1]
        x = self.linear(x)
        return x.view(*head_shape, self.heads, self.d_k)

class Annotated(nn.Module):
    def __init__(self, heads, d_model, dropout_prob=0.1, bias=True):
        super().__init__()
        self.d_k = d_model // heads
        self.query = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.key = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.value = PrepareForMultiHeadAttention(d_model, heads, self.d_k, True)
        self.softmax = nn.Softmax(dim=1)
        self.output = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout_prob)
        self.scale = 1 / math.sqrt(self.d_k)
        self.attn = None

    def get_scores(self, query, key):
        return torch.einsum("ibhd,jbhd->ijbh", query, key)

    def prepare_mask(self, mask, query_shape, key_shape):
        assert mask.shape[0] == 1 or mask.shape[0] == query_shape[0]
        assert mask.shape[1] == key_shape[0]
        assert mask.shape[2] == 1 or mask.shape[2] == query_shape[1]
        return mask.unsqueeze(-1)

    def forward(self, *, query, key, value, mask=None):
        seq_len, batch_size, _ = query.shape
        if mask is not None:
            mask = self.prepare_mask(mask, query.shape, key.shape)
        query, key, value = self.query(query), self.key(key), self.value(value)
        scores = self.get_scores(query, key)
        scores *= self.scale
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = self.softmax(scores)
        self.attn = attn.detach()
        attn = self.dropout(attn)
        x = torch.einsum("ijbh,jbhd->ibhd", attn, value)
        x = x.reshape(seq_len, batch_size, -1)
        return self.output(x)
"""
COPY = ANNOTATED.replace("class Annotated", "class Copy").replace("bias=True", "bias=False")

# Text 3, the lesson: three helpers, no biases but the output's, no division by √d.
LESSON = """
class Lesson(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.d_model = num_heads, d_model
        self.head_dim = d_model // num_heads
        self.query_linear = nn.Linear(d_model, d_model, bias=False)
        self.key_linear = nn.Linear(d_model, d_model, bias=False)
        self.value_linear = nn.Linear(d_model, d_model, bias=False)
        self.output_linear = nn.Linear(d_model, d_model)

    def split_heads(self, x, batch_size):
        x = x.reshape(batch_size, -1, self.num_heads, self.head_dim)
        return x.permute(0, 2, 1, 3)

    def compute_attention(self, query, key, value, mask=None):
        scores = torch.matmul(query, key.transpose(-2, -1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-1e20"))
        attention_weights = F.softmax(scores, dim=-1)
        return torch.matmul(attention_weights, value)

    def combine_heads(self, x, batch_size):
        x = x.permute(0, 2, 1, 3).contiguous()
        return x.view(batch_size, -1, self.d_model)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        query = self.split_heads(self.query_linear(query), batch_size)
        key = self.split_heads(self.key_linear(key), batch_size)
        value = self.split_heads(self.value_linear(value), batch_size)
        output = self.combine_heads(self.compute_attention(query, key, value, mask), batch_size)
        return self.output_linear(output)
"""

# Text 4, the long post: attention of one head, a loop over heads, all heads in one product; both return the mean map.
POST = """
def scaled_dot_product(q, k=None, v=None, padding=None):
    k = q if k is None else k
    v = q if v is None else v
    sim = torch.bmm(q, k.permute(0, 2, 1)) / math.sqrt(q.shape[-1])
    if padding is not None:
        sim = sim.masked_fill(padding.unsqueeze(1) == 0, float("-inf"))
    attn = torch.softmax(sim, dim=2)
    return torch.bmm(attn, v), attn

class Block(nn.Module):
    def __init__(self, emb, size):
        super().__init__()
        self.to_q, self.to_k, self.to_v = nn.Linear(emb, size), nn.Linear(emb, size), nn.Linear(emb, size)

    def forward(self, q, k, v, padding):
        return scaled_dot_product(self.to_q(q), self.to_k(k), self.to_v(v), padding)

class Naive(nn.Module):
    def __init__(self, emb, heads):
        super().__init__()
        self.blocks = nn.ModuleList([Block(emb, emb // heads) for _ in range(heads)])
        self.proj = nn.Linear(emb, emb)

    def forward(self, q, k, v, padding=None):
        results = [block(q, k, v, padding) for block in self.blocks]
        joined = torch.cat([result for result, _ in results], dim=-1)
        return self.proj(joined), torch.stack([attn for _, attn in results]).mean(0)

class Joined(nn.Module):
    def __init__(self, emb, heads):
        super().__init__()
        self.emb, self.heads = emb, heads
        self.wq, self.wk, self.wv, self.wo = [nn.Linear(emb, emb) for _ in range(4)]

    def forward(self, q, k, v, key_padding_mask=None):
        n, t = q.shape[0], q.shape[1]
        size = self.emb // self.heads
        q = self.wq(q).view(n, -1, self.heads, size).transpose(1, 2)
        k = self.wk(k).view(n, -1, self.heads, size).transpose(1, 2)
        v = self.wv(v).view(n, -1, self.heads, size).transpose(1, 2)
        sim = q @ k.transpose(2, 3) / size ** 0.5
        if key_padding_mask is not None:
            sim = sim.masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
        attn = F.softmax(sim, dim=-1)
        out = (attn @ v).transpose(1, 2).contiguous().view(n, t, self.emb)
        return self.wo(out), attn.mean(dim=1)
"""

# Text 5, the notebook: four matrices without biases, exp(s) / Σ exp(s).
NOTEBOOK = """
def Notebook(d, n_h):
    d_h = d // n_h
    K, Q, V, L = (torch.randn(d, d, dtype=torch.float64) / d ** 0.5 for _ in range(4))

    def attend(S):
        n_b, p, _ = S.shape
        k, q, v = (torch.einsum("bsi,ij->bsj", S, M.to(S)).reshape(n_b, p, n_h, d_h) for M in (K, Q, V))
        D = torch.einsum("bshi,bthi->bhst", q, k)
        A = torch.exp(D / math.sqrt(d_h))
        A = A / A.sum(-1, keepdim=True)
        Y = torch.einsum("bhst,bthi->bshi", A, v)
        Y = Y.reshape(n_b, p, d)
        return torch.einsum("bsi,ij->bsj", Y, L.to(S))

    return attend
"""

# A small GPT on torch's kernel: no softmax is in sight.
KERNEL = """
class Kernel(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_ = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, idx_emb):
        B, T, C = idx_emb.size()
        qkv = self.in_(idx_emb).reshape(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))
"""

# Softmax block by block with a running maximum: no tensor has the weights.
FLASH = """
class Flash(nn.Module):
    def __init__(self, dim, heads, block=16):
        super().__init__()
        self.h, self.block = heads, block
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.o_proj = nn.Linear(dim, dim)

    def forward(self, x):
        bs, t, dim = x.shape
        Q, K, V = (p(x).view(bs, t, self.h, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        O = torch.zeros_like(Q)
        l = Q.new_zeros(bs, self.h, t, 1)
        m = Q.new_full((bs, self.h, t, 1), -1e30)
        for start in range(0, t, self.block):
            k_j, v_j = K[:, :, start:start + self.block], V[:, :, start:start + self.block]
            S = Q @ k_j.transpose(-1, -2) / math.sqrt(Q.shape[-1])
            m_new = torch.maximum(m, S.max(dim=-1, keepdim=True).values)
            P = torch.exp(S - m_new)
            alpha = torch.exp(m - m_new)
            l = l * alpha + P.sum(dim=-1, keepdim=True)
            O = O * alpha + P @ v_j
            m = m_new
        O = O / l
        return self.o_proj(O.transpose(1, 2).reshape(bs, t, dim))
"""
