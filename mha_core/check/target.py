"""Uniform calls to a module or function that attends: from its signature, and by trying what the signature leaves open.

Axis letters: b batch, i query, j key, c model channel. Masks are bool, True = may attend.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import Unsupported

INPUTS = {
    "x",
    "hidden_states",
    "input",
    "inputs",
    "src",
    "tgt",
    "seq",
    "sequence",
    "h",
    "hidden",
    "inp",
    "emb",
    "embeddings",
}
QUERIES, KEYS, VALUES = {"q", "query", "queries"}, {"k", "key", "keys"}, {"v", "value", "values"}
MASKS = {"mask", "attn_mask", "attention_mask", "src_mask", "tgt_mask", "allow", "allowed", "msk", "m", "attn_bias"}
PADDINGS = {"key_padding_mask", "padding_mask", "src_key_padding_mask", "pad_mask", "padding", "key_mask"}
CACHES = {"cache", "kv_cache", "past", "past_kv", "past_key_value", "past_key_values", "layer_past"}
FLAGS = {
    "need_weights": True, "average_attn_weights": False, "output_attentions": True, "return_weights": True,
    "return_attention": True, "return_attn": True, "need_head_weights": True,
}  # fmt: skip
_HEADS = ("n_heads", "num_heads", "heads", "n_head", "num_head", "nhead", "num_attention_heads")
_WIDTHS = ("d_model", "embed_dim", "dim", "hidden_size", "emb_dim", "emb_size", "embed_size", "n_embd")
SIZES = {**dict.fromkeys(_HEADS, "n_heads"), **dict.fromkeys(_WIDTHS, "d_model")}
LAYOUTS = {"bsd": "batch first", "sbd": "sequence first", "bhsd": "heads already split"}
MAX_COPIED = 2**28  # parameters of a module that is copied to float64

SDPA = inspect.Signature([
    *(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("query", "key", "value")),
    inspect.Parameter("attn_mask", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None),
])  # fmt: skip

# How a mask may be written (from bool, True = may attend), and the shapes in which it may be taken.
CODES: dict[str, Callable[[Tensor, torch.dtype], Tensor]] = {
    "True attends": lambda allow, dtype: allow,
    "True blocks": lambda allow, dtype: ~allow,
    "0 is added, −∞ blocks": lambda allow, dtype: torch.zeros(
        allow.shape, dtype=dtype, device=allow.device
    ).masked_fill(~allow, torch.finfo(dtype).min / 2),
    "1 attends, 0 blocks": lambda allow, dtype: allow.to(dtype),
    "0 attends, 1 blocks": lambda allow, dtype: (~allow).to(dtype),
}
SHAPES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "b h i j": lambda allow, heads: allow[:, None].expand(-1, heads, -1, -1),
    "b 1 i j": lambda allow, heads: allow[:, None],
    "b i j": lambda allow, heads: allow,
    "i j": lambda allow, heads: allow[0],
    "(b h) i j": lambda allow, heads: allow.repeat_interleave(heads, 0),
    "i j b": lambda allow, heads: allow.permute(1, 2, 0),
    "i j b 1": lambda allow, heads: allow.permute(1, 2, 0)[..., None],
    "b 1 1 j": lambda allow, heads: allow[:, None, :1],
    "b j": lambda allow, heads: allow[:, 0],
    "j b": lambda allow, heads: allow[:, 0].T,
}
PER_QUERY = ("b h i j", "b 1 i j", "b i j", "i j", "(b h) i j", "i j b", "i j b 1")
PER_TEXT = ("b h i j", "b 1 i j", "b i j", "(b h) i j", "i j b", "i j b 1", "b 1 1 j", "b j", "j b")


@dataclass(frozen=True)
class MaskForm:
    """The form in which a parameter takes a mask: its name, the code of a value, and the axes."""

    name: str
    code: str
    shape: str

    def write(self, allow: Tensor, heads: int, dtype: torch.dtype) -> Tensor:
        """Return the mask for allow (b, i, j)."""
        return CODES[self.code](SHAPES[self.shape](allow, heads), dtype)

    def __str__(self) -> str:
        return f"{self.name} ({self.shape}): {self.code}"


@dataclass(frozen=True)
class Answer:
    """The result of a call: out (b, i, c), weights as they came, and a cache."""

    out: Tensor
    weights: Tensor | None = None
    cache: Any = None


@dataclass(frozen=True)
class Target:
    """A module or function with the way to call it."""

    function: Callable[..., Any]
    d_model: int
    n_heads: int
    names: dict[str, str] = field(default_factory=dict)  # role -> parameter
    fixed: dict[str, Any] = field(default_factory=dict)  # parameters whose values are known
    layout: str = "bsd"
    mask: MaskForm | None = None
    padding: MaskForm | None = None
    call: Callable[..., Any] | None = None
    dtype: torch.dtype = torch.float64
    device: torch.device | str = "cpu"
    vectors: Tensor | None = None  # of a text, (n, c)

    @property
    def takes_qkv(self) -> bool:
        """Return whether queries, keys and values are separate arguments."""
        return "value" in self.names

    def draw(self, n: int, batch: int = 1, seed: int = 0, **options: Any) -> Tensor:
        """Return inputs (b, i, c): random ones, and the target's own vectors at the start of the first text."""
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(batch, n, self.d_model, generator=generator, dtype=torch.float64)
        if self.vectors is not None:
            count = min(n, len(self.vectors))
            x[:1, :count] = self.vectors[:count].to(x)
        return x.to(options.get("dtype", self.dtype)).to(self.device)

    def __call__(
        self,
        x: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        allow: Tensor | None = None,
        padding: Tensor | None = None,
        cache: Any = None,
        start: int | None = None,
    ) -> Answer:
        """Run the target.

        Args:
            x: (b, i, c); the queries, and the keys and values where those are not given.
            key: (b, j, c).
            value: (b, j, c).
            allow: (b, i, j) or (i, j), bool.
            padding: (b, j), bool, True = a real token.
            cache: what the last call returned as its cache.
            start: with a cache: the position of the first query.
        """
        key = x if key is None else key
        value = key if value is None else value
        if allow is not None and allow.dim() == 2:
            allow = allow.expand(len(x), -1, -1)
        if self.call is not None:
            return self._call_by_user(self.call, x, key, value, allow, padding)
        arguments: dict[str, Any] = dict(self.fixed)
        if self.takes_qkv:
            for role, tensor in (("query", x), ("key", key), ("value", value)):
                arguments[self.names[role]] = self._lay(tensor)
        else:
            arguments[self.names["x"]] = self._lay(x)
        if allow is not None:
            if self.mask is None:
                raise Unsupported("it takes no mask")
            arguments[self.mask.name] = self.mask.write(allow, self.n_heads, x.dtype)
        if padding is not None:
            form = self.padding or self.mask
            if form is None:
                raise Unsupported("it takes no padding mask")
            arguments[form.name] = form.write(padding[:, None].expand(-1, x.shape[1], -1), self.n_heads, x.dtype)
        arguments.update(self.positions(x, start or 0))
        if start is not None:
            arguments[self.names["cache"]] = cache
            arguments.update({name: True for name in ("use_cache",) if name in self.names.values()})
        return self._read(self.run(arguments), x)

    def run(self, arguments: dict[str, Any]) -> Any:
        """Call the function; what it prints is no part of a report."""
        with contextlib.redirect_stdout(io.StringIO()):
            if self.function is F.scaled_dot_product_attention:
                tensors = [arguments.pop(name) for name in ("query", "key", "value")]
                return self.function(*tensors, **arguments)
            positional = self.fixed.get("", ())
            rest = {name: value for name, value in arguments.items() if name not in ("", *positional)}
            return self.function(*(arguments[name] for name in positional), **rest)

    def _call_by_user(
        self,
        call: Callable[..., Any],
        x: Tensor,
        key: Tensor,
        value: Tensor,
        allow: Tensor | None,
        padding: Tensor | None,
    ) -> Answer:
        tensors = {"x": x, "q": x, "k": key, "v": value, "query": x, "key": key, "value": value}
        arguments: dict[str, Tensor | None] = {name: self._lay(tensor) for name, tensor in tensors.items()}
        _, *names = inspect.signature(call).parameters
        if padding is not None and "padding" not in names:
            allow = padding[:, None].expand(-1, x.shape[1], -1)
        arguments.update(allow=allow, padding=padding)
        if unknown := set(names) - set(arguments):
            raise Unsupported(
                f"call= takes {sorted(unknown)}; it is given m and of {', '.join(arguments)} what it names"
            )
        return self._read(call(self.function, **{name: arguments[name] for name in names}), x)

    def _lay(self, x: Tensor) -> Tensor:
        x = x.clone()  # it may be changed in place
        if self.layout == "sbd":
            return x.transpose(0, 1)
        if self.layout == "bhsd":
            return x.view(*x.shape[:2], self.n_heads, self.d_model // self.n_heads).transpose(1, 2)
        return x

    def _unlay(self, out: Tensor) -> Tensor:
        if self.layout == "sbd":
            return out.transpose(0, 1)
        return out.transpose(1, 2).flatten(2) if self.layout == "bhsd" else out

    def positions(self, x: Tensor, start: int) -> dict[str, Any]:
        """Give a layer that is handed its rotations what its model would hand it: halves are paired, base 10,000."""
        n, d_head = x.shape[1], self.d_model // self.n_heads
        places = torch.arange(start, start + n, device=x.device)
        values: dict[str, Any] = {}
        for role, name in self.names.items():
            if role in ("position_ids", "cache_position"):
                values[name] = places[None] if role == "position_ids" else places
            if role in ("position_embeddings", "freqs_cis"):
                speeds = 10000 ** (-torch.arange(0, d_head, 2, dtype=torch.float64, device=x.device) / d_head)
                angles = places[:, None] * speeds
                if role == "freqs_cis":
                    values[name] = torch.polar(torch.ones_like(angles), angles).to(torch.complex128)
                    continue
                angles = torch.cat([angles, angles], -1)[None]
                values[name] = (angles.cos().to(x.dtype), angles.sin().to(x.dtype))
        return values

    def _read(self, result: Any, x: Tensor) -> Answer:
        """Find the output, the weights and a cache in what a call returned."""
        parts = [result] if isinstance(result, Tensor) else _parts(result)
        out = next((part for part in parts if isinstance(part, Tensor) and part.is_floating_point()), None)
        if out is None:
            raise Unsupported(f"it returns {type(result).__name__}, and no tensor of numbers in it")
        rest = [part for part in parts if part is not out and part is not None]
        maps = [part for part in rest if isinstance(part, Tensor) and part.dim() in (3, 4)]
        others = [part for part in rest if not isinstance(part, Tensor)]
        out = self._unlay(out)
        if out.dim() != 3 or out.shape[:2] != x.shape[:2]:
            sizes = " × ".join(map(str, out.shape))
            raise Unsupported(f"its output is {sizes} for an input of {' × '.join(map(str, x.shape))} (b, i, c)")
        return Answer(out, maps[-1] if maps else None, others[-1] if others else None)

    def with_dtype(self, dtype: torch.dtype) -> Target:
        """Return the target with its parameters in another format."""
        function = self.function
        if isinstance(function, nn.Module):
            function = copy.deepcopy(function).to(dtype)
        return replace(self, function=function, dtype=dtype)

    @contextlib.contextmanager
    def training(self) -> Iterator[None]:
        """Run the target in training mode, with dropout."""
        if isinstance(self.function, nn.Module):
            self.function.train()
        try:
            yield
        finally:
            if isinstance(self.function, nn.Module):
                self.function.eval()


def _parts(result: Any) -> list[Any]:
    if isinstance(result, dict):
        return list(result.values())
    return list(result) if isinstance(result, (tuple, list)) else [result]


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a module's forward or of a function. Raises Unsupported."""
    if function is F.scaled_dot_product_attention:
        return SDPA
    try:
        return inspect.signature(function.forward if isinstance(function, nn.Module) else function)
    except (TypeError, ValueError):
        raise Unsupported("its signature cannot be read; give call=lambda m, x, allow: …") from None


def roles(
    function: Callable[..., Any], d_model: int, n_heads: int, mask: str | None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return which parameter has which role, and the values of those that are known, from the signature.

    Raises:
        Unsupported: a parameter without a default has no known role; the message names it.
    """
    names: dict[str, str] = {}
    fixed: dict[str, Any] = {}
    positional: list[str] = []
    open_names: list[str] = []
    optional: list[str] = []
    for parameter in signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        name, plain = parameter.name, parameter.name.lower().strip("_")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(name)
        role = "mask" if name == mask else _role(plain)
        if role in names:
            role = None
        if role:
            names[role] = name
        elif plain in FLAGS:
            fixed[name] = FLAGS[plain]
        elif plain in SIZES:
            if parameter.default is parameter.empty:
                fixed[name] = {"n_heads": n_heads, "d_model": d_model}[SIZES[plain]]
        elif parameter.default is parameter.empty:
            open_names.append(name)
        elif parameter.default is None:
            optional.append(name)
    if "x" in names and {"query", "key", "value"} <= names.keys():
        del names["x"]
    if "value" not in names and "x" not in names:
        inputs = [names.pop(role) for role in ("query", "key") if role in names] + open_names
        if len(inputs) >= 3:
            names.update(zip(("query", "key", "value"), inputs, strict=False))
            open_names = inputs[3:]
        elif inputs:
            names["x"] = inputs[0]
            open_names = inputs[1:]
    elif "value" in names and not {"query", "key"} <= names.keys():
        raise Unsupported("it takes values but not queries and keys; give call=lambda m, q, k, v, allow: …")
    if open_names and "mask" not in names:
        names["mask"] = open_names.pop(0)
    if "mask" not in names and optional:
        names["mask"] = optional[0]
    if open_names:
        raise Unsupported(f"what “{open_names[0]}” takes cannot be told from its name; give call=lambda m, x, allow: …")
    if not names:
        raise Unsupported("it takes no input")
    if positional:
        fixed[""] = tuple(positional)
    return names, fixed


def _role(name: str) -> str | None:
    tables = (("x", INPUTS), ("query", QUERIES), ("key", KEYS), ("value", VALUES), ("mask", MASKS))
    for role, names in (*tables, ("padding", PADDINGS), ("cache", CACHES)):
        if name in names:
            return role
    return name if name in ("position_embeddings", "position_ids", "cache_position", "freqs_cis", "use_cache") else None


def change(x: Tensor, token: int, seed: int = 1) -> Tensor:
    """Return x with other numbers at one token of the first text."""
    generator = torch.Generator().manual_seed(seed)
    other = x.clone()
    other[0, token] = 2 * torch.randn(x.shape[-1], generator=generator, dtype=torch.float64).to(x)
    return other


def tolerance(dtype: torch.dtype) -> float:
    """Return the relative difference below which two passes are the same: a thousand roundings of the format."""
    return 1e3 * torch.finfo(dtype).eps


def distance(a: Tensor, b: Tensor) -> float:
    """Return the largest difference, relative to the largest number; NaN and ∞ in one alone are infinite."""
    if a.shape != b.shape:
        return math.inf
    a, b = a.detach().double(), b.detach().double()
    if not torch.equal(a.isfinite(), b.isfinite()):
        return math.inf
    a, b = a.nan_to_num(), b.nan_to_num()
    return float((a - b).abs().max() / b.abs().max().clamp_min(1e-30)) if a.numel() else 0.0
