"""The canonical form of a request to the data API, under which `headlight export --site` records its response.

Keys without effect on the response and values equal to the default are left out. The browser builds the same form
(assets/web/site/requests.js) with the tables of `RULES`, which are part of the recordings.
"""

from collections import Counter
from typing import Final
from urllib.parse import parse_qsl, quote

from headlight.link.fields import FIELDS
from headlight.picture.link_query import to_param
from headlight.registry import MINILM

_SITE = ("dev", "big")  # without effect on any response, as a site has one device
# route -> keys without effect on its response; "" for all other routes
IGNORED: Final[dict[str, tuple[str, ...]]] = {
    "": ("learn", *_SITE),
    **dict.fromkeys(("maps", "focus"), ("learn", "view", *_SITE)),
    **dict.fromkeys(("pair", "initial"), ("learn", "order", "shuffle", "three", "kin", "mean", *_SITE)),
    **dict.fromkeys(("masks", "entry"), ("learn", "pad", *_SITE)),
    "steps": ("learn", "f", "lesson", "wrote", *_SITE),
    "lesson": ("look", "pin", "view", *_SITE),
}
EXPLICIT = dict.fromkeys(("masks", "entry", "outcomes"), ("s", "mask"))  # a bare address has defaults of its own
# words of `look` that only draw, and the beginnings of others
DISPLAY = ("", "linear", "own", "nospecials", "open", "table", "lines", "sort", "difference", "nofirst")
DISPLAY_PREFIXES = ("hide", "solo", "keys")
COMPUTED = ("renorm", "meanseen")  # with one of these words, the others change the weights
_TEXTS = {key: to_param(field.default) for key, field in FIELDS.items() if key not in ("at", "pos2", "t2")}
# key -> the default, None without a single one: that of `at`, `pos2` and `t2` depends on page and model
DEFAULTS = {key: text if isinstance(text := _TEXTS.get(key), str) and text else None for key in FIELDS}
RULES = {
    "defaults": DEFAULTS,
    "ignored": IGNORED,
    "explicit": EXPLICIT,
    "display": DISPLAY,
    "displayPrefixes": DISPLAY_PREFIXES,
    "computed": COMPUTED,
}
_MASK = 2**32 - 1


def canonical_request(route: str, query: str) -> str:
    """Return the canonical form of a request, in ASCII."""
    pairs = [(key, _read_look(text) if key == "look" else text) for key, text in parse_qsl(query, True)]
    counts, ignored = Counter(key for key, _ in pairs), IGNORED.get(route, IGNORED[""])
    is_other = any(key == "model" and text != MINILM for key, text in pairs)
    explicit = (*EXPLICIT.get(route, ()), *(["s"] if is_other else []))  # another model has another sentence

    def is_kept(key: str, text: str) -> bool:
        if key not in DEFAULTS or key in ignored or (key == "look" and not text):
            return False
        return key in explicit or counts[key] > 1 or text != DEFAULTS[key]

    return f"{route}?{'&'.join(sorted(f'{key}={_encode(text)}' for key, text in pairs if is_kept(key, text)))}"


def _read_look(text: str) -> str:
    """Return the words of `look` that change the response."""
    words = text.split("_")
    if {*words} & {*COMPUTED}:
        return text
    return "_".join(sorted(word for word in words if word not in DISPLAY and not word.startswith(DISPLAY_PREFIXES)))


def _encode(text: str) -> str:
    """Percent-encode a text as JavaScript's `encodeURIComponent`."""
    return quote(text, safe="!'()*-._~", errors="replace")


def index_key(request: str) -> str:
    """Return the key of a canonical request in the index: 53 bits of cyrb53 in hexadecimal digits.

    The browser's own SHA-256 is missing on pages without HTTPS, and is asynchronous.
    """
    h1, h2 = 0xDEADBEEF, 0x41C6CE57
    for code in request.encode("ascii"):
        h1, h2 = _multiply(h1 ^ code, 2654435761), _multiply(h2 ^ code, 1597334677)
    h1 = _multiply(h1 ^ (h1 >> 16), 2246822507) ^ _multiply(h2 ^ (h2 >> 13), 3266489909)
    h2 = _multiply(h2 ^ (h2 >> 16), 2246822507) ^ _multiply(h1 ^ (h1 >> 13), 3266489909)
    return f"{(h2 & 2**21 - 1) << 32 | h1:x}"


def _multiply(a: int, b: int) -> int:
    return a * b & _MASK
