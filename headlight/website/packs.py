"""Recorded answers of a site: files of many answers each, compressed, and an index of their questions.

assets/web/site/recordings.js reads them.
"""

import gzip
import hashlib
import json
from collections.abc import Mapping

from .questions import index_key, rules

INDEX = "index.bin"


def compress(data: bytes) -> bytes:
    """Compress bytes without the time, so that the same content makes the same file."""
    return gzip.compress(data, 9, mtime=0)


def write_pack(answers: Mapping[str, bytes]) -> bytes:
    """Write the answers to canonical questions: a line of JSON, key -> offset and length, then the bytes.

    Equal answers are written once.
    """
    places, offsets, parts, end = dict[str, tuple[int, int]](), dict[bytes, int](), list[bytes](), 0
    for question, answer in answers.items():
        if answer not in offsets:
            offsets[answer] = end
            parts.append(answer)
            end += len(answer)
        places[index_key(question)] = offsets[answer], len(answer)
    return compress(b"".join([_to_json(places), b"\n", *parts]))


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
    files[INDEX] = compress(_to_json({"packs": names, "keys": keys, "rules": rules()}))
    return files


def _to_json(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
