"""The maps that SDPA and flash attention do not return, in numbers of a sentence."""

import torch

from headlight.picture.pictures import Picture
from headlight.ui import sheet
from headlight.ui.numbers import count
from headlight.ui.phrases import Phrases
from headlight.ui.sheet import Block
from mha_core.measure import agreement
from mha_core.measure.measures import relative_difference

LONG = 8192  # tokens
BYTES = 4  # of a number in float32


def blocks(picture: Picture, layer: int) -> list[Block]:
    """Return the explanation, with the sizes and the outputs of a layer on a sentence."""
    h, n_layers, n = picture.model.sizes.n_heads, picture.model.sizes.n_layers, len(picture.run.tokens)
    weights, _ = picture.model.run_on_stack(lambda stack: stack.block(layer).attention.save())
    module = agreement.load_layer("torch", weights, h).get_submodule("module")
    x = picture.run.hidden[layer].cpu()[None]
    with torch.no_grad():
        out, maps = module(x, x, x, need_weights=True, average_attn_weights=False)
        fast, no_maps = module(x, x, x, need_weights=False)
    sizes = {"layers": n_layers, "heads": count(h, "head"), "shape": str(tuple(maps.shape))}
    say = Phrases("no maps", **sizes, without=str(no_maps), apart=relative_difference(fast, out))
    rows = []
    for name, length in ((f"this sentence, {count(n, 'token')}", n), (count(LONG, "token"), LONG)):
        size = h * length**2
        rows.append([name, size, size * BYTES / 1e6, size * n_layers * BYTES / 1e6, h * length])
    code = sheet.code(say.words["code"].splitlines())
    return [sheet.text(say("why")), sheet.row([say.table("sizes", rows), sheet.text(say("result"))]), code]
