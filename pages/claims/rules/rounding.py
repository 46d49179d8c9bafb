"""What rounding leaves where exact numbers would be equal: the one place where the claims tell it from a difference.

It holds on every processor and for any number of threads, which change the order of the sums alone.
"""

from mha_core.measure.rounding import of_sums

__all__ = ["of_attention", "of_model", "of_softmax", "of_sums"]


def of_softmax(n: int, d: int) -> float:
    """The same of the weights of n keys from products of d numbers: the product, the sum below, the row's own sum."""
    return of_sums(d, n, n)


def of_attention(n: int, d_model: int, d_head: int) -> float:
    """The same of a layer's output: projected, weighed, mixed, projected again."""
    return of_sums(d_model, d_head, n, n, d_model)


def of_model(n_layers: int, n: int, d_model: int, d_head: int, d_feed_forward: int) -> float:
    """The same of what a whole encoder hands on; each layer has two norms and a feed-forward network as well."""
    around = of_sums(d_model, d_model, d_feed_forward, d_model)
    return n_layers * (of_attention(n, d_model, d_head) + around)
