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
IMAGE, IDS, VECTORS = (1, 3, 32, 32), torch.arange(8)[None], (1, 8, 32)

OPERATORS: Any = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]

Case = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]
CASES: dict[str, tuple[str, Callable[[], Case]]] = {}


def case(title: str, library: str) -> Callable[[Callable[[], Case]], Callable[[], Case]]:
    """Adds a case: what it is, and the package that it is of."""

    def add(make: Callable[[], Case]) -> Callable[[], Case]:
        CASES[title] = library, make
        return make

    return add


def of(module: str, name: str) -> Any:
    """What a library that may not be installed calls so."""
    return getattr(import_module(module), name)


@case("nn.TransformerEncoder", "torch")
def encoder() -> Case:
    layer = nn.TransformerEncoderLayer(32, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.randn(VECTORS),), {}


@case("nn.Transformer, encoder and decoder", "torch")
def translator() -> Case:
    return nn.Transformer(32, 2, 2, 2, 32, batch_first=True), (torch.randn(VECTORS), torch.randn(1, 5, 32)), {}


@case("the same, behind torch.compile", "torch")
def compiled() -> Case:
    module, inputs, _ = translator()
    return torch.compile(module, backend="eager"), inputs, {}  # type: ignore[return-value]


@case("BERT, as it is loaded (sdpa)", "transformers")
def bert() -> Case:
    from transformers import BertConfig, BertModel

    sizes: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    return BertModel(BertConfig(vocab_size=20, intermediate_size=32, **sizes)), (IDS,), {}


@case("Llama, as it is loaded (sdpa, shared keys)", "transformers")
def llama() -> Case:
    from transformers import LlamaConfig, LlamaModel

    heads: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
    return LlamaModel(LlamaConfig(vocab_size=20, hidden_size=32, intermediate_size=32, **heads)), (IDS,), {}


@case("vit_tiny", "timm")
def timm_vit() -> Case:
    return of("timm", "create_model")("vit_tiny_patch16_224", img_size=32, depth=2), (torch.randn(IMAGE),), {}


@case("swin_tiny", "timm")
def timm_swin() -> Case:
    sizes = {"img_size": 56, "depths": (1, 1), "num_heads": (2, 4)}
    return of("timm", "create_model")("swin_tiny_patch4_window7_224", **sizes), (torch.randn(1, 3, 56, 56),), {}


@case("eva02_tiny", "timm")
def timm_eva() -> Case:
    return of("timm", "create_model")("eva02_tiny_patch14_224", img_size=28, depth=2), (torch.randn(1, 3, 28, 28),), {}


@case("VisionTransformer", "torchvision")
def torchvision_vit() -> Case:
    return (
        of("torchvision.models.vision_transformer", "VisionTransformer")(32, 16, 2, 2, 16, 32),
        (torch.randn(IMAGE),),
        {},
    )


@case("SwinTransformer", "torchvision")
def torchvision_swin() -> Case:
    return (
        of("torchvision.models.swin_transformer", "SwinTransformer")([4, 4], 16, [1, 1], [2, 2], [4, 4]),
        (torch.randn(IMAGE),),
        {},
    )


@case("Decoder, attn_flash=True", "x-transformers")
def flash() -> Case:
    return _x_transformers(True)


@case("Decoder, attn_flash=False", "x-transformers")
def written_out() -> Case:
    return _x_transformers(False)


def _x_transformers(flash: bool) -> Case:
    layers = of("x_transformers", "Decoder")(dim=32, depth=2, heads=2, attn_flash=flash)
    return of("x_transformers", "TransformerWrapper")(num_tokens=20, max_seq_len=16, attn_layers=layers), (IDS,), {}


@case("ViT", "vit-pytorch")
def vit_pytorch() -> Case:
    sizes = {"image_size": 32, "patch_size": 8, "num_classes": 4}
    return of("vit_pytorch", "ViT")(dim=32, depth=2, heads=2, mlp_dim=32, **sizes), (torch.randn(IMAGE),), {}


@case("Transformer of CLIP", "open_clip_torch")
def open_clip() -> Case:
    return of("open_clip.transformer", "Transformer")(32, 2, 2), (torch.randn(VECTORS),), {}


@case("BasicTransformerBlock, with cross-attention", "diffusers")
def diffusers() -> Case:
    block = of("diffusers.models.attention", "BasicTransformerBlock")(32, 2, 16, cross_attention_dim=24)
    return block, (torch.randn(VECTORS),), {"encoder_hidden_states": torch.randn(1, 5, 24)}


@case("ESM-2", "fair-esm")
def esm() -> Case:
    return of("esm.model.esm2", "ESM2")(2, 32, 2), (torch.arange(4, 12)[None],), {}


@case("Conformer", "conformer")
def conformer() -> Case:
    return of("conformer", "Conformer")(dim=32, depth=1, dim_head=16, heads=2), (torch.randn(VECTORS),), {}


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


def tried(make: Callable[[], Case]) -> str:
    """What came of a case, for the table."""
    torch.manual_seed(0)
    module, inputs, keywords = make()
    module.eval()
    with torch.no_grad():
        torch.backends.mha.set_fastpath_enabled(False)  # as it is written: what runs while it is watched
        alone = module(*inputs, **keywords)
        torch.backends.mha.set_fastpath_enabled(True)
        try:
            with warnings.catch_warnings(), watch() as seen, Products() as products:
                warnings.simplefilter("ignore")  # of compiled modules under global hooks
                beside = module(*inputs, **keywords)
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
    for title, (library, make) in CASES.items():
        try:
            installed = version(library)
            came = tried(make)
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
