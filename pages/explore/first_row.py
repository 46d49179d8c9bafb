"""The row that Explore looks at first: the word of the sentence that looks hardest at another one."""

from dataclasses import replace

from headlight.link.place import At
from headlight.picture.pictures import Picture
from headlight.registry import source_of

from .kinds import apart

PRONOUNS = {"it", "he", "she", "they", "him", "her", "them", "his", "its", "their"}


def on(place: At, asked: At, untouched: Picture) -> At:
    """A place, its row chosen where the link, `asked`, has none: the largest weight between two words that are no
    neighbours, pronouns first, in the head that the untouched model is looked at first. So no other head and no change
    moves it. A model that goes on with the text is asked of its last word, as `At.on` has it; of a picture it is the
    patch in the middle, of a sound the moment.
    """
    run = untouched.run
    if asked.row is None and run.extras.patches is not None:
        own, rows, columns = run.extras.patches.own, run.extras.patches.rows, run.extras.patches.columns
        return replace(place, row=own + rows // 2 * columns + columns // 2)
    if asked.row is None and run.extras.heard is not None and untouched.model.group == "encoder":
        return replace(place, row=len(run.tokens) // 2)
    if asked.row is not None or run.logits is not None or run.columns is not None:
        return place
    first = At.of(source_of(untouched.settings.model).first_at)
    largest = (run.weights[first.layer, first.head] * apart(len(run.tokens), run.ends)).amax(-1).tolist()
    found = [row for row, weight in enumerate(largest) if weight > 0]
    pronouns = [row for row in found if run.tokens[row].lower() in PRONOUNS]
    return replace(place, row=max(pronouns or found, key=largest.__getitem__)) if found else place
