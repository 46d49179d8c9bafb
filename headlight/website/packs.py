"""Recorded responses of a site: files of many responses each, compressed, and an index of their requests.

assets/web/site/recordings.js reads them.
"""

import gzip
import hashlib
import json
import struct
from collections.abc import Mapping

from .requests import RULES, index_key

INDEX = "index.bin"


def compress(data: bytes) -> bytes:
    """Compress bytes without the time, so that the same content makes the same file."""
    return gzip.compress(data, 9, mtime=0)


def write_pack(responses: Mapping[str, bytes]) -> bytes:
    """Write the responses to canonical requests: a line of JSON, key -> offset and length of its pieces, then these.

    Equal pieces are written once: the maps of a picture are part of its response for each head.
    """
    places, offsets, end = dict[str, list[int]](), dict[bytes, int](), 0
    for request, response in responses.items():
        place = places.setdefault(index_key(request), [])
        for piece in split(response):
            if piece not in offsets:
                offsets[piece] = end
                end += len(piece)
            place += offsets[piece], len(piece)
    return compress(b"".join([_to_json(places), b"\n", *offsets]))


def split(response: bytes) -> list[bytes]:
    """Split a response of several messages (`packing.pack_parts`) into its header and these; others are one piece."""
    if not response[4:].startswith(b'{"parts":'):
        return [response]
    (length,) = struct.unpack_from("<I", response)
    start = 4 + length
    pieces = [response[:start]]
    for size in json.loads(response[4:start])["parts"]:
        pieces.append(response[start : start + size])
        start += size
    return pieces


def write_packs(packs: Mapping[str, Mapping[str, bytes]]) -> dict[str, bytes]:
    """Return the files of the packs by their names, which contain a hash of their content, and of their index.

    A request in several packs is looked up in the first.
    """
    files, names, places = dict[str, bytes](), list[str](), dict[str, int]()
    for name, responses in packs.items():
        new = {request: response for request, response in responses.items() if request not in places}
        if not new:
            continue
        content = write_pack(new)
        places |= dict.fromkeys(new, len(names))
        names.append(f"{name}-{hashlib.blake2b(content, digest_size=4).hexdigest()}.bin")
        files[names[-1]] = content
    keys = {index_key(request): place for request, place in places.items()}
    if len(keys) < len(places):
        raise ValueError("two requests have one key")
    files[INDEX] = compress(_to_json({"packs": names, "keys": keys, "rules": RULES}))
    return files


def _to_json(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
