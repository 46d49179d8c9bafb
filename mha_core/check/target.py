"""Uniform calls to a module or function that attends: from its signature, and by trying what the signature leaves open.

Axis letters: b batch, i query, j key, c model channel. Masks are bool, True = may attend.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import Unsupported

_TABLE = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
NAMES = {name: role for role, names in _TABLE.items() for name in names}
LAYOUTS: dict[str, tuple[Callable[[Tensor, int], Tensor], Callable[[Tensor], Tensor]]] = {  # of (b, i, c), and back
    "bsd": (lambda x, heads: x, lambda x: x),
    "sbd": (lambda x, heads: x.transpose(0, 1), lambda x: x.transpose(0, 1)),
    "bhsd": (lambda x, heads: x.view(*x.shape[:2], heads, -1).transpose(1, 2), lambda x: x.transpose(1, 2).flatten(2)),
}
MAX_COPIED = 2**28  # parameters of a module that is copied to float64

# How a mask may be written (from bool, True = may attend), and the shapes in which it may be taken.
CODES: dict[str, Callable[[Tensor, torch.dtype], Tensor]] = {
    "True attends": lambda allow, dtype: allow,
    "True blocks": lambda allow, dtype: ~allow,
    "0 is added, −∞ blocks": lambda allow, dtype: (~allow).to(dtype) * (torch.finfo(dtype).min / 2),
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
    "b j": lambda allow, heads: allow[:, 0],
    "b 1 1 j": lambda allow, heads: allow[:, None, :1],
    "j b": lambda allow, heads: allow[:, 0].T,
}
PER_QUERY, PER_KEY = ([shape for shape in SHAPES if ("i" in shape) is has_queries] for has_queries in (True, False))
PER_TEXT = [shape for shape in SHAPES if "b" in shape]


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
class MaskTrial:
    """The result of trying a parameter that takes a mask."""

    name: str  # of the parameter
    form: MaskForm | None = None  # the first in which it blocks, or in which it has an effect at all
    fault: str = "ignored"  # "" where it blocks, or "transposed", "leaks" or "ignored"
    leak: float = 0.0  # how far a blocked key still moves its query


@dataclass(frozen=True)
class Answer:
    """The result of a call: out (b, i, c), weights, a cache, and whether the input was changed."""

    out: Tensor
    weights: Tensor | None = None
    cache: Any = None
    input_changed: bool = False


@dataclass(frozen=True)
class Target:
    """A module or function with the way to call it."""

    function: Callable[..., Any]  # the module or function
    d_model: int  # the width of the input
    n_heads: int  # the number of heads
    names: dict[str, str] = field(default_factory=dict)  # role -> parameter
    fixed: dict[str, Any] = field(default_factory=dict)  # parameters whose values are known
    layout: str = "bsd"  # a key of LAYOUTS
    mask: MaskForm | None = None  # how it takes a mask
    padding: MaskForm | None = None  # how it takes a mask of real tokens
    call: Callable[..., Any] | None = None  # the call that its user gives
    dtype: torch.dtype = torch.float64  # the format of inputs and parameters
    inner: torch.dtype | None = None  # a half format in which it computes inside
    device: torch.device | str = "cpu"  # where its parameters are
    vectors: Tensor | None = None  # of a text, (n, c)
    seed: int | None = None  # of each call, for a module that is random in evaluation mode
    keeps_state: bool = False  # a call changes the next one, so that each is made on a copy

    @property
    def limit(self) -> float:
        """Return the relative difference below which two passes are the same: a thousand roundings, at most 3 %."""
        return min(1e3 * torch.finfo(self.inner or self.dtype).eps, 0.03)

    @property
    def takes_qkv(self) -> bool:
        """Return whether queries, keys and values are separate arguments."""
        return "value" in self.names

    def draw(self, n: int, batch: int = 1, seed: int = 0) -> Tensor:
        """Return inputs (b, i, c): random ones, and the target's own vectors at the start of the first text."""
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(batch, n, self.d_model, generator=generator, dtype=torch.float64)
        if self.vectors is not None and seed < 3:
            count = min(n, len(self.vectors))
            x[:1, :count] = self.vectors[:count].to(x)
        return x.to(self.device, self.dtype)

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
        originals = {"x": x, "query": x, "key": key, "value": value}
        inputs = {role: self._lay(tensor) for role, tensor in originals.items()}
        function, sink = self.function, io.StringIO()
        if self.keeps_state and isinstance(function, nn.Module):
            function = duplicate(function, shared=True)
        with contextlib.ExitStack() as stack:  # neither its prints nor its seeds leave a call
            stack.enter_context(contextlib.redirect_stdout(sink))
            stack.enter_context(contextlib.redirect_stderr(sink))
            if self.seed is not None:
                stack.enter_context(torch.random.fork_rng(devices=[]))
                torch.manual_seed(self.seed)
            if self.call is not None:
                result = self._call_by_user(self.call, function, inputs, allow, padding)
            else:
                arguments = {**self.fixed, **{self.names[r]: inputs[r] for r in inputs if r in self.names}}
                arguments.update(self._masks(x, allow, padding), **self.positions(x, start or 0))
                if start is not None:
                    arguments[self.names["cache"]] = cache
                    arguments.update({name: True for role, name in self.names.items() if role == "use_cache"})
                positional = [arguments.pop(name) for name in arguments.pop("", ())]
                result = function(*positional, **arguments)
        is_changed = any(not torch.equal(inputs[role], self._lay(tensor)) for role, tensor in originals.items())
        return replace(self._read(result, x), input_changed=is_changed)

    @torch.no_grad()
    def moves(self, x: Tensor, token: int, text: int = 0, **options: Any) -> Tensor:
        """Return how far each output moves (b, i), of the largest one, when a token of a text changes."""
        out, other = (self(inputs, **options).out.nan_to_num() for inputs in (x, change(x, token, text)))
        return (other - out).abs().amax(-1) / out.abs().max()

    def _masks(self, x: Tensor, allow: Tensor | None, padding: Tensor | None) -> dict[str, Tensor]:
        """Return the masks as they are taken."""
        masks = {}
        rows = None if padding is None else padding[:, None].expand(-1, x.shape[1], -1)
        for tensor, form in ((allow, self.mask), (rows, self.padding or self.mask)):
            if tensor is not None:
                if form is None:
                    raise Unsupported("it takes no such mask")
                masks[form.name] = form.write(tensor, self.n_heads, x.dtype)
        return masks

    @staticmethod
    def _call_by_user(
        call: Callable[..., Any], function: Any, inputs: dict[str, Any], allow: Tensor | None, padding: Tensor | None
    ) -> Any:
        _, *names = inspect.signature(call).parameters
        if padding is not None and "padding" not in names:
            allow = padding[:, None].expand(-1, padding.shape[1], -1)
        short = {"q": inputs["query"], "k": inputs["key"], "v": inputs["value"]}
        arguments = {**inputs, **short, "allow": allow, "padding": padding}
        if unknown := set(names) - set(arguments):
            raise Unsupported(
                f"call= takes {sorted(unknown)}; it is given m and of {', '.join(arguments)} what it names"
            )
        return call(function, **{name: arguments[name] for name in names})

    def _lay(self, x: Tensor) -> Tensor:
        return LAYOUTS[self.layout][0](x.clone(), self.n_heads)  # it may be changed in place

    def positions(self, x: Tensor, start: int) -> dict[str, Any]:
        """Give a layer that is handed its rotations what its model would hand it: halves are paired, base 10,000."""
        d_head, places = self.d_model // self.n_heads, torch.arange(start, start + x.shape[1], device=x.device)
        values: dict[str, Any] = {"position_ids": places[None], "cache_position": places}
        if self.names.keys() & {"freqs_cis", "position_embeddings"}:
            speeds = 10000 ** (-torch.arange(0, d_head, 2, dtype=torch.float64, device=x.device) / d_head)
            angles = places[:, None] * speeds
            pair = torch.cat([angles, angles], -1)[None]
            values["freqs_cis"] = torch.polar(angles * 0 + 1, angles)
            values["position_embeddings"] = pair.cos().to(x.dtype), pair.sin().to(x.dtype)
        return {name: values[role] for role, name in self.names.items() if role in values}

    def _read(self, result: Any, x: Tensor) -> Answer:
        """Find the output, the weights and a cache in what a call returned."""
        result = list(result.values()) if isinstance(result, dict) else result
        parts = result if isinstance(result, (tuple, list)) else [result]
        out = next((part for part in parts if isinstance(part, Tensor) and part.is_floating_point()), None)
        if out is None:
            raise Unsupported(f"it returns {type(result).__name__}, and no tensor of numbers in it")
        rest = [part for part in parts if part is not out and part is not None]
        maps = [part for part in rest if isinstance(part, Tensor) and part.dim() in (3, 4)]
        others = [part for part in rest if not isinstance(part, Tensor)]
        out = LAYOUTS[self.layout][1](out)
        if out.dim() != 3 or out.shape[:2] != x.shape[:2]:
            sizes = " × ".join(map(str, out.shape))
            raise Unsupported(f"its output is {sizes} for an input of {' × '.join(map(str, x.shape))} (b, i, c)")
        return Answer(out, maps[-1] if maps else None, others[-1] if others else None)

    def without_weights(self) -> Target:
        """Return the target with no weights requested."""
        return replace(self, fixed={name: NAMES.get(name) != "weights" and value for name, value in self.fixed.items()})

    def with_dtype(self, dtype: torch.dtype) -> Target:
        """Return the target with its parameters in another format."""
        function = self.function
        if isinstance(function, nn.Module):
            function = duplicate(function).to(dtype)
        return replace(self, function=function, dtype=dtype)


