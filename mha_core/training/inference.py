"""Questions to a trained model: the class of a text, or its continuation."""

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import torch
from torch import Tensor

from ..errors import HeadlightError, SizeError, Unsupported
from ..models.classifier import Classifier
from ..models.inputs import padded
from ..models.language_model import LanguageModel
from ..models.model import Model
from ..models.vision import PictureModel, VisionTransformer
from .tasks.shapes import pixels_of

MAX_TOKENS = 500  # that are made at once
MAX_SCORES = 16_000_000  # b · h · n² of one batch of texts that are asked one by one

T = TypeVar("T")
K = TypeVar("K", Classifier, LanguageModel, VisionTransformer)
Told = Callable[[str], object]  # is called with what must be said of an answer, as that the CPU computed it


def classes(model: Model) -> tuple[str, ...]:
    """The names of the classes; none when it is no classifier."""
    start = model.history.start if model.history else None
    return tuple(start.classes) if start else ()


def logits(
    model: Model, texts: Sequence[str], *, mask_padding: bool | None = None, told: Told = lambda said: None
) -> Tensor:
    """One number a class, (n, classes), of at least one text. All texts are one batch, padded to the longest.

    Args:
        mask_padding: None = as the model was trained. False lets every token look at the padding too.
        told: see `Told`.

    Raises:
        TooLong: a text has more tokens than the model takes.  Unsupported: the model is no classifier.
        DeviceError: the model's device is full, and was chosen by name.
    """
    if not texts:
        raise SizeError("no text was given; give at least one")
    if isinstance(model, PictureModel):
        return _of_pictures(model, texts, told)
    _check_classes(model)
    if mask_padding is None:
        mask_padding = model.history is None or model.history.recipe.mask_padding
    ids, keep = padded([model.tokenize(text)[1] for text in texts], model.pad_id)

    def compute(stack: Classifier) -> Tensor:
        return stack.logits(ids.to(stack.device), keep.to(stack.device), mask_padding=mask_padding)

    return _computed(model, compute, told)


def probabilities(
    model: Model, texts: Sequence[str], *, mask_padding: bool | None = None, told: Told = lambda said: None
) -> Tensor:
    """As `logits`, but probabilities that sum to 1."""
    return logits(model, texts, mask_padding=mask_padding, told=told).softmax(dim=-1)


def probabilities_of_each(model: Model, texts: Sequence[str], *, told: Told = lambda said: None) -> Tensor:
    """As `probabilities`, (n, classes), but every text is asked alone: no padding is beside it. n may be 0.

    Of a text of more tokens than the model takes the first ones are read, as in its training. Texts of the same number
    of tokens go through the model together.

    Raises:
        Unsupported, DeviceError: as `logits`.
    """
    if isinstance(model, PictureModel):
        return _of_pictures(model, texts, told).softmax(dim=-1) if texts else torch.empty(0, len(classes(model)))
    _check_classes(model)
    sizes = model.sizes
    coded = [model.encode(text)[1][: sizes.max_len] for text in texts]

    def compute(stack: Classifier) -> Tensor:
        found = torch.empty(len(coded), stack.out.out_features)
        for length in sorted(set(map(len, coded))):
            rows = [row for row, ids in enumerate(coded) if len(ids) == length]
            for some in torch.split(torch.tensor(rows), max(1, MAX_SCORES // (sizes.n_heads * length**2))):
                ids = torch.tensor([coded[row] for row in some.tolist()], device=stack.device)
                found[some] = stack.logits(ids, ids >= 0).softmax(dim=-1).to("cpu", found.dtype)
        return found

    return _computed(model, compute, told)


def continuation(
    model: Model,
    text: str,
    tokens: int,
    *,
    temperature: float = 1.0,
    seed: int = 0,
    told: Told = lambda said: None,
) -> list[tuple[str, float]]:
    """Continues the text by so many tokens, each drawn after the one before, with the model's probability of each.

    The model sees as many of the last tokens as it was trained on.

    Args:
        temperature: divides the logits of the draw; 0 takes the most likely token each time.
        seed: of the draws; the same one gives the same tokens.

    Raises:
        Unsupported: the model is no language model.  HeadlightError: no token in the text, or numbers out of bounds.
        DeviceError: as `logits`.
    """
    if not isinstance(model.encoder, LanguageModel):
        raise Unsupported(f"{model.name} does not go on with a text; ask a language model")
    if not 0 <= tokens <= MAX_TOKENS or not 0 <= temperature <= 100:
        raise HeadlightError(f"{tokens} tokens at temperature {temperature}: up to {MAX_TOKENS} at 0 to 100 are made")
    given = model.encode(text)[1]
    if not given:
        raise HeadlightError("the text is empty; give the model something to go on with")

    def compute(stack: LanguageModel) -> list[tuple[str, float]]:
        ids, generator, drawn = list(given), torch.Generator().manual_seed(seed), list[tuple[str, float]]()
        for _ in range(tokens):
            seen = torch.tensor([ids[-model.sizes.max_len :]], device=stack.device)
            last = stack.logits(seen)[0, -1].cpu().double()
            if temperature == 0:
                chosen = int(last.argmax())
            else:
                powers = ((last - last.max()) / temperature).exp()  # not above 1, however cold
                chosen = int(torch.multinomial(powers, 1, generator=generator))
            ids.append(chosen)
            drawn.append((model.tokenizer.id_to_token(chosen) or "[UNK]", float(last.softmax(dim=0)[chosen])))
        return drawn

    return _computed(model, compute, told)


def _of_pictures(model: PictureModel, texts: Sequence[str], told: Told) -> Tensor:
    """One number a class, (n, classes), of pictures by their written forms, see `shapes.read`."""
    pixels = pixels_of(texts)

    def compute(stack: VisionTransformer) -> Tensor:
        return stack.logits(pixels.to(stack.device, stack.words.weight.dtype))

    return _computed(model, compute, told)


def _check_classes(model: Model) -> None:
    if not isinstance(model.encoder, Classifier):
        raise Unsupported(f"{model.name} has no classes; ask a classifier")


def _computed(model: Model, compute: Callable[[K], T], told: Told) -> T:
    """The result of `compute` on the model's stack, whose kind was checked, or on its copy on the CPU."""
    found, notices = model.run_on_stack(lambda stack: compute(cast(K, stack)))
    for sentence in notices:
        told(sentence)
    return found
