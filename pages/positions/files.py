"""Files of Positions, from its link."""

from headlight.link.place import Cursor
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.ui.tables import Table

from . import encodings, in_model, measures
from .encodings import TableSizes


def sides_of_link(raw: bytes) -> tuple[dict[str, Settings], Cursor]:
    """The sentence in the model as it was trained, and the place looked at. Raises a HeadlightError."""
    query = LinkQuery(raw, takes_model=False)
    return {"run": Settings(query["s"])}, query.at


def tables(raw: bytes) -> list[Table]:
    """The map of one head under each encoding; of the chosen ones their table (position, channel), or each head's bias.

    Raises a HeadlightError.
    """
    query = LinkQuery(raw, takes_model=False)
    settings = Settings(query["s"])
    tokens = pictures.tokens(settings)
    on_model = in_model.on_model(settings)
    found = [
        Table(name, tokens, tokens, weights) for (name, *_), weights in zip(on_model.rows, on_model.maps, strict=True)
    ]
    sizes = TableSizes(len(tokens), query["d"], query["h"])
    for name in dict.fromkeys([query["enc"], query["enc2"]]):
        one, _ = encodings.build_or_default(name, sizes, query["amp"])
        if one.acts == "bias":
            found += [
                Table(f"{name}, head {head}", tokens, tokens, bias) for head, bias in enumerate(measures.bias(one))
            ]
        elif one.acts:
            found.append(Table(f"{name}, channels", tokens, list(map(str, range(one.width))), measures.table(one)))
    return found
