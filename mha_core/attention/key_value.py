"""The keys and values that queries meet: those of earlier tokens too, each head of them for several query heads."""

from torch import Tensor, cat

from ..trace import Tracer, no_trace


class KVCache:
    """Keys and values of one layer's earlier tokens, so that a text that grows computes those of its new tokens only.

    Attributes:
        k, v: (b, g, j, d), keys as `rotate` left them, g key/value heads; None before the first pass.
    """

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    @property
    def length(self) -> int:
        """How many tokens there are."""
        return 0 if self.k is None else self.k.shape[2]

    def cut(self, length: int) -> None:
        """Forgets all tokens but the first `length`."""
        if self.k is not None and self.v is not None:
            self.k, self.v = self.k[:, :, :length], self.v[:, :, :length]


def keys_values(
    k: Tensor, v: Tensor, n_heads: int, cache: KVCache | None, trace: Tracer = no_trace
) -> tuple[Tensor, Tensor]:
    """k and v (b, g, n, d) of new tokens -> (b, h, j, d): those of earlier tokens first, and a head for each of q's."""
    k, v = extend_cache(k, v, cache)
    return repeat_kv(k, v, n_heads, trace)


def extend_cache(k: Tensor, v: Tensor, cache: KVCache | None) -> tuple[Tensor, Tensor]:
    """k and v (b, g, n, d) of new tokens -> (b, g, j, d), those of earlier tokens first; the cache keeps both."""
    if cache is None:
        return k, v
    cache.k = k if cache.k is None else cat((cache.k, k), dim=2)
    cache.v = v if cache.v is None else cat((cache.v, v), dim=2)
    return cache.k, cache.v


def repeat_kv(k: Tensor, v: Tensor, n_heads: int, trace: Tracer = no_trace) -> tuple[Tensor, Tensor]:
    """k and v (b, g, j, d) -> (b, h, j, d): each key/value head serves h / g query heads that follow each other.

    Fewer key/value heads make a smaller cache (Ainslie et al. 2023, "GQA"; g = 1: Shazeer 2019).
    """
    g = k.shape[1]
    if g == n_heads:
        return k, v
    trace("k.shared", k, "b g j d", "one key a token and key/value head", of=("k",))
    trace("v.shared", v, "b g j d", "one value a token and key/value head", of=("v",))
    # a new axis with stride 0: every query head of a group reads the same numbers, none is copied
    each = n_heads // g
    k, v = (x.unsqueeze(2).expand(-1, -1, each, -1, -1) for x in (k, v))
    trace("k.repeat", k, f"b g {each} j d", "repeat k: k.unsqueeze(2).expand(b, g, h / g, j, d), a view", of=("k",))
    trace("v.repeat", v, f"b g {each} j d", "repeat v: v.unsqueeze(2).expand(b, g, h / g, j, d), a view", of=("v",))
    # the products take one axis of heads, and no stride walks over g and the repeats at once: here they are written out
    return k.flatten(1, 2), v.flatten(1, 2)
