"""Export of the tables of the page Positions, from its link."""

from headlight.link.cursor import Cursor
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery
from headlight.picture.settings import Settings
from headlight.ui.tables import Table

from . import encodings, in_model, measures
from .encodings import TableSizes


def sides_from_link(raw: bytes) -> tuple[dict[str, Settings], Cursor]:
    """Return the settings of the link's sentence in the model as trained, and the cursor.

    Raises:
        HeadlightError: the link is not valid.
    """
    query = LinkQuery(raw)
    return {"run": Settings(query["s"], model=query.name)}, query.cursor


def tables(raw: bytes) -> list[Table]:
    """Return one head's map under each encoding, and the tables or biases of the chosen encodings.

    Raises:
        HeadlightError: the link is not valid.
    """
    query = LinkQuery(raw)
    settings = Settings(query["s"], model=query.name)
    tokens = pictures.tokens(settings)
    on_model = in_model.on_model(settings, query.cursor if query.parsed.values.get("at") else None)
    result = [
        Table(name, tokens, on_model.keys, weights)
        for (name, *_), weights in zip(on_model.rows, on_model.maps, strict=True)
    ]
    sizes = TableSizes(len(tokens), query["d"], query["h"])
    for name in dict.fromkeys([query["enc"], query["enc2"]]):
        encoding, _ = encodings.build_or_default(name, sizes, query["amp"])
        if encoding.applied_as == "bias":
            result += [
                Table(f"{name}, head {head}", tokens, tokens, bias) for head, bias in enumerate(measures.bias(encoding))
            ]
        elif encoding.applied_as:
            channels = list(map(str, range(encoding.width)))
            result.append(Table(f"{name}, channels", tokens, channels, measures.table(encoding)))
    return result
