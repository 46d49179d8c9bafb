"""Why positions are needed: the sentence backwards, with and without them."""

from mha_core.measure import measures
from pages.kit.draw import sheet
from pages.kit.draw.numbers import difference
from pages.kit.draw.sheet import Block
from pages.kit.picture import new_order, pictures
from pages.kit.picture.limits import POSITIONS
from pages.kit.picture.settings import Settings

SAME = 1e-5  # vectors that differ by no more are called the same: float32 rounds


def backwards(text: str) -> str:
    return " ".join(reversed(text.split()))


def problem(settings: Settings) -> Block:
    """What attention makes of the same words in another order. Raises what `Model.run` raises."""
    order = backwards(settings.text)
    if order == " ".join(settings.text.split()):
        said = ["Type two different words or more, to see what another order changes."]
    else:
        said = [_of_order(settings, order), _of_repeated(settings)]
    headings = ("The problem: attention alone does not see the order", "The same word in two places")
    panels = [sheet.panel(heading, [sheet.text(one)]) for heading, one in zip(headings, said, strict=False) if one]
    return sheet.row(panels, even=True)


def _of_order(settings: Settings, order: str) -> str:
    """The vectors of the same words in both orders, without positions and as trained."""
    none, trained = (new_order.difference(_with(settings, position), order) for position in ("none", "as trained"))
    if none is None or trained is None:
        return "Backwards the model cuts these words into other pieces, so that they cannot be compared."
    same, rounding = ("the same vector", ", up to rounding") if none <= SAME else ("nearly the same vector", "")
    return (
        f"Read it backwards: “{order}”. Without positions each word gets {same} as before{rounding}, wherever it "
        f"stands now (largest difference {difference(none, 2)}). "
        f"With MiniLM’s own positions the vectors differ by up to {difference(trained, 2)}."
    )


def _of_repeated(settings: Settings) -> str:
    """The rows of a word that stands there twice."""
    runs = {name: pictures.picture(_with(settings, name)).run for name in ("none", "as trained")}
    found = {name: measures.repeated_words(run.weights, run.ids) for name, run in runs.items()}
    none, trained = found["none"], found["as trained"]
    if none is None or trained is None:
        return ""
    token = runs["none"].tokens[trained.places[0]]
    equal = "alike in every head" if none.difference <= SAME else f"different by up to {difference(none.difference, 2)}"
    return (
        f"“{token}” occurs {len(trained.places)} times. Without positions the model cannot tell them apart: their rows "
        f"are {equal}. "
        f"With MiniLM’s own positions they differ by up to {difference(trained.difference, 2)}."
    )


def _with(settings: Settings, position: str) -> Settings:
    return Settings(settings.text, position=POSITIONS[position], device=settings.device)
