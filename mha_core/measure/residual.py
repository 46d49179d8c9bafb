"""Additions of the parts of each layer to the residual stream of every token.

In "A Mathematical Framework for Transformer Circuits" (Elhage et al. 2021) attention and MLP read a token's stream and
add a vector to it. The additions of a pass are observed as it computes them, so they hold under every switch, and for
models of transformers as for our own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..errors import Unsupported
from ..models.model import Model
from ..models.run import Run
from ..pretrained.attention_hook import SOFTMAX

T = TypeVar("T")

RECENT = 6  # states that a sum may refer to; an ablated layer hands on an earlier one
NO_STREAM = (
    "the layers of this model do not add attention and MLP to a token’s vector as two vectors that can be observed; "
    "choose another model"
)
CROSS = "between its layers this decoder also adds what it takes from the other text; choose the model’s encoder"
_SUMS = frozenset((torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__))
_PRODUCTS = frozenset((nn.functional.linear, getattr(torch.ops.mkldnn, "_linear_pointwise", None)))


class Neurons(NamedTuple):
    """The neurons of an MLP that add the longest vectors to a token, (i, k) each, on the CPU."""

    number: Tensor  # of the neuron, int64
    activation: Tensor  # after the nonlinearity and a gate, if there is one
    norm: Tensor  # of what it adds, |activation| times the norm of its column in the last matrix


@dataclass(frozen=True)
class Addition:
    """Addition of one part of a layer to the stream of each token.

    Attributes:
        stream: (i, c), the one that it is added to; in a post-norm layer after the norm.
        added: (i, c).
        total: (i, c), their sum; a post-norm layer norms it next.
        activations: (i, m), the input of the matrix that ends the part: the neurons of an MLP, the heads of attention.
        weight: (c, m), that matrix; None, as `activations`, where the part does not end in one.
    """

    stream: Tensor
    added: Tensor
    total: Tensor
    activations: Tensor | None = None
    weight: Tensor | None = None

    @property
    def norms(self) -> Tensor:
        """Length of what is added to each token, (i,) float64."""
        lengths: Tensor = torch.linalg.vector_norm(self.added.double(), dim=-1)
        return lengths

    @property
    def cosines(self) -> Tensor:
        """Cosine of what is added to the stream before it, (i,) float64; 0 where nothing is added."""
        return nn.functional.cosine_similarity(self.added.double(), self.stream.double(), dim=-1)

    def neurons(self, count: int) -> Neurons | None:
        """Return the neurons that add the longest vectors; None where the part does not end in one matrix."""
        if self.activations is None or self.weight is None:
            return None
        sizes = self.activations.abs().double() * self.weight.double().norm(dim=0)
        norm, index = sizes.topk(min(count, sizes.shape[-1]), dim=-1)
        return Neurons(index.cpu(), self.activations.gather(-1, index).cpu(), norm.cpu())


def additions(
    model: Model,
    run: Run,
    compute: Callable[[], Run],
    reduce: Callable[[Addition], T] = lambda addition: addition,  # type: ignore[assignment, return-value]
) -> list[dict[str, T]]:
    """Return what each layer adds, by its part "attention" or "mlp"; nothing for a layer that is ablated.

    Args:
        model: the model that is run.
        run: its run on a text.
        compute: runs it again, with the same switches.
        reduce: called with each addition as soon as it is computed; what it returns is kept.

    Raises:
        Unsupported: a layer adds more, or its parts are not added one after the other.
    """
    if model.group != "encoder" and len(model.groups) > 1:
        raise Unsupported(CROSS)
    with _Recorder(run.hidden[0], reduce) as recorder:
        hidden = compute().hidden
    is_ours = model.encoder is not None
    if not (model.sizes.residual if is_ours else any(part == "mlp" for _, part, _ in recorder.records)):
        raise Unsupported(NO_STREAM)
    parts: list[dict[str, T]] = [{} for _ in run.weights]
    for layer, part, record in recorder.records:
        if layer < len(parts) and not torch.equal(hidden[layer], hidden[layer + 1]):
            parts[layer][part] = record
    return parts


class _Recorder(TorchFunctionMode):
    """Torch function mode that observes sums with the stream, from its first state (i, c) on."""

    def __init__(self, first: Tensor, reduce: Callable[[Addition], Any]) -> None:
        super().__init__()
        self.records: list[tuple[int, str, Any]] = []  # layer, part, and what its addition was reduced to
        self._reduce = reduce
        self._states = [first]
        self._products: list[tuple[Tensor, Tensor, Tensor]] = []  # input, weight (c, m) and result
        self._sums: list[tuple[Tensor, Tensor, Tensor]] = []  # of other vectors; both since the last addition
        self._layer = -1
        self._part = "attention"

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        shapes = {tensor.shape for tensor in tensors}
        if func in SOFTMAX and result.dim() == 4:
            self._layer, self._part = self._layer + 1, "attention"
        elif func in _PRODUCTS and len(tensors) > 1:
            self._products.append((tensors[0], tensors[1], result))
        elif func is torch.addmm and len(tensors) == 3:  # of transformers' Conv1D, whose weight is transposed
            self._products.append((tensors[1], tensors[2].T, result))
        elif func is nn.functional.layer_norm and tensors and self._is_state(tensors[0]):
            self._states.append(self._rows(result))
        elif func in _SUMS and len(tensors) == 2 and shapes == {result.shape} and result.dim() > 1 and not kwargs:
            left, right = tensors
            if self._is_state(left):
                self._add(left, right, result)
            elif self._is_state(right):
                self._add(right, left, result)
            else:
                self._sums.append((left, right, result))
        return result

    def _add(self, stream: Tensor, added: Tensor, total: Tensor) -> None:
        pair = next(([left, right] for left, right, result in self._sums if result is added), [added])
        parts = sorted(pair, key=self._source)  # attention and MLP that were computed side by side, attention first
        for x in parts if self._source(parts[0]) >= 0 else [added]:
            source = self._source(x)
            ends = () if source < 0 else (self._rows(self._products[source][0]), self._products[source][1])
            addition = Addition(self._rows(stream), self._rows(x), self._rows(total), *ends)
            self.records.append((self._layer, self._part, self._reduce(addition)))
            self._part = "mlp"
        self._states.append(self._rows(total))
        self._products.clear()
        self._sums.clear()

    def _source(self, x: Tensor) -> int:
        """Return the index of the newest product that equals x; −1 if there is none."""
        places = reversed(range(len(self._products)))
        return next((place for place in places if _is_equal(self._rows(self._products[place][2]), self._rows(x))), -1)

    def _rows(self, x: Tensor) -> Tensor:
        """Return the rows (i, c) of a batch of one text, without padding."""
        return x.detach().reshape(-1, x.shape[-1])[: len(self._states[0])]

    def _is_state(self, x: Tensor) -> bool:
        return any(_is_equal(self._rows(x), state) for state in self._states[: -RECENT - 1 : -1])


def _is_equal(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a.to(b), b)
