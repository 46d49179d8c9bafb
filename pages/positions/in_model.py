"""A sentence in MiniLM: why positions are needed, how long the vectors that are added up are, each position in turn."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from headlight.link.limits import POSITIONS
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.picture.words import NOT_TRAINED, position_note, position_title
from headlight.ui import sheet
from headlight.ui.numbers import difference, number, precise
from headlight.ui.sheet import Block
from mha_core.models.encoder import Encoder
from mha_core.models.stack import Stack
from mha_core.positions import Sinusoidal

from .encodings import trained_table

SAME = 1e-5  # vectors that differ by no more are called the same: float32 rounds


@dataclass(frozen=True)
class OnModel:
    """A sentence in the model under each position.

    Attributes:
        layer, head: the head that looks most at the previous token in the untouched model.
        rows: name, what it is, cosine to the unchanged model’s sentence vector's, and that head's mean weight on
            the previous token.
        maps: that head's map (i, j) for each of the rows.
        notices: what must be said of the passes, in whole sentences.
    """

    layer: int
    head: int
    rows: list[tuple[str, str, float, float]]
    maps: list[Tensor]
    notices: list[str]


def lengths(settings: Settings, amplitude: float) -> tuple[float, float, float]:
    """Mean lengths of what is added up at a token: its embedding, the trained row of its place, waves as wide."""
    model = pictures.model_on("auto")
    _, ids = model.tokenize(settings.text)

    def embedded(stack: Stack) -> Tensor:
        encoder = cast(Encoder, stack)
        return (encoder.words.weight[ids] + encoder.segment).cpu().double()

    embedding, _ = model.run_on_stack(embedded)
    n, width = len(ids), model.sizes.d_model
    waves = Sinusoidal(width, amplitude).add(torch.zeros(n, width, dtype=torch.float64))
    one, two, three = (float(v.norm(dim=-1).mean()) for v in (embedding, trained_table().table[:n], waves))
    return one, two, three


def amplitudes(settings: Settings, amplitude: float) -> str:
    """Compare the amplitude of sinusoids with the vectors that the model adds up."""
    embedding, learned, waves = lengths(settings, amplitude)
    return (
        f"Mean length in this sentence: MiniLM’s embeddings {number(embedding, 3)}, the rows of its learned table "
        f"{number(learned, 3)}, waves as wide {number(waves, 3)}, which is {number(waves / embedding, 2)} × the "
        f"embeddings’. Waves as long as the learned rows need amplitude {number(amplitude * learned / waves, 4)}."
    )


def on_model(settings: Settings) -> OnModel:
    """The same sentence under each position that the control offers. Raises what `Model.run` raises."""
    by_name = {
        name: pictures.picture(Settings(settings.text, position=position, device=settings.device))
        for name, position in POSITIONS.items()
    }
    previous = {name: picture.run.weights.diagonal(-1, -2, -1).mean(dim=-1) for name, picture in by_name.items()}
    layer, head = divmod(int(previous["as trained"].argmax()), previous["as trained"].shape[1])
    rows = [
        (
            name,
            position_note(picture.settings.position, picture.model),
            picture.cosine,
            float(previous[name][layer, head]),
        )
        for name, picture in by_name.items()
    ]
    maps = [picture.run.weights[layer, head] for picture in by_name.values()]
    notices = list(dict.fromkeys(said for picture in by_name.values() for said in picture.run.notices))
    return OnModel(layer, head, rows, maps, notices)


def table(sentence: OnModel) -> Block:
    """The numbers of every map, and what each encoding is in the model; what holds for several is said once."""
    untrained = f" {NOT_TRAINED}."
    trained = [position_title(name) for name, note, _, _ in sentence.rows if not note.endswith(untrained)]
    but = f"With all encodings but “{'”, “'.join(trained)}”: {NOT_TRAINED[0].lower()}{NOT_TRAINED[1:]}."
    return sheet.table(
        ["positional encoding", "cosine of the sentence vector", "weight on the previous token", "what it is"],
        [
            [position_title(name), precise(cosine), number(weight), note.removesuffix(untrained)]
            for name, note, cosine, weight in sentence.rows
        ],
        "The cosine is to the unchanged model’s sentence vector. The weight is the mean over the sentence in layer "
        f"{sentence.layer} head {sentence.head} (counted from 0), the head with the largest such "
        f"weight in the unchanged model. {but if len(trained) < len(sentence.rows) else ''}".rstrip(),
        prose=True,
    )


def backwards(text: str) -> str:
    return " ".join(reversed(text.split()))


def problem(settings: Settings) -> str:
    """Say what attention makes of the same words in another order. Raises what `Model.run` raises."""
    order = backwards(settings.text)
    if order == " ".join(settings.text.split()):
        return "Type at least two different words to see what another order changes."
    none, trained = (
        pictures.reordered_difference(Settings(settings.text, position=position, device=settings.device), order)
        for position in ("none", "trained")
    )
    if none is None or trained is None:
        return "Backwards the model splits these words into other tokens, so they cannot be compared."
    same, rounding = ("the same vector", ", up to rounding") if none <= SAME else ("nearly the same vector", "")
    return (
        f"Read backwards, the sentence is “{order}”. Without positions each word gets {same} as before{rounding}, at "
        f"whatever position it is now (largest difference {difference(none, 2)}). "
        f"With MiniLM’s own positions the vectors differ by up to {difference(trained, 2)}."
    )
