"""Recorded answers of a site: files of many answers each, compressed, and an index of their questions.

assets/web/site/recordings.js reads them.
"""

import gzip
import hashlib
import json
import struct
from collections.abc import Mapping

from .questions import RULES, index_key

INDEX = "index.bin"


def compress(data: bytes) -> bytes:
    """Compress bytes without the time, so that the same content makes the same file."""
    return gzip.compress(data, 9, mtime=0)


def write_pack(answers: Mapping[str, bytes]) -> bytes:
    """Write the answers to canonical questions: a line of JSON, key -> offset and length of its pieces, then these.

    Equal pieces are written once: the maps of a picture are part of its answer for each head.
    """
    places, offsets, end = dict[str, list[int]](), dict[bytes, int](), 0
    for question, answer in answers.items():
        place = places.setdefault(index_key(question), [])
        for piece in split(answer):
            if piece not in offsets:
                offsets[piece] = end
                end += len(piece)
            place += offsets[piece], len(piece)
    return compress(b"".join([_to_json(places), b"\n", *offsets]))


def split(answer: bytes) -> list[bytes]:
    """Split an answer of several messages (`packing.pack_parts`) into its header and these; others are one piece."""
    if not answer[4:].startswith(b'{"parts":'):
        return [answer]
    (length,) = struct.unpack_from("<I", answer)
    start = 4 + length
    pieces = [answer[:start]]
    for size in json.loads(answer[4:start])["parts"]:
        pieces.append(answer[start : start + size])
        start += size
    return pieces


def write_packs(packs: Mapping[str, Mapping[str, bytes]]) -> dict[str, bytes]:
    """Return the files of the packs by their names, which contain a hash of their content, and of their index.

    A question in several packs is looked up in the first.
    """
    files, names, places = dict[str, bytes](), list[str](), dict[str, int]()
    for name, answers in packs.items():
        new = {question: answer for question, answer in answers.items() if question not in places}
        if not new:
            continue
        content = write_pack(new)
        places |= dict.fromkeys(new, len(names))
        names.append(f"{name}-{hashlib.blake2b(content, digest_size=4).hexdigest()}.bin")
        files[names[-1]] = content
    keys = {index_key(question): place for question, place in places.items()}
    if len(keys) < len(places):
        raise ValueError("two questions have one key")
    files[INDEX] = compress(_to_json({"packs": names, "keys": keys, "rules": RULES}))
    return files


def _to_json(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
