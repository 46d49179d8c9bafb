"""Autoregressive generation, one token and one row of every map at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import torch
from torch import Tensor

from ..attention.key_value import KVCache
from ..errors import HeadlightError, MaskError, TooLong, Unsupported
from ..positions import Offset
from .inputs import Switches, ids_to_tokens
from .model import Model
from .sampling import choose as choose
from .stack import Stack


@dataclass(frozen=True)
class NewToken:
    """Generated token with the results of its forward pass; tensors are detached, on the model's device.

    Attributes:
        token: as the tokenizer writes it.
        id: its number in the vocabulary.
        weights: (layers, h, j), its row of every map; j counts all tokens, itself the last.
        hidden: (layers + 1, d_model), as a row of `Run.hidden`.
        logits: (v,), of the token after it.
    """

    token: str
    id: int
    weights: Tensor
    hidden: Tensor
    logits: Tensor


class _Shifted(Offset):
    """An encoding whose tokens all stand `offset` positions further on; a bias depends on distances, which stay."""

    def bias(self, q: Tensor, len_k: int) -> Tensor | None:
        return self.inner.bias(q, len_k)


class Generation:
    """Growing text with a KV cache, so that a step computes only one token.

    The rows equal those of one pass over the whole text, as the mask is causal. Not thread-safe.

    Args:
        model: one that predicts the next token: its own mask is causal.
        text: the prompt, at least one token; or its ids.
        use_cache: False computes the whole text again in each step.
        switches: used in every step, as in `Model.run`; a mask is an expression or a rule, so that it fits any length.
            This temperature divides attention scores; the sampling temperature is an argument of `step`.

    Attributes:
        tokens: of the whole text so far.
        ids: of the whole text so far.
        logits: (v,), of the next token.

    Raises:
        Unsupported: the model predicts no next token. MaskError: a mask of a fixed size.
        TooLong, PositionError, SizeError: as in `Model.run`.
    """

    def __init__(
        self, model: Model, text: str | Sequence[int], *, use_cache: bool = True, **switches: Unpack[Switches]
    ) -> None:
        self.model, self.use_cache = model, use_cache
        if model.own_mask != "causal":
            raise self._cannot
        if isinstance(switches.get("mask"), Tensor):
            raise MaskError("a mask tensor has one size, and the text grows; give a mask expression or a rule")
        tokens, ids = model.tokenize(text)
        self.tokens, self.ids = list(tokens), list(ids)
        # a caller's iterators are read once, for all passes
        options: dict[str, Any] = {**switches}
        lists: Any = {name: tuple(value) for name, value in options.items() if name.endswith("_off")}
        self._switches: Switches = {**switches, **lists}
        self._caches: tuple[Stack | None, list[KVCache]] | None = None
        self.logits = self._pass()[2]

    def step(self, sampling_temperature: float = 0.0, seed: int = 0, *, top_k: int = 0, top_p: float = 1.0) -> NewToken:
        """Choose the next token, append it and compute its row; see `sampling.choose` for the arguments.

        Raises:
            TooLong: the model has no position for one token more. HeadlightError: as in `sampling.choose`.
        """
        suppressed, place = self.model.suppressed_ids, len(self.ids)
        token = choose(self.logits, sampling_temperature, seed, place, suppressed, top_k=top_k, top_p=top_p)
        return self.append(token)

    def append(self, token: int) -> NewToken:
        """Append a token of the caller's choice, a number of the vocabulary, and compute its row.

        Raises:
            TooLong: as in `step`. HeadlightError: there is no such token.
        """
        max_len, vocabulary = self.model.sizes.max_len, self.model.sizes.vocabulary
        if len(self.ids) >= max_len:
            raise TooLong(limit=max_len, got=len(self.ids) + 1)
        if token not in range(vocabulary):
            raise HeadlightError(f"token {token!r} is not in the vocabulary; choose 0 to {vocabulary - 1}")
        self.ids.append(token)
        self.tokens.append(ids_to_tokens(self.ids[-2:], self.model.tokenizer)[-1])
        try:
            weights, hidden, self.logits = self._pass()
        except BaseException:  # an interrupted pass may have filled only some of the caches
            del self.ids[-1], self.tokens[-1]
            self._caches = None
            raise
        return NewToken(self.tokens[-1], token, weights, hidden, self.logits)

    def cut(self, length: int) -> None:
        """Keep only the first `length` tokens, at least one; a shorter text stays unchanged."""
        if not length >= 1:
            raise HeadlightError(f"length={length}: at least one token stays, as the next one is read from the last")
        if length < len(self.ids):
            del self.ids[length:], self.tokens[length:]
            self.recompute()  # the last remaining token, for its logits

    def recompute(self, shift: int = 0) -> NewToken:
        """Compute the last token again, `shift` positions further on; without a cache the whole text stands there.

        Cached keys and values keep the positions that they were computed at: reused at another one they may be wrong.

        Raises:
            TooLong: the model has no such position. Unsupported: another library computes the positions.
        """
        length = len(self.ids)
        if length + shift > self.model.sizes.max_len:
            raise TooLong(limit=self.model.sizes.max_len, got=length + shift)
        for cache in self.caches:
            cache.cut(length - 1)
        weights, hidden, self.logits = self._pass(shift)
        return NewToken(self.tokens[-1], self.ids[-1], weights, hidden, self.logits)

    @property
    def caches(self) -> Sequence[KVCache]:
        """Keys and values of each layer; none without a cache."""
        return self._caches[1] if self._caches else ()

    def _pass(self, shift: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the tokens that are not cached yet; return the last one's weights, hidden states and logits."""
        if self.model.encoder is None:  # another library computes
            caches = self.caches or [KVCache() for _ in range(self.model.sizes.n_layers if self.use_cache else 0)]
            run = self.model.run_new_tokens(self.ids, caches, shift, **self._switches)
            self._caches = (None, list(caches)) if caches and caches[0].length else None
            if run.logits is None:
                raise self._cannot
            return run.weights[:, :, -1], run.hidden[:, -1], run.logits[0]
        switches = self.model.switches(len(self.ids), None, **self._switches)

        def compute(stack: Stack) -> tuple[Tensor, Tensor, Tensor | None]:
            if self._caches is None or self._caches[0] is not stack:  # after a fall-back to the CPU nothing is cached
                self._caches = stack, [KVCache() for _ in range(stack.sizes.n_layers if self.use_cache else 0)]
            arguments = switches(stack)
            layers = {n: stack.block(n).attention.with_cache(cache) for n, cache in enumerate(self.caches)}
            cached = self.caches[0].length if self.caches else 0
            new = torch.tensor([self.ids[cached:]], device=stack.device)
            allow, values = arguments["allow"], arguments["ablate"].values
            arguments["allow"] = None if allow is None else allow[:, :, cached:]
            rows_on = None if values is None else values[:, :, cached:]
            if shift:
                arguments["position"] = _Shifted(arguments["position"], shift)
            arguments["ablate"] = arguments["ablate"]._replace(values=rows_on)
            hidden, weights = stack(new, **arguments, attentions=layers)
            rows = torch.stack([layer[0, :, -1] for layer in weights])
            states = torch.stack([layer[0, -1] for layer in hidden])
            return rows, states, stack.next_token(states[None, -1:])

        (rows, states, logits), _ = self.model.run_on_stack(compute)
        if logits is None:
            raise self._cannot
        return rows, states, logits[0, 0]

    @property
    def _cannot(self) -> Unsupported:
        return Unsupported(f"model {self.model.name!r} predicts no next token; choose a decoder or a language model")
