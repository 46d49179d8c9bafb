"""Which modules of other libraries watch() reads: `python -m tests.bench.watch [--write]`, for docs/recordings.md.

Small models with random weights. A library that is not installed is named as such. Read means: every map times the
values is what torch's own attention gave, and the module's output is the same to the last bit as unwatched.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from mha_core import watch
from mha_core.errors import HeadlightError

DOCS = Path(__file__).parents[2] / "docs" / "recordings.md"
TABLE = re.compile(r"(?<=<!-- python -m tests.bench.watch -->\n\n).*?(?=\n\n<!-- end -->)", re.DOTALL)
IMAGE, IDS, VECTORS, OTHERS = (1, 3, 32, 32), torch.arange(8)[None], (1, 8, 32), (1, 5, 32)

OPERATORS: Any = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]


def of(module: str, name: str) -> Any:
    """What a library that may not be installed calls so."""
    return getattr(import_module(module), name)


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(32, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def translator() -> nn.Module:
    return nn.Transformer(32, 2, 2, 2, 32, batch_first=True)


def bert() -> nn.Module:
    from transformers import BertConfig, BertModel

    sizes: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    return BertModel(BertConfig(vocab_size=20, intermediate_size=32, **sizes))


def llama() -> nn.Module:
    from transformers import LlamaConfig, LlamaModel

    heads: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
    return LlamaModel(LlamaConfig(vocab_size=20, hidden_size=32, intermediate_size=32, **heads))


def x_transformers(flash: bool) -> nn.Module:
    layers = of("x_transformers", "Decoder")(dim=32, depth=2, heads=2, attn_flash=flash)
    made: nn.Module = of("x_transformers", "TransformerWrapper")(num_tokens=20, max_seq_len=16, attn_layers=layers)
    return made


Make = Callable[[], Any]  # a module
Input = tuple[int, ...] | Tensor | None  # sizes of random vectors, or as it is
# What it is, the package that it is of, the module, its inputs.
# fmt: off
CASES: list[tuple[str, str, Make, list[Input]]] = [
    ("nn.TransformerEncoder", "torch", encoder, [VECTORS]),
    ("nn.Transformer, encoder and decoder", "torch", translator, [VECTORS, OTHERS]),
    ("the same, behind torch.compile", "torch",
     lambda: torch.compile(translator(), backend="eager"), [VECTORS, OTHERS]),
    ("BERT, as it is loaded (sdpa)", "transformers", bert, [IDS]),
    ("Llama, as it is loaded (sdpa, shared keys)", "transformers", llama, [IDS]),
    ("vit_tiny", "timm",
     lambda: of("timm", "create_model")("vit_tiny_patch16_224", img_size=32, depth=2), [IMAGE]),
    ("swin_tiny", "timm",
     lambda: of("timm", "create_model")("swin_tiny_patch4_window7_224", img_size=56, depths=(1, 1), num_heads=(2, 4)),
     [(1, 3, 56, 56)]),
    ("eva02_tiny", "timm",
     lambda: of("timm", "create_model")("eva02_tiny_patch14_224", img_size=28, depth=2), [(1, 3, 28, 28)]),
    ("VisionTransformer", "torchvision",
     lambda: of("torchvision.models.vision_transformer", "VisionTransformer")(32, 16, 2, 2, 16, 32), [IMAGE]),
    ("SwinTransformer", "torchvision",
     lambda: of("torchvision.models.swin_transformer", "SwinTransformer")([4, 4], 16, [1, 1], [2, 2], [4, 4]), [IMAGE]),
    ("Decoder, attn_flash=True", "x-transformers", partial(x_transformers, True), [IDS]),
    ("Decoder, attn_flash=False", "x-transformers", partial(x_transformers, False), [IDS]),
    ("ViT", "vit-pytorch",
     lambda: of("vit_pytorch", "ViT")(
         dim=32, depth=2, heads=2, mlp_dim=32, image_size=32, patch_size=8, num_classes=4), [IMAGE]),
    ("Transformer of CLIP", "open_clip_torch", lambda: of("open_clip.transformer", "Transformer")(32, 2, 2), [VECTORS]),
    ("BasicTransformerBlock, with cross-attention", "diffusers",
     lambda: of("diffusers.models.attention", "BasicTransformerBlock")(32, 2, 16, cross_attention_dim=24),
     [VECTORS, None, (1, 5, 24)]),
    ("ESM-2", "fair-esm", lambda: of("esm.model.esm2", "ESM2")(2, 32, 2), [torch.arange(4, 12)[None]]),
    ("Conformer", "conformer",
     lambda: of("conformer", "Conformer")(dim=32, depth=1, dim_head=16, heads=2), [VECTORS]),
]
# fmt: on


class Products(TorchFunctionMode):
    """What sdpa gave, and the values that it mixed, of the first text."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Tensor, Tensor]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func is F.scaled_dot_product_attention:
            value = args[2] if len(args) > 2 else kwargs["value"]
            self.calls.append((out[0].flatten(0, -3), value[0].flatten(0, -3)))
        return out


