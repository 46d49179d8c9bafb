"""Key/value cache, and key/value heads shared by several query heads (GQA)."""

from torch import Tensor, cat

from ..trace import Tracer, no_trace


class KVCache:
    """Keys and values of the earlier tokens of one layer, so that decoding computes only the new ones.

    Attributes:
        k: (b, g, j, d), after `rotate`, for g key/value heads; None before the first pass.
        v: (b, g, j, d); None before the first pass.
    """

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    @property
    def length(self) -> int:
        """Number of cached tokens."""
        return 0 if self.k is None else self.k.shape[2]

    def cut(self, length: int) -> None:
        """Drop all tokens after the first `length`."""
        if self.k is not None and self.v is not None:
            self.k, self.v = self.k[:, :, :length], self.v[:, :, :length]


def keys_values(
    k: Tensor, v: Tensor, n_heads: int, cache: KVCache | None, trace: Tracer = no_trace
) -> tuple[Tensor, Tensor]:
    """Extend k and v (b, g, n, d) by the cached tokens and repeat them per query head.

    Returns:
        k and v (b, h, j, d).
    """
    k, v = extend_cache(k, v, cache)
    return repeat_kv(k, v, n_heads, trace)


def extend_cache(k: Tensor, v: Tensor, cache: KVCache | None) -> tuple[Tensor, Tensor]:
    """Append k and v (b, g, n, d) to the cache and return all of it, (b, g, j, d)."""
    if cache is None:
        return k, v
    cache.k = k if cache.k is None else cat((cache.k, k), dim=2)
    cache.v = v if cache.v is None else cat((cache.v, v), dim=2)
    return cache.k, cache.v


def repeat_kv(k: Tensor, v: Tensor, n_heads: int, trace: Tracer = no_trace) -> tuple[Tensor, Tensor]:
    """Repeat k and v (b, g, j, d) for the query heads, (b, h, j, d).

    Each key/value head serves h / g consecutive query heads. Fewer key/value heads make a smaller cache (Ainslie et al.
    2023, "GQA"; g = 1: Shazeer 2019).
    """
    g = k.shape[1]
    if g == n_heads:
        return k, v
    trace("k.shared", k, "b g j d", "one key a token and key/value head", inputs=("k",))
    trace("v.shared", v, "b g j d", "one value a token and key/value head", inputs=("v",))
    # a new axis with stride 0: every query head of a group reads the same numbers, none is copied
    repeats = n_heads // g
    k, v = (x.unsqueeze(2).expand(-1, -1, repeats, -1, -1) for x in (k, v))
    axes = f"b g {repeats} j d"
    trace("k.repeat", k, axes, "repeat k: k.unsqueeze(2).expand(b, g, h / g, j, d), a view", inputs=("k",))
    trace("v.repeat", v, axes, "repeat v: v.unsqueeze(2).expand(b, g, h / g, j, d), a view", inputs=("v",))
    # the products take one axis of heads, and no single stride covers g and the repeats, so this copies
    return k.flatten(1, 2), v.flatten(1, 2)
