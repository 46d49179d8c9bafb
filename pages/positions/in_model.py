"""A sentence in a model under each positional encoding: word order, vector lengths, and one head's maps."""

from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor

from headlight.link.cursor import Cursor
from headlight.link.limits import POSITIONS
from headlight.picture import pictures
from headlight.picture.settings import Settings
from headlight.picture.words import NOT_TRAINED, encodings, position_note, position_title
from headlight.ui import sheet
from headlight.ui.numbers import difference, number, precise
from headlight.ui.sheet import Block
from mha_core.models.encoder import Encoder
from mha_core.models.stack import Stack
from mha_core.positions import Sinusoidal
from mha_core.token_text import quote

from .encodings import trained_table

TOLERANCE = 1e-5  # vectors that differ by at most this are equal up to float32 rounding


@dataclass(frozen=True)
class OnModel:
    """Results of a sentence in the model under each positional encoding.

    Attributes:
        layer: of the head of the link, otherwise of the one with the largest mean weight on the previous token in the
            unmodified model.
        head: that head.
        keys: the tokens of the columns.
        forbidden: the cells that the model's own mask forbids.
        rows: name, description, cosine to the unchanged model’s sentence vector, and that head's mean weight on the
            previous token.
        maps: that head's map (i, j) for each of the rows.
        notices: warnings of the forward passes, in whole sentences.
    """

    layer: int
    head: int
    keys: list[str]
    forbidden: list[str]
    rows: list[tuple[str, str, float, float]]
    maps: list[Tensor]
    notices: list[str]


def lengths(settings: Settings, amplitude: float) -> tuple[float, float, float]:
    """Return the mean lengths of the embeddings, the learned position rows and sinusoids of that width."""
    model = pictures.model_on("auto")
    _, ids = model.tokenize(settings.text)

    def embedded(stack: Stack) -> Tensor:
        encoder = cast(Encoder, stack)
        return (encoder.words.weight[ids] + encoder.segment).cpu().double()

    embedding, _ = model.run_on_stack(embedded)
    n, width = len(ids), model.sizes.d_model
    waves = Sinusoidal(width, amplitude).add(torch.zeros(n, width, dtype=torch.float64))
    words, learned, wave = (float(v.norm(dim=-1).mean()) for v in (embedding, trained_table().table[:n], waves))
    return words, learned, wave


def amplitudes(settings: Settings, amplitude: float) -> str:
    """Compare the amplitude of sinusoids with the vectors that the model adds up."""
    embedding, learned, waves = lengths(settings, amplitude)
    root = pictures.model_on("auto").sizes.d_model ** 0.5
    return (
        f"Mean length in this sentence: MiniLM’s embeddings {number(embedding, 3)}, the rows of its learned table "
        f"{number(learned, 3)}, waves as wide {number(waves, 3)}, which is {number(waves / embedding, 2)} × the "
        f"embeddings’. Waves as long as the learned rows need amplitude {number(amplitude * learned / waves, 4)}. "
        f"The paper multiplies its embeddings by √d_model before it adds waves: by {number(root, 2)}, these would be "
        f"{number(embedding * root, 3)} long."
    )


def on_model(settings: Settings, cursor: Cursor | None) -> OnModel:
    """Run the sentence under each positional encoding that the model supports; without a cursor, choose the head.

    Raises:
        HeadlightError: as `Model.run`.
    """
    by_name = {
        name: pictures.picture(replace(settings, position=POSITIONS[name]))
        for name, _ in encodings(pictures.model_for(settings))
    }
    previous = {name: picture.run.weights.diagonal(-1, -2, -1).mean(dim=-1) for name, picture in by_name.items()}
    trained = previous["as trained"]
    layer, head = (cursor.layer, cursor.head) if cursor else divmod(int(trained.argmax()), trained.shape[1])
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
    notices = list(dict.fromkeys(notice for picture in by_name.values() for notice in picture.run.notices))
    run, model = by_name["as trained"].run, by_name["as trained"].model
    keys = run.key_tokens or run.tokens
    forbidden = settings.forbidden_cells(model, len(run.tokens), len(keys))
    return OnModel(layer, head, keys, forbidden, rows, maps, notices)


def table(sentence: OnModel) -> Block:
    """Build the table of cosines and weights under each encoding, with a common note for untrained ones."""
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
        f"{sentence.layer} head {sentence.head} (counted from 0). "
        f"{but if len(trained) < len(sentence.rows) else ''}".rstrip(),
        prose=True,
    )


def backwards(text: str) -> str:
    """Reverse the order of the words."""
    return " ".join(reversed(text.split()))


def problem(settings: Settings) -> str:
    """Describe what attention makes of the same words in another order.

    Raises:
        HeadlightError: as `Model.run`.
    """
    order = backwards(settings.text)
    if order == " ".join(settings.text.split()):
        return "Type at least two different words to see what another order changes."
    none, trained = (
        pictures.reordered_difference(replace(settings, position=position), order) for position in ("none", "trained")
    )
    if none is None or trained is None:
        return "Backwards the model splits these words into other tokens, so they cannot be compared."
    trained_text = f"With the model’s own positional encoding the vectors differ by up to {difference(trained, 2)}."
    if pictures.model_for(settings).own_mask != "none":
        return (
            f"Read backwards, the sentence is {quote(order)}. Without positional encoding the vectors of the words "
            f"still differ by up to {difference(none, 2)}: each word attends only to itself and the words "
            f"before it, so the model’s own mask tells positions apart too. {trained_text}"
        )
    outcome, rounding = ("the same vector", ", up to rounding") if none <= TOLERANCE else ("nearly the same vector", "")
    return (
        f"Read backwards, the sentence is {quote(order)}. Without positional encoding each word gets {outcome} as "
        f"before{rounding}, at whatever position it is now (largest difference {difference(none, 2)}). {trained_text}"
    )
