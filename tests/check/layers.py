"""Attention as people write it, in four styles, and the same with one line wrong: what `check` has to tell apart."""

from __future__ import annotations

import linecache
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from .texts import ANNOTATED, COPY, FLASH, KERNEL, LESSON, NOTEBOOK, POST

D_MODEL, N_HEADS = 32, 4

# Four linear layers, view and transpose, masks in which True attends; padding has a parameter of its own.
SEPARATE = """
class Separate(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        self.h, self.d = n_heads, d_model // n_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        b, n, _ = x.shape
        return x.view(b, n, self.h, self.d).transpose(1, 2)

    def forward(self, x, mask=None, padding_mask=None):
        b, n, _ = x.shape
        q = self.split(self.q(x))
        k = self.split(self.k(x))
        v = self.split(self.v(x))
        scores = q @ k.transpose(-2, -1)
        scores = scores / math.sqrt(self.d)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask[:, None, None, :] == 0, -1e9)
        weights = scores.softmax(dim=-1)
        weights = self.dropout(weights)
        mixed = (weights @ v).transpose(1, 2)
        out = mixed.reshape(b, n, self.h * self.d)
        return self.o(out), weights
"""

# One projection for all three, einsum, causal by itself: the layer of a small GPT.
CAUSAL = """
class Causal(nn.Module):
    def __init__(self, d_model, n_heads, length=64, p=0.1):
        super().__init__()
        self.n_head = n_heads
        self.c_attn = nn.Linear(d_model, 3 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)
        self.p = p
        self.register_buffer("bias", torch.tril(torch.ones(length, length)))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.reshape(B, T, self.n_head, C // self.n_head) for t in (q, k, v))
        att = torch.einsum("bthd,bshd->bhts", q, k)
        att = att * (C // self.n_head) ** -0.5
        att = att.masked_fill(self.bias[:T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        att = F.dropout(att, self.p, self.training)
        y = torch.einsum("bhts,bshd->bthd", att, v)
        y = y.reshape(B, T, C)
        return self.c_proj(y)
"""

# Time first and keyword-only, after the annotated source: scores (i, j, b, h), softmax along axis 1.
TIME_FIRST = """
class TimeFirst(nn.Module):
    def __init__(self, d_model, heads, bias=False):
        super().__init__()
        self.heads, self.d_k = heads, d_model // heads
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, d_model, bias=bias)
        self.value = nn.Linear(d_model, d_model, bias=True)
        self.output = nn.Linear(d_model, d_model)
        self.scale = 1 / math.sqrt(self.d_k)

    def forward(self, *, query, key, value, mask=None):
        seq_len, batch_size, _ = query.shape
        query = self.query(query).view(seq_len, batch_size, self.heads, self.d_k)
        key = self.key(key).view(*key.shape[:2], self.heads, self.d_k)
        value = self.value(value).view(*value.shape[:2], self.heads, self.d_k)
        scores = torch.einsum("ibhd,jbhd->ijbh", query, key)
        scores = scores * self.scale
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(-1) == 0, -1e9)
        attn = torch.softmax(scores, dim=1)
        x = torch.einsum("ijbh,jbhd->ibhd", attn, value)
        x = x.reshape(seq_len, batch_size, -1)
        return self.output(x)
"""

# Grouped keys, rotary positions and a cache, as in a Llama.
GROUPED = """
class Grouped(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads=2):
        super().__init__()
        self.n_heads, self.n_kv, self.d = n_heads, n_kv_heads, d_model // n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, n_kv_heads * self.d, bias=False)
        self.wv = nn.Linear(d_model, n_kv_heads * self.d, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def rotate(self, x, start):
        half = self.d // 2
        speeds = 10000 ** (-torch.arange(half, dtype=x.dtype, device=x.device) / half)
        angles = (start + torch.arange(x.shape[2], dtype=x.dtype, device=x.device))[:, None] * speeds
        cos, sin = angles.cos(), angles.sin()
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    def forward(self, x, cache=None):
        b, n, _ = x.shape
        start = 0 if cache is None else cache[0].shape[2]
        q = self.wq(x).view(b, n, self.n_heads, self.d).transpose(1, 2)
        k = self.wk(x).view(b, n, self.n_kv, self.d).transpose(1, 2)
        v = self.wv(x).view(b, n, self.n_kv, self.d).transpose(1, 2)
        q = self.rotate(q, start)
        k = self.rotate(k, start)
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        cache = (k, v)
        groups = self.n_heads // self.n_kv
        k = k.repeat_interleave(groups, dim=1)
        v = v.repeat_interleave(groups, dim=1)
        scores = q @ k.mT / self.d**0.5
        future = torch.ones(n, k.shape[2], dtype=torch.bool, device=x.device).triu(1 + k.shape[2] - n)
        scores = scores.masked_fill(future, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(b, n, -1)
        return self.wo(out), cache
"""