def kernel(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    """Call torch's kernel, which has no signature that could be read."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask)


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a module's forward or of a function. Raises Unsupported."""
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
    open_names, optional, positional = list[str](), list[str](), list[str]()
    values = {"n_heads": n_heads, "d_model": d_model, "weights": True, "mean": False}
    for parameter in signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        name, is_needed = parameter.name, parameter.default is parameter.empty
        role = "mask" if name == mask else NAMES.get(name.lower().strip("_"), "")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(name)
        if role in values:
            if is_needed or role in ("weights", "mean"):
                fixed[name] = values[role]
        elif role and role not in names:
            names[role] = name
        elif is_needed:
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


def change(x: Tensor, token: int, text: int = 0) -> Tensor:
    """Return x with other numbers at one token of a text."""
    other = x.clone()
    generator = torch.Generator().manual_seed(1)
    other[text, token] = 2 * torch.randn(x.shape[-1], generator=generator, dtype=torch.float64).to(x)
    return other


def is_large(function: Any) -> bool:
    """Return whether a module has too many parameters to be copied."""
    return isinstance(function, nn.Module) and sum(x.numel() for x in function.parameters()) > MAX_COPIED


def duplicate(module: nn.Module, *, shared: bool = False) -> nn.Module:
    """Return a copy of a module, with the same parameters if shared; results of earlier passes are detached."""
    values = [value for part in module.modules() for value in vars(part).values() if isinstance(value, Tensor)]
    memo: dict[int, Any] = {id(value): value.detach().clone() for value in values if not value.is_leaf}
    memo.update({id(parameter): parameter for parameter in module.parameters() if shared})
    return copy.deepcopy(module, memo)


def distance(a: Tensor, b: Tensor) -> float:
    """Return the largest difference, relative to the largest number; NaN and ∞ in one alone are infinite."""
    if a.shape != b.shape:
        return math.inf
    a, b = a.detach().double(), b.detach().double()
    if not torch.equal(a.isfinite(), b.isfinite()):
        return math.inf
    a, b = a.nan_to_num(), b.nan_to_num()
    return float((a - b).abs().max() / b.abs().max().clamp_min(1e-30)) if a.numel() else 0.0


def sentence(error: Exception | None) -> str:
    """Return the kind and the first line of an error."""
    return f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0][:200]}"
