"""A model as one file that assets/web/compute opens and runs in a browser: sizes, vocabulary and weights.

The first line, `HEADER_BYTES` bytes long, has the format, the number of bytes behind it and their SHA-256. Then comes a
message of `packing`: a JSON header, and the values of the tensors in its order, little endian. A tensor is float32, or,
in a large model, "int18": of each `BLOCK` values a float32 scale, then of each value an int16 and two bits, four values
to a byte; the value is (4 · int16 + bits) · scale.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import positions
from ..errors import Unsupported
from ..positions.altered import shuffled_rows
from .packing import pack

if TYPE_CHECKING:
    from ..models.model import Model

FORMAT = "headlight model 1"
HEADER_BYTES = 128
BLOCK = 96  # values with one scale (block-wise quantization); a divisor of 384 and 1536, and a multiple of 4
MAX_INT18 = 2**17 - 1
MAX_EXACT = 4 * 2**20  # bytes of a model whose weights stay float32
KINDS = ("Encoder", "Classifier", "LanguageModel", "EncoderDecoder")


def pack_model(model: Model, name: str, title: str = "") -> bytes:
    """Pack a model that reads text and has layers of this package.

    Args:
        model: MiniLM or a model that was trained here.
        name: its name in links; `model.name` may be a path.
        title: its name on the screen; default `name`.

    Raises:
        Unsupported: it is of another kind.
    """
    stack = model.stack
    kind = type(stack).__name__
    if kind not in KINDS or not hasattr(model.tokenizer, "to_str"):
        raise Unsupported(f"{name} cannot run in a browser; only MiniLM and text models that were trained here can")
    state = stack.as_implementation("fused").state_dict()
    tensors = {name: tensor.detach().cpu().float() for name, tensor in (state | _tables(model)).items()}
    exact = sum(tensor.nbytes for tensor in tensors.values()) <= MAX_EXACT
    entries: list[dict[str, Any]] = []
    bodies: list[bytes] = []
    for part, tensor in tensors.items():
        # the positions of a text are added to all of its embeddings, so that their errors weigh more
        is_float = exact or tensor.dim() < 2 or tensor.shape[-1] % BLOCK or part == "position.table"
        entries.append({"name": part, "shape": list(tensor.shape), "type": "float32" if is_float else "int18"})
        bodies.append(tensor.contiguous().numpy().tobytes() if is_float else pack_int18(tensor))
    header = {
        "name": name,
        "title": title or name,
        "kind": kind,
        "sizes": asdict(stack.sizes),
        "ends": model.ends,
        "groups": {group: _abilities(model.for_group(group)) for group in model.groups},
        "classes": list(model.history.start.classes) if model.history and model.history.start else [],
        "tokenizer": _tokenizer(model),
        "shuffled": {table: shuffled_rows(len(state[table])).tolist() for table in state if table.endswith("n.table")},
        "tensors": entries,
    }
    content = pack(header, *bodies)
    line = f"{FORMAT} {len(content)} {hashlib.sha256(content).hexdigest()}"
    return f"{line:<{HEADER_BYTES - 1}}\n".encode("ascii") + content


def pack_int18(values: Tensor) -> bytes:
    """Pack float32 values, whose number is a multiple of `BLOCK`, with an error of at most half a scale each."""
    blocks = values.double().view(-1, BLOCK)
    scales = (blocks.abs().amax(dim=1, keepdim=True) / MAX_INT18).clamp(min=1e-30).float()
    integers = (blocks / scales.double()).round().clamp(-MAX_INT18, MAX_INT18).int().flatten()
    bits = (integers & 3).view(-1, 4) << torch.tensor([0, 2, 4, 6], dtype=torch.int32)
    parts = scales, (integers >> 2).short(), bits.sum(dim=1).to(torch.uint8)
    return b"".join(part.numpy().tobytes() for part in parts)


def _tables(model: Model) -> dict[str, Tensor]:
    """Return the random tables of the encodings that have one, as `Model.run` builds them by name."""
    sizes, tables = model.stack.sizes, dict[str, Tensor]()
    for name in ("learned", "t5", "shaw"):
        encoding = positions.build(name, d_model=sizes.d_model, n_heads=sizes.n_heads, max_len=sizes.max_len, seed=0)
        tables[f"random.{name}"] = encoding.get_parameter("table")
    return tables


def _abilities(model: Model) -> dict[str, Any]:
    """Return the built-in mask of one group, and why it lacks options."""
    return {"reasons": dict(model.reasons), "ownMask": model.own_mask}


def _tokenizer(model: Model) -> dict[str, Any]:
    """Return the vocabulary in the order of the ids, and how a text is split."""
    content = json.loads(model.tokenizer.to_str())  # type: ignore[attr-defined]
    numbers = content["model"]["vocab"]
    return {
        "split": content["pre_tokenizer"]["type"],
        "vocabulary": sorted(numbers, key=numbers.__getitem__),
        "unknown": content["model"]["unk_token"],
        "special": [token["content"] for token in content["added_tokens"]],
    }