# The same without copies of the keys: scores (b, group, head of the group, i, j).
EINSUM = GROUPED.replace("class Grouped", "class Einsum")
for old, new in {
    "k = k.repeat_interleave(groups, dim=1)": "q = q.unflatten(1, (self.n_kv, groups))",
    "        v = v.repeat_interleave(groups, dim=1)\n": "",
    "q @ k.mT": 'torch.einsum("bkgid,bkjd->bkgij", q, k)',
    "(weights @ v).transpose(1, 2)": 'torch.einsum("bkgij,bkjd->bikgd", weights, v)',
}.items():
    EINSUM = EINSUM.replace(old, new)

SOURCES = {
    "Separate": SEPARATE, "Causal": CAUSAL, "TimeFirst": TIME_FIRST, "Grouped": GROUPED, "Annotated": ANNOTATED,
    "Copy": COPY, "Lesson": LESSON, "Naive": POST, "Joined": POST, "Notebook": NOTEBOOK, "Kernel": KERNEL,
    "Flash": FLASH, "Einsum": EINSUM,
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "Separate": {"layout": "bsd", "mask_true": "attends"},
    "Causal": {"layout": "bsd", "causal": True},
    "TimeFirst": {"layout": "sbd", "mask_true": "attends"},
    "Grouped": {"layout": "bsd", "causal": True, "positions": "rotary halves"},
    "Annotated": {"layout": "sbd", "mask_true": "attends"},
    "Copy": {"layout": "sbd", "mask_true": "attends"},
    "Lesson": {"layout": "bsd", "scale": 1.0, "mask_true": "attends"},
    "Naive": {"layout": "bsd"},
    "Joined": {"layout": "bsd"},
    "Notebook": {"layout": "bsd"},
    "Kernel": {"layout": "bsd", "causal": True},
    "Flash": {"layout": "bsd"},
    "Einsum": {"layout": "bsd", "causal": True, "positions": "rotary halves"},
}
ALARMS = {
    "Annotated": [12],
    "Copy": [12],
    "Naive": [12],
    "Joined": [12],
    "Notebook": [14],
}  # true ones: NaN of −∞, of exp
_numbers = count()


@dataclass(frozen=True)
class Mutant:
    """A style with lines replaced: the property that has to fail and the cause that has to be named."""

    name: str
    style: str
    number: int
    cause: str
    lines: Mapping[str, str]

    def build(self, d_model: int = D_MODEL, n_heads: int = N_HEADS, seed: int = 0) -> Any:
        """Return the broken layer with random weights."""
        return build(self.style, d_model, n_heads, seed, self.lines)

    @property
    def options(self) -> dict[str, Any]:
        """Return the arguments of `check`."""
        return OPTIONS[self.style]


def build(
    style: str, d_model: int = D_MODEL, n_heads: int = N_HEADS, seed: int = 0, lines: Mapping[str, str] | None = None
) -> Any:
    """Return the layer of a style with random weights, some of its lines replaced.

    Raises:
        ValueError: a line to replace is not in the source.
    """
    source = SOURCES[style]
    for old, new in (lines or {}).items():
        if old not in source:
            raise ValueError(f"{style} has no line “{old}”")
        source = source.replace(old, new)
    file = f"<layer {next(_numbers)} of {style}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = dict(vars(SimpleNamespace(torch=torch, nn=nn, F=nn.functional, math=__import__("math"))))
    exec(compile(source, file, "exec"), scope)
    torch.manual_seed(seed)
    is_reversed = style in ("Annotated", "Copy")
    layer: Any = scope[style](n_heads, d_model) if is_reversed else scope[style](d_model, n_heads)
    with torch.no_grad():
        for name, parameter in layer.named_parameters() if isinstance(layer, nn.Module) else ():
            if name.endswith("bias"):
                parameter.normal_(std=0.2)  # biases of 0 would hide what they do
    return layer


MUTANTS = [
    Mutant(name, style, int(number), mutant.pop("cause"), mutant)
    for style, numbers in tomllib.loads(Path(__file__).with_name("mutants.toml").read_text("utf-8")).items()
    for number, names in numbers.items()
    for name, mutant in names.items()
]