def tried(make: Make, given: list[Input]) -> str:
    """What came of a case, for the table."""
    torch.manual_seed(0)
    module = make().eval()
    inputs = [torch.randn(one) if isinstance(one, tuple) else one for one in given]
    with torch.no_grad():
        torch.backends.mha.set_fastpath_enabled(False)  # as it is written: what runs while it is watched
        alone = module(*inputs)
        torch.backends.mha.set_fastpath_enabled(True)
        try:
            with warnings.catch_warnings(), watch() as seen, Products() as products:
                warnings.simplefilter("ignore")  # of compiled modules under global hooks
                beside = module(*inputs)
            made = seen.recording()
        except HeadlightError:
            unseen = f", as {seen.unseen[0]}" if seen.unseen else ""
            return f"not read: it writes the softmax itself{unseen}"
    same = all(map(torch.equal, tensors(alone), tensors(beside)))
    shapes = [group.maps.shape[1:] for group in made.groups]
    sizes = "; ".join(f"{layers} × {heads} of {i} × {j}" for layers, heads, i, j in shapes)
    own = [one.weights for one in seen.maps]
    off = 0.0
    if len(own) == len(products.calls):
        for weights, (out, value) in zip(own, products.calls, strict=True):
            wide = value.repeat_interleave(len(weights) // len(value), 0)
            off = max(off, float((weights @ wide - out).abs().max() / out.abs().max()))
    checked = f", maps · values off by {off:.0e}" if off or products.calls else ", by torch’s own weights"
    unseen = f"; {len(seen.unseen)} modules unseen" if seen.unseen else ""
    return f"read: {sizes}{checked}{unseen}" + ("" if same else "; the output differs")


def tensors(out: Any) -> list[Tensor]:
    """Every tensor of an answer."""
    if isinstance(out, Tensor):
        return [out]
    values = out.values() if isinstance(out, dict) else out if isinstance(out, (list, tuple)) else []
    return [tensor for value in values for tensor in tensors(value)]


def stand_in_for_torchvision() -> None:
    """Names operators of torchvision's compiled part, unused here, where it does not load beside this torch."""
    try:
        import_module("torchvision")
    except ImportError:
        return
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for operator in ("nms", "qnms"):
            OPERATORS.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def table() -> str:
    """Every case, one a row."""
    stand_in_for_torchvision()
    rows = ["| library | module | layers × heads of rows × columns |", "|---|---|---|"]
    for title, library, make, given in CASES:
        try:
            installed = version(library)
            came = tried(make, given)
        except (PackageNotFoundError, ModuleNotFoundError) as error:
            installed, came = "", f"not installed ({error.name})"
        rows.append(f"| {library} {installed} | {title} | {came} |")
        print(rows[-1], flush=True)
    return "\n".join(rows)


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--write", action="store_true", help="put the table into docs/recordings.md")
    chosen = asked.parse_args()
    made = table()
    if chosen.write:
        DOCS.write_text(TABLE.sub(lambda _: made, DOCS.read_text("utf-8")), encoding="utf-8")
