"""Inference with trained models: the class of a text, or its continuation."""

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import torch
from torch import Tensor

from ..errors import HeadlightError, SizeError, Unsupported
from ..models.classifier import Classifier
from ..models.inputs import padded
from ..models.language_model import LanguageModel
from ..models.model import Model
from ..models.sampling import stages
from ..models.vision import PictureModel, VisionTransformer
from .tasks.shapes import draw_all

MAX_TOKENS = 500  # of one continuation
MAX_SCORES = 16_000_000  # b · h · n² of one batch of unpadded texts

T = TypeVar("T")
K = TypeVar("K", Classifier, LanguageModel, VisionTransformer)
Warn = Callable[[str], object]  # called with each warning, such as a fall-back to the CPU


def classes(model: Model) -> tuple[str, ...]:
    """Return the names of the classes; empty if the model is not a classifier."""
    start = model.history.start if model.history else None
    return tuple(start.classes) if start else ()


def logits(model: Model, texts: Sequence[str], *, on_warning: Warn = lambda text: None) -> Tensor:
    """Compute the class logits (n, classes) of at least one text, padded as in the training.

    Args:
        model: a classifier.
        texts: of at most the model's maximum length; descriptions for a model of pictures, see `shapes.read`.
        on_warning: called with each warning, such as a fall-back to the CPU.

    Raises:
        TooLong: a text has more tokens than the model takes.
        Unsupported: the model is not a classifier.
        DeviceError: the model's device is full, and was chosen by name.
    """
    if not texts:
        raise SizeError("no text was given; give at least one")
    if isinstance(model, PictureModel):
        pixels = draw_all(texts)

        def compute_pictures(stack: VisionTransformer) -> Tensor:
            return stack.logits(pixels.to(stack.device, stack.words.weight.dtype))

        return _run_on_stack(model, compute_pictures, on_warning)
    _check_classes(model)
    mask_padding = model.history is None or model.history.recipe.mask_padding
    ids, keep = padded([model.tokenize(text)[1] for text in texts], model.pad_id)

    def compute(stack: Classifier) -> Tensor:
        return stack.logits(ids.to(stack.device), keep.to(stack.device), mask_padding=mask_padding)

    return _run_on_stack(model, compute, on_warning)


def probabilities(model: Model, texts: Sequence[str], *, on_warning: Warn = lambda text: None) -> Tensor:
    """Compute the class probabilities (n, classes); arguments as of `logits`."""
    return logits(model, texts, on_warning=on_warning).softmax(dim=-1)


def unpadded_probabilities(model: Model, texts: Sequence[str], *, on_warning: Warn = lambda text: None) -> Tensor:
    """Compute the class probabilities (n, classes) without padding; n may be 0.

    Longer texts than the model takes are cut, as in its training. Texts with the same number of tokens share a batch.

    Raises:
        Unsupported, DeviceError: as `logits`.
    """
    if not texts:
        return torch.empty(0, len(classes(model)))
    if isinstance(model, PictureModel):
        return probabilities(model, texts, on_warning=on_warning)
    _check_classes(model)
    sizes = model.sizes
    coded = [model.encode(text)[1][: sizes.max_len] for text in texts]

    def compute(stack: Classifier) -> Tensor:
        results = torch.empty(len(coded), stack.out.out_features)
        for length in sorted(set(map(len, coded))):
            rows = [row for row, ids in enumerate(coded) if len(ids) == length]
            for batch in torch.split(torch.tensor(rows), max(1, MAX_SCORES // (sizes.n_heads * length**2))):
                ids = torch.tensor([coded[row] for row in batch.tolist()], device=stack.device)
                results[batch] = stack.logits(ids, ids >= 0).softmax(dim=-1).to("cpu", results.dtype)
        return results

    return _run_on_stack(model, compute, on_warning)


def continuation(
    model: Model,
    text: str,
    tokens: int,
    *,
    temperature: float = 1.0,
    seed: int = 0,
    top_k: int = 0,
    top_p: float = 1.0,
    on_warning: Warn = lambda text: None,
) -> list[tuple[str, float]]:
    """Continue a text by sampled tokens, and return each with the model's probability for it.

    The model sees as many of the last tokens as it was trained on.

    Args:
        model: a language model.
        text: the prompt, at least one token.
        tokens: the number of tokens to generate.
        temperature: divides the logits of the draw; 0 takes the most likely token each time.
        seed: of the draws; the same one gives the same tokens.
        top_k: how many tokens may be drawn; 0 = all.
        top_p: how much probability they have at least; 1 = all.
        on_warning: called with each warning, such as a fall-back to the CPU.

    Raises:
        Unsupported: the model is no language model.
        HeadlightError: no token in the text, or numbers out of bounds.
        DeviceError: as `logits`.
    """
    if not isinstance(model.encoder, LanguageModel):
        raise Unsupported(f"{model.name} cannot continue a text; choose a language model")
    if not 0 <= tokens <= MAX_TOKENS or not 0 <= temperature <= 100:
        raise HeadlightError(f"tokens={tokens}, temperature={temperature}: choose 0 to {MAX_TOKENS} and 0 to 100")
    prompt = model.encode(text)[1]
    if not prompt:
        raise HeadlightError("the text is empty; type at least one token to continue")

    def compute(stack: LanguageModel) -> list[tuple[str, float]]:
        ids, generator, generated = list(prompt), torch.Generator().manual_seed(seed), list[tuple[str, float]]()
        for _ in range(tokens):
            context = torch.tensor([ids[-model.sizes.max_len :]], device=stack.device)
            last = stack.logits(context)[0, -1].cpu().double()
            powers = stages(last, temperature, top_k, top_p)["top-p"].exp()  # at most 1 at any temperature
            token = int(torch.multinomial(powers, 1, generator=generator))
            ids.append(token)
            generated.append((model.tokenizer.id_to_token(token) or "[UNK]", float(last.softmax(dim=0)[token])))
        return generated

    return _run_on_stack(model, compute, on_warning)


def _check_classes(model: Model) -> None:
    if not isinstance(model.encoder, Classifier):
        raise Unsupported(f"{model.name} has no classes; choose a classifier")


def _run_on_stack(model: Model, compute: Callable[[K], T], on_warning: Warn) -> T:
    """Run `compute` on the model's stack, whose type was checked, or on its copy on the CPU."""
    result, notices = model.run_on_stack(lambda stack: compute(cast(K, stack)))
    for sentence in notices:
        on_warning(sentence)
    return result
