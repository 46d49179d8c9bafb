"""Why SDPA and flash attention return no maps: the numbers that a kernel does not write, and three ways to them."""

from dataclasses import dataclass

import torch
from cachetools import LRUCache
from torch import Tensor

from headlight.picture import pictures
from headlight.picture.pictures import Picture
from headlight.queue.single_flight import single_flight
from headlight.queue.slots import pass_slot
from headlight.ui import numbers, sheet
from headlight.ui.sheet import Block
from mha_core.attention.torch_module import TorchAttention
from mha_core.measure import agreement, measures
from mha_core.models.stack import Stack

HEADING = "Why SDPA and flash attention return no maps"
LONG = 8192  # tokens
BYTES = 4  # of a float32 number
CODE = """\
# torch: need_weights=True leaves the fused kernel, and without the next argument you get the mean over the heads
out, maps = nn.MultiheadAttention(c, h)(x, x, x, need_weights=True, average_attn_weights=False)

# transformers: "sdpa" and "flash_attention_2" have no maps, "eager" writes them
model = AutoModel.from_pretrained(name, attn_implementation="eager")
maps = model(**inputs, output_attentions=True).attentions

# Headlight: the model keeps its kernel; the maps are computed once more from the q and k of each call
from mha_core import watch
seen = watch(model, x)"""


@dataclass(frozen=True)
class Calls:
    """Results of nn.MultiheadAttention with and without its maps."""

    maps: tuple[int, ...]  # shape of the maps with need_weights=True
    without: Tensor | None  # what stands in their place with need_weights=False
    difference: float  # relative, of the two outputs


def blocks(picture: Picture, layer: int) -> list[Block]:
    """Return the explanation with the numbers of a sentence."""
    sizes, n, calls = picture.model.sizes, len(picture.run.tokens), _call(picture, layer)
    names = {n: f"this sentence, {numbers.count(n, 'token')}", LONG: numbers.count(LONG, "token")}
    rows = [
        [
            name,
            f"{sizes.n_heads * length**2:,}",
            byte_size(sizes.n_heads * length**2 * BYTES),
            byte_size(sizes.n_layers * sizes.n_heads * length**2 * BYTES),
            byte_size(sizes.n_heads * length * BYTES),
        ]
        for length, name in names.items()
    ]
    head = ["", "n² × h weights of a layer", "in float32", f"in all {sizes.n_layers} layers", "kept by a fused kernel"]
    caption = f"With {numbers.count(sizes.n_heads, 'head')}. A fused kernel keeps a number a query and head, for the gradient."
    why = (
        "torch’s scaled_dot_product_attention (SDPA) and flash attention compute scores, softmax and weighted sum block "
        "by block in fast memory, and write the sum alone. The map never exists as a whole, so there is nothing to "
        "return: that is what makes them fast. output_attentions then gives None or an error."
    )
    result = (
        f"nn.MultiheadAttention with this layer’s weights, on this sentence: with need_weights=True it returns maps "
        f"{calls.maps}, with need_weights=False it returns {calls.without}; the outputs differ by "
        f"{numbers.difference(calls.difference)} (relative), which is rounding."
    )
    table = sheet.table(head, rows, caption)
    return [sheet.text(why), sheet.row([table, sheet.text(result)]), sheet.code(CODE.splitlines())]


def byte_size(size: int) -> str:
    """Return a number of bytes in the largest fitting unit."""
    units = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
    return next((f"{size / scale:.1f} {unit}" for unit, scale in units if size >= scale), f"{size} bytes")


@single_flight(LRUCache(64), key=lambda picture, layer: (picture.settings, layer))
def _call(picture: Picture, layer: int) -> Calls:
    x = picture.run.hidden[layer].cpu()[None]

    def call(stack: Stack) -> Calls:
        attention = stack.block(layer).attention
        twin = agreement.load_layer("torch", attention.save(), attention.n_heads)
        assert isinstance(twin, TorchAttention)
        with torch.no_grad():
            out, maps = twin.module(x, x, x, need_weights=True, average_attn_weights=False)
            fast, without = twin.module(x, x, x, need_weights=False)
        return Calls(tuple(maps.shape), without, measures.relative_difference(fast, out))

    with pass_slot(len(picture.run.tokens)):
        return pictures.model_for(picture.settings).run_on_stack(call)[0]
