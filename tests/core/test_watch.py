"""The maps of any module, read while it runs: against torch's own weights and a dense loop; outputs stay the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mha_core import Recorder, watch
from mha_core.errors import HeadlightError, SizeError, Unsupported
from mha_core.measure import rounding
from mha_core.pretrained import watcher
from tests.closeness import within_rounding

pytestmark = pytest.mark.numeric

X = (2, 5, 16)


class Block(nn.Module):
    """The attention of nanoGPT: one Linear for all three, a causal mask, sdpa."""

    def __init__(self, c: int = 16, h: int = 2, kv: int | None = None) -> None:
        super().__init__()
        self.h, self.kv = h, kv or h
        self.c_attn = nn.Linear(c, c + 2 * self.kv * c // h)
        self.c_proj = nn.Linear(c, c)

    def heads(self, x: Tensor) -> list[Tensor]:
        d = x.shape[-1] // self.h
        parts = self.c_attn(x).split([self.h * d, self.kv * d, self.kv * d], dim=-1)
        return [part.unflatten(-1, (-1, d)).transpose(1, 2) for part in parts]

    def forward(self, x: Tensor, **switches: Any) -> Tensor:
        q, k, v = self.heads(x)
        mixed = F.scaled_dot_product_attention(q, k, v, **({"is_causal": True} | switches))
        out: Tensor = self.c_proj(mixed.transpose(1, 2).flatten(2))
        return out


def dense(q: Tensor, k: Tensor, allow: Callable[[int, int], bool], add: Tensor | None = None) -> Tensor:
    """softmax(q kᵀ / √d) number by number: (h, i, d), (h or fewer, j, d) -> (h, i, j)."""
    q, k = q.detach(), k.detach()
    heads, rows, d = q.shape
    found = torch.zeros(heads, rows, k.shape[1], dtype=torch.float64)
    for h in range(heads):
        key = k[h * len(k) // heads]
        for i in range(rows):
            more = [0.0] * len(key) if add is None else add[i].tolist()
            keys = [j for j in range(len(key)) if allow(i, j)]
            scores = {j: float(q[h, i].double() @ key[j].double()) / math.sqrt(d) + more[j] for j in keys}
            whole = sum(math.exp(score) for score in scores.values())
            for j, score in scores.items():
                found[h, i, j] = math.exp(score) / whole
    return found


def near(got: Tensor, wanted: Tensor) -> None:
    """Assert equality up to float32, in which maps are kept: as weights below 1 and sums of d = 8 products."""
    within_rounding(got, wanted, rounding.sum_bound(8, 8, 16))


def causal(i: int, j: int) -> bool:
    return j <= i


@pytest.mark.parametrize("first", [True, False], ids=["batch first", "length first"])
def test_maps_of_torchs_layer_are_its_own(first: bool) -> None:
    layer, x = nn.MultiheadAttention(16, 2, dropout=0.5, batch_first=first).eval(), torch.randn(X)
    out, weights = layer(x, x, x, average_attn_weights=False)
    with watch(batch=1) as seen:
        watched, none = layer(x, x, x, need_weights=False)
        averaged = layer(x, x, x)
        one = layer(x[0], x[0], x[0])
    assert none is None
    assert torch.equal(averaged[0], out)
    assert torch.equal(averaged[1], weights.mean(1))
    assert torch.equal(watched, layer(x, x, x, need_weights=False)[0])
    assert torch.equal(one[1], layer(x[0], x[0], x[0])[1])
    assert [torch.equal(one.weights, weights[1]) for one in seen.maps[:2]] == [True, True]
    assert seen.maps[2].weights.shape == (2, len(x[0]), len(x[0]))
    assert [one.itself for one in seen.maps] == [True] * 3


def test_dropout_draws_as_it_would_and_maps_are_from_before_it() -> None:
    x = torch.randn(X)
    layer, block = nn.MultiheadAttention(16, 2, dropout=0.5, batch_first=True), Block()
    runs: list[Callable[[], Tensor]] = [lambda: layer(x, x, x)[0], lambda: block(x, dropout_p=0.5)]
    for run in runs:
        torch.manual_seed(1)
        alone = [run(), torch.rand(3)]
        torch.manual_seed(1)
        with watch() as seen:
            beside = [run(), torch.rand(3)]
        assert all(map(torch.equal, alone, beside))
        assert beside[0].requires_grad
        near(seen.maps[0].weights.sum(-1), torch.ones(seen.maps[0].weights.shape[:-1]))


def test_an_encoder_and_a_decoder_in_groups_with_their_tokens() -> None:
    model = nn.Transformer(16, 2, 2, 2, 32, batch_first=True).eval()
    source, target, own = torch.randn(2, 4, 16), torch.randn(X), list[Tensor]()
    with torch.no_grad():
        rows, columns = list("abcde"), ["u", "v", "w", "x"]
        made = watch(model, source, target, rows=rows, columns=columns, batch=1)
        torch.backends.mha.set_fastpath_enabled(False)  # as it is written: what runs while it is watched
        try:
            with watch() as seen:
                own.append(model(source, target))
            own.append(model(source, target))
        finally:
            torch.backends.mha.set_fastpath_enabled(True)
    assert torch.equal(*own)
    assert len(seen.maps) == 6
    assert [(one.name, tuple(one.maps.shape), one.rows, one.columns) for one in made.groups] == [
        ("encoder.layers.*.self_attn", (1, 2, 2, 4, 4), columns, None),
        ("decoder.layers.*.self_attn", (1, 2, 2, 5, 5), rows, None),
        ("decoder.layers.*.multihead_attn", (1, 2, 2, 5, 4), rows, columns),
    ]
    assert made.groups[2].paths == ("decoder.layers.0.multihead_attn", "decoder.layers.1.multihead_attn")


def test_masks_scales_and_shared_keys_against_a_dense_loop() -> None:
    grouped, x = Block(32, 4, kv=2), torch.randn(2, 5, 32)
    q, k, _ = grouped.heads(x)
    bias, allow = torch.randn(5, 5), torch.rand(2, 1, 5, 5) > 0.4
    allow[0, 0, 3] = False  # nothing to look at
    cases: list[tuple[dict[str, Any], Tensor]] = [
        ({"is_causal": True}, dense(q[0], k[0], causal)),
        ({"is_causal": False, "attn_mask": bias}, dense(q[0], k[0], lambda i, j: True, bias)),
        ({"is_causal": False, "attn_mask": allow}, dense(q[0], k[0], lambda i, j: bool(allow[0, 0, i, j]))),
        ({"is_causal": False, "scale": 2 / math.sqrt(8)}, dense(2 * q[0], k[0], lambda i, j: True)),
    ]
    for switches, wanted in cases:
        with watch() as seen:
            out = grouped(x, enable_gqa=True, **switches)
        assert torch.equal(out, grouped(x, enable_gqa=True, **switches))
        near(seen.maps[0].weights, wanted)
    assert not bool(seen.maps[0].weights[:, 3].isnan().any())


def test_models_of_transformers_as_they_are_loaded() -> None:
    from transformers import BertConfig, BertModel

    sizes: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    model: Any = BertModel(BertConfig(vocab_size=20, intermediate_size=16, **sizes))
    model, ids = model.eval(), torch.arange(6)[None]
    seen = watch(model, input_ids=ids, attention_mask=torch.ones_like(ids))
    assert seen.groups[0].name == "encoder.layer.*.attention.self"
    model.set_attn_implementation("eager")
    with torch.no_grad():
        wanted = torch.cat(model(ids, output_attentions=True).attentions)
    near(seen.groups[0].maps[0], wanted)
    near(watch(model, ids).groups[0].maps[0], wanted)


def test_weights_that_a_module_computes_itself() -> None:
    class Bare(Block):
        def forward(self, x: Tensor, **_: Any) -> Tensor:
            q, k, v = self.heads(x)
            self.weights = (q @ k.mT).softmax(-1)
            dropped = F.dropout(self.weights).double()
            return torch.matmul(dropped, other=v.double()).float().transpose(1, 2).flatten(2)

    class TimeFirst(Block):
        def forward(self, x: Tensor, **_: Any) -> Tensor:
            q, k, v = (part.permute(2, 0, 1, 3) for part in self.heads(x))
            weights = nn.Softmax(dim=1)(torch.einsum("ibhd,jbhd->ijbh", q, k))
            self.weights = weights.permute(2, 3, 0, 1)
            return torch.einsum("ijbh,jbhd->bihd", F.dropout(weights), v).flatten(2)

    for layer in (Bare(), TimeFirst()):
        seen = watch(layer, torch.randn(X), batch=1)
        torch.testing.assert_close(seen.groups[0].maps[0, 0], layer.weights[1], rtol=0, atol=0)
    experts = nn.Sequential(nn.Linear(16, 4), nn.Softmax(-1))  # a softmax over classes is no attention
    with pytest.raises(Unsupported, match="nothing was seen"):
        watch(experts, torch.randn(X))


def test_unseen_or_too_many_maps_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class OwnAttention(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            powers = (x @ x.mT).exp()
            return powers / powers.sum(-1, keepdim=True) @ x

    x = torch.randn(X)
    mixed = watch(nn.Sequential(Block(), OwnAttention()), x)
    assert mixed.notices == ("1 modules called attention ran unseen, as 1.",)
    with pytest.raises(Unsupported, match=r"nothing was seen.*softmax.*as that of OwnAttention may"):
        watch(OwnAttention(), x)
    with pytest.raises(SizeError, match=r"rows has 7 tokens, the maps have 5 × 5"):
        watch(Block(), x, rows=list("abcdefg"))
    model = nn.Sequential(Block(), Block(), Block())
    with watch(model[1]) as part:
        model(x)
    assert [one.path for one in part.maps] == ["1"], "of a module only what is computed in it"
    monkeypatch.setattr(watcher, "MAX_WEIGHTS", 120)
    with pytest.raises(SizeError, match="these are 150 weights, at most 120 are watched"):
        watch(model, x)


def test_an_error_leaves_nothing_behind() -> None:
    model, x = nn.Sequential(Block(), Block()), torch.randn(X)
    with pytest.raises(RuntimeError), watch() as broken:
        model(torch.randn(2, 5, 7))
    model(x)
    assert broken.maps == []
    assert not torch.nn.modules.module._global_forward_pre_hooks
    assert not torch.nn.modules.module._global_forward_hooks


def test_a_recorder_looks_every_k_steps_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(recorder: Recorder | None) -> list[Tensor]:
        torch.manual_seed(3)
        model = nn.TransformerEncoderLayer(16, 2, 16, dropout=0.5, batch_first=True)
        optimiser, x = torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(X)
        for step in range(13):
            if recorder:
                recorder(step, model, x)
                assert all(one.training for one in model.modules())
            optimiser.zero_grad()
            model(x)[..., 0].mean().backward()
            optimiser.step()
        return list(model.parameters())

    recorder = Recorder(every=4, rows=list("abcde"))
    with pytest.raises(HeadlightError, match="nothing is recorded yet"):
        _ = recorder.recording
    assert all(map(torch.equal, train(None), train(recorder)))
    made = recorder.recording
    assert made.steps == (0, 4, 8, 12)
    assert made.groups[0].maps.shape == (4, 1, 2, 5, 5)
    assert not torch.equal(made.groups[0].maps[0], made.groups[0].maps[3])
    with pytest.raises(SizeError, match="step 8 comes after step 12"):
        recorder(8, Block(), torch.randn(X))
    with pytest.raises(SizeError, match="step 16 has maps of other shapes"):
        recorder(16, Block(), torch.randn(X))
    model = nn.MultiheadAttention(16, 2, batch_first=True)
    nan = torch.full((2, 5, 16), math.nan)
    recorder(16, model, nan, nan, nan)
    assert recorder.recording.steps == made.steps
    assert recorder.recording.notices == ("The maps of step 16 held NaN; such steps are left out.",)
    monkeypatch.setattr("mha_core.pretrained.recorder.MAX_WEIGHTS", 2 * 50)
    few = Recorder(every=2)
    train(few)
    assert few.recording.steps == (0, 8)
    assert few.every == 8


def test_rows_without_a_key_are_zeros_as_in_the_pass_itself() -> None:
    layer, x = nn.MultiheadAttention(16, 2, batch_first=True).eval(), torch.randn(X)
    stack: Any = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 16, batch_first=True), 2).eval()
    head = torch.tensor([False, True]).repeat(2)[:, None, None].expand(4, 5, 5)
    left, ahead = torch.arange(5) < torch.tensor([[0], [2]]), torch.ones(5, 5).triu(1).bool()
    float_ahead, float_left = (torch.zeros(mask.shape).masked_fill(mask, -math.inf) for mask in (ahead, left))
    cases: list[tuple[nn.Module, tuple[Tensor, ...], dict[str, Any], Tensor]] = [
        (layer, (x, x, x), {"attn_mask": head, "need_weights": False}, torch.tensor([0, 1])[:, None].expand(2, 5)),
        (layer, (x, x, x), {"key_padding_mask": torch.ones(2, 5).bool(), "need_weights": False}, torch.ones(2, 5)),
        (stack, (x,), {"mask": ahead, "src_key_padding_mask": left}, left[1].expand(2, 5)),
        (stack, (x,), {"mask": float_ahead, "src_key_padding_mask": float_left}, left[1].expand(2, 5)),
    ]
    for module, inputs, masks, empty in cases:
        out = module(*inputs, **masks)
        assert bool((out[0] if isinstance(out, tuple) else out).isfinite().all())
        seen = watch(module, *inputs, batch=1, **masks)
        for maps in seen.groups[0].maps[0]:
            near(maps.sum(-1), 1 - empty.float())
    with torch.no_grad(), pytest.raises(HeadlightError, match="hold NaN or infinity; look for it in the inputs"):
        watch(layer, *[torch.full(X, math.nan)] * 3, need_weights=False)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_under_vmap_its_axis_is_the_batch() -> None:
    x, shared = torch.randn(3, 2, 5, 8), torch.randn(2, 5, 8)
    layer, tokens = nn.MultiheadAttention(16, 2).eval(), torch.randn(3, 5, 16)
    functions: list[tuple[Callable[[Tensor], Tensor], Tensor]] = [
        (lambda a: F.scaled_dot_product_attention(a, a, a, is_causal=True), x),
        (lambda a: F.scaled_dot_product_attention(a[None], shared[None], shared[None]), x),
        (lambda a: layer(a, a, a, need_weights=False)[0], tokens),
    ]
    for one, values in functions:
        with torch.no_grad(), watch(batch=1) as seen:
            out = torch.func.vmap(one)(values)
        with torch.no_grad(), watch() as alone:
            loop = torch.stack([one(value) for value in values])
        near(out, loop)
        near(seen.maps[0].weights, alone.maps[1].weights)


@pytest.mark.parametrize("token", [torch.tensor(1), 7, "\ud83d"], ids=["a tensor", "an int", "half a surrogate"])
def test_tokens_are_whole_strings(token: Any) -> None:
    for named in ({"rows": [token] * 5}, {"title": token}):
        with pytest.raises(HeadlightError, match=r"not a string; give texts|surrogate pair"):
            watch(Block(), torch.randn(X), **named)
