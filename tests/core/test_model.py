"""Text in, every map and hidden state out: what a `Run` promises, and what `Model.run` refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from mha_core import IMPLEMENTATIONS, Model, Run, masks
from mha_core.attention import respelled
from mha_core.errors import DeviceError, HeadlightError, MaskError, PositionError, SizeError, TooLong, Unsupported
from mha_core.measure.compare import largest_difference, worst_row_sum
from mha_core.models.encoder import Encoder, EncoderSizes
from mha_core.models.model import Mask
from mha_core.positions import Learned, Nothing, Position, Sinusoidal

from .conftest import TIRED, text_of
from .dense import Counting, Slanted

PRESETS = [TIRED, "can you can that", "how are you", "orange is my favorite fruit", ""]


def equal(a: Run, b: Run) -> bool:
    """The same words and bit for bit the same numbers."""
    numbers = all(torch.equal(getattr(a, name), getattr(b, name)) for name in ("weights", "hidden", "sentence"))
    return numbers and (a.tokens, a.ids, a.device, a.notices) == (b.tokens, b.ids, b.device, b.notices)


@pytest.fixture(scope="module")
def tired(minilm: Model) -> Run:
    return minilm.run(TIRED)


def test_tokens_ids_and_shapes(minilm: Model, tired: Run) -> None:
    assert tired.tokens == [
        "[CLS]",
        *["the", "animal", "didn", "'", "t", "cross", "the", "street", "because", "it", "was", "too", "tired"],
        "[SEP]",
    ]
    assert tired.ids == [minilm.tokenizer.token_to_id(token) for token in tired.tokens]
    assert tired.weights.shape == (6, 12, 15, 15)
    assert tired.hidden.shape == (7, 15, 384)
    assert tired.sentence.shape == (384,)
    assert tired.steps == ()
    assert tired.device == torch.device("cpu")
    assert tired.notices == ()
    assert not any(tensor.requires_grad for tensor in (tired.weights, tired.hidden, tired.sentence))
    assert {tensor.dtype for tensor in (tired.weights, tired.hidden, tired.sentence)} == {torch.float32}


def test_pieces_of_words_keep_their_marks(minilm: Model) -> None:
    assert minilm.run("tokenization").tokens == ["[CLS]", "token", "##ization", "[SEP]"]


def test_empty_text(minilm: Model) -> None:
    for text in ("", "  \n\t "):
        run = minilm.run(text)
        assert run.tokens == ["[CLS]", "[SEP]"]
        assert run.weights.shape == (6, 12, 2, 2)


@pytest.mark.parametrize("text", PRESETS)
def test_rows_sum_to_one(minilm: Model, text: str) -> None:
    assert worst_row_sum(minilm.run(text).weights) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", PRESETS)
def test_the_sentence_is_the_mean_scaled_to_length_one(minilm: Model, text: str) -> None:
    run = minilm.run(text)
    mean = run.hidden[-1].sum(dim=0) / len(run.tokens)
    torch.testing.assert_close(run.sentence, mean / mean.square().sum().sqrt())
    assert float(run.sentence.norm()) == pytest.approx(1, abs=1e-6)


STRANGE = {
    "emoji": "🙂 👩‍👩‍👧 🏳️‍🌈",
    "right to left": "שלום עולם مرحبا",
    "combining": "e\u0301\u0301 Z͑ͫ̓ͪ̂",
    "nul": "a\0b",
    "controls": "\x1b[31m \u202e \ufeff \ufffd",
    "markup": "<script>alert(1)</script> <iframe srcdoc='<b>'>",
    "formula": "**a** $\\frac{1}{2}$ [x](javascript:1)",
    "specials": "[CLS] [SEP] [MASK] [PAD]",
    "one long word": "a" * 5000,
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
def test_strange_texts_are_only_text(minilm: Model, text: str) -> None:
    run = minilm.run(text)
    assert run.tokens[0] == "[CLS]"
    assert run.tokens[-1] == "[SEP]"
    assert run.weights.isfinite().all()
    assert equal(run, minilm.run(text))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
def test_any_text_is_tokenised_or_refused(tiny: Model, text: str) -> None:
    try:
        run = tiny.run(text)
    except HeadlightError:
        return
    assert len(run.tokens) == len(run.ids) == run.weights.shape[-1]
    assert run.weights.isfinite().all()


@pytest.mark.parametrize("text", ["half a pair \ud83d", None, 5, b"bytes"])
def test_what_is_no_text_raises(minilm: Model, text: Any) -> None:
    with pytest.raises(HeadlightError, match="text must be a str of whole characters"):
        minilm.run(text)


def test_nothing_is_cut(minilm: Model) -> None:
    text = text_of(minilm, 512)
    assert len(minilm.run(text).tokens) == 512
    with pytest.raises(TooLong, match=r"513 tokens.*at most 512") as caught:
        minilm.run(text + " it")
    assert (caught.value.limit, caught.value.got) == (512, 513)
    with pytest.raises(TooLong) as caught:
        minilm.run_batch(["how are you", "it " * 50_000])
    assert (caught.value.limit, caught.value.got) == (512, 50_002)


def test_runs_are_bit_equal(minilm: Model, tired: Run) -> None:
    assert all(equal(minilm.run(TIRED), tired) for _ in range(3))


def test_threads_get_the_serial_results(minilm: Model) -> None:
    jobs: list[tuple[str, dict[str, Any]]] = [(text, {}) for text in [*PRESETS, text_of(minilm, 64)]]
    jobs += [(TIRED, {"mask": "causal"}), (TIRED, {"heads_off": [(2, 3)]}), (TIRED, {"position": "sinusoidal"})]
    serial = [minilm.run(text, **options) for text, options in jobs]
    together = threading.Barrier(8)

    def visit(visitor: int) -> list[tuple[int, Run]]:
        together.wait()
        order = [(visitor + step) % len(jobs) for step in range(2 * len(jobs))]
        return [(job, minilm.run(jobs[job][0], **jobs[job][1])) for job in order]

    with ThreadPoolExecutor(8) as pool:
        visits = list(pool.map(visit, range(8)))
    assert all(equal(run, serial[job]) for visit in visits for job, run in visit)


def test_a_run_changes_nothing_in_the_model(minilm: Model) -> None:
    before = {name: tensor.clone() for name, tensor in minilm.encoder.state_dict().items()}
    minilm.run(TIRED, mask="causal", position="none", heads_off=[(0, 0)], temperature=2.0, trace_layer=1)
    after = minilm.encoder.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())


def n_by_n(rule: masks.Rule) -> Tensor:
    return masks.allow(rule, 15, 15)[0, 0]


def test_a_mask_as_text_rule_or_tensor_is_the_same(minilm: Model) -> None:
    rule = masks.either(masks.both(masks.causal, masks.window(3)), masks.sinks(1))
    written = minilm.run(TIRED, mask="causal & window:3 | sinks:1")
    assert torch.equal(written.weights > 0, n_by_n(rule).expand(6, 12, 15, 15))
    forms: list[Mask] = [rule, n_by_n(rule), n_by_n(rule).expand(12, 15, 15), n_by_n(rule)[None, None]]
    for mask in forms:
        assert equal(minilm.run(TIRED, mask=mask), written)


def test_no_mask_written_in_any_way(minilm: Model, tired: Run) -> None:
    for mask in ("none", "window:99", masks.full):
        assert equal(minilm.run(TIRED, mask=mask), tired)
    full = minilm.run(TIRED, mask=n_by_n(masks.full))
    assert largest_difference(full.weights, tired.weights) <= 1e-6


def test_a_mask_of_its_own_for_each_head(minilm: Model) -> None:
    mask = torch.stack([n_by_n(masks.window(head + 1)) for head in range(12)])
    run = minilm.run(TIRED, mask=mask)
    assert torch.equal(run.weights > 0, mask.expand(6, 12, 15, 15))
    torch.testing.assert_close(run.weights[:, 0], torch.eye(15).expand(6, 15, 15))


def test_an_empty_row_stays_finite_through_all_layers(minilm: Model) -> None:
    run = minilm.run(TIRED, mask=masks.invert(masks.causal))  # the last token may look at nothing
    assert not run.weights[:, :, -1].any()
    assert run.hidden.isfinite().all()
    assert worst_row_sum(run.weights) == 0
    assert worst_row_sum(run.weights[:, :, :-1]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("mask", "told"),
    [
        ("banded:3", r"'banded:3' is not known; write none, causal"),
        ("window:0", "at least 1"),
        (torch.ones(15, 14, dtype=torch.bool), r"shape \(15, 14\); allowed are \(15, 15\), \(12, 15, 15\)"),
        (torch.ones(2, 1, 15, 15, dtype=torch.bool), r"shape \(2, 1, 15, 15\)"),
        (torch.ones(15, 15), "bool tensor"),
        (None, "NoneType"),
        (3, "int"),
        (lambda i, j: i + j, "int64"),
        (masks.cells([(0, 15)]), r"\(0, 15\) lies outside 15 queries × 15 keys"),
        (masks.documents([0, 1]), r"\(2,\) for 15 queries"),
    ],
)
def test_wrong_masks_raise(minilm: Model, mask: Any, told: str) -> None:
    with pytest.raises(MaskError, match=told):
        minilm.run(TIRED, mask=mask)


def test_no_positions(minilm: Model) -> None:
    assert equal(minilm.run(TIRED, position="none"), minilm.run(TIRED, position=Nothing()))


def test_the_trained_positions_given_as_an_encoding(minilm: Model, tired: Run) -> None:
    assert isinstance(minilm.encoder.position, Learned)
    table = Learned(384, 512)
    table.table.data.copy_(minilm.encoder.position.table)
    given = minilm.run(TIRED, position=table)
    assert equal(given, tired)
    assert not given.weights.requires_grad


def test_sinusoids_by_name_have_the_size_of_the_trained_table(minilm: Model, tired: Run) -> None:
    assert isinstance(minilm.encoder.position, Learned)
    by_name = minilm.run(TIRED, position="sinusoidal")
    size = float(minilm.encoder.position.table.square().mean().sqrt())
    waves = Sinusoidal(384, amplitude=size * 2**0.5)
    assert float(waves.add(torch.zeros(512, 384)).square().mean().sqrt()) == pytest.approx(size, rel=0.01)
    assert largest_difference(by_name.weights, minilm.run(TIRED, position=waves).weights) <= 1e-5
    assert largest_difference(by_name.weights, minilm.run(TIRED, position=Sinusoidal(384)).weights) > 0.1
    assert largest_difference(by_name.weights, tired.weights) > 0.1


def test_add_is_called_once_and_bias_in_every_layer(minilm: Model, tired: Run) -> None:
    position = Counting()
    minilm.run(TIRED, position=position)
    assert position.added == 1
    slanted = minilm.run(TIRED, position=Slanted())
    untold = minilm.run(TIRED, position="none")
    assert torch.equal(slanted.hidden[0], untold.hidden[0])
    assert not torch.allclose(slanted.weights[0], untold.weights[0], atol=0.01)


def test_permuting_words(minilm: Model) -> None:
    words = TIRED.split()
    order = [4, 2, 10, 0, 7, 5, 1, 8, 3, 6, 9]
    assert sorted(order) == list(range(len(words)))
    for position, holds in (("none", True), ("trained", False)):
        straight = minilm.run(" ".join(words), position=position)
        mixed = minilm.run(" ".join(words[place] for place in order), position=position)
        starts = [0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14]  # "didn't" has three tokens
        pieces = [list(range(starts[word + 1], starts[word + 2])) for word in range(11)]
        moved = [0, *(piece for place in order for piece in pieces[place]), 14]
        assert [straight.tokens[place] for place in moved] == mixed.tokens
        far = largest_difference(mixed.hidden[-1], straight.hidden[-1][moved])
        assert far <= 1e-5 if holds else far > 0.1


@pytest.mark.parametrize("position", ["rotory", "", "Trained", None, 3])
def test_unknown_positions_raise(minilm: Model, position: Any) -> None:
    with pytest.raises(PositionError, match="is not known; choose one of"):
        minilm.run(TIRED, position=position)


def test_positions_that_do_not_fit_raise(minilm: Model) -> None:
    with pytest.raises(PositionError, match=r"d_model=64.*384"):
        minilm.run(TIRED, position=Sinusoidal(64))
    with pytest.raises(PositionError, match=r"15 positions.*has 10"):
        minilm.run(TIRED, position=Learned(384, 10))


@pytest.mark.parametrize("layer", [0, 2, 5])
def test_a_head_switched_off_changes_later_layers_and_not_earlier_ones(minilm: Model, tired: Run, layer: int) -> None:
    run = minilm.run(TIRED, heads_off=[(layer, 6)])
    assert torch.equal(run.hidden[: layer + 1], tired.hidden[: layer + 1])
    assert torch.equal(run.weights[: layer + 1], tired.weights[: layer + 1])
    for later in range(layer + 1, 6):
        assert largest_difference(run.hidden[later], tired.hidden[later]) > 0.001
        assert largest_difference(run.weights[later], tired.weights[later]) > 0.001
    assert largest_difference(run.hidden[-1], tired.hidden[-1]) > 0.001


def test_heads_off_takes_any_iterable_and_repeats(minilm: Model, tired: Run) -> None:
    expected = minilm.run(TIRED, heads_off=[(1, 2), (4, 0)])
    assert equal(minilm.run(TIRED, heads_off={(4, 0), (1, 2)}), expected)
    assert equal(minilm.run(TIRED, heads_off=[[1, 2], [4, 0]]), expected)  # type: ignore[list-item]
    assert equal(minilm.run(TIRED, heads_off=iter([(1, 2), (4, 0), (1, 2)])), expected)
    assert equal(minilm.run(TIRED, heads_off=()), tired)
    everything = [(layer, head) for layer in range(6) for head in range(12)]
    assert minilm.run(TIRED, heads_off=everything).hidden.isfinite().all()


@pytest.mark.parametrize("pair", [(6, 0), (0, 12), (-1, 0), (0, -1), (0.5, 1), (1,), (1, 2, 3), "ab", 3, [6, 2]])
def test_heads_that_are_not_there_raise(minilm: Model, pair: Any) -> None:
    with pytest.raises(SizeError, match=r"layers 0 to 5, heads 0 to 11"):
        minilm.run(TIRED, heads_off=[(0, 0), pair])


def test_temperature(minilm: Model, tired: Run) -> None:
    assert equal(minilm.run(TIRED, temperature=1), tired)
    assert float(minilm.run(TIRED, temperature=1e9).weights.sub(1 / 15).abs().max()) <= 1e-6
    cold = minilm.run(TIRED, temperature=1e-3).weights
    assert float(cold.amax(dim=-1).median()) > 0.999

    def entropy(run: Run) -> float:
        return float(torch.special.entr(run.weights[0]).sum(-1).mean())

    assert entropy(minilm.run(TIRED, temperature=0.5)) < entropy(tired) < entropy(minilm.run(TIRED, temperature=2.0))


@pytest.mark.parametrize("temperature", [0, -1, float("nan"), float("inf"), "1", None])
def test_wrong_temperatures_raise(minilm: Model, temperature: Any) -> None:
    with pytest.raises(HeadlightError, match="above 0"):
        minilm.run(TIRED, temperature=temperature)


@pytest.mark.parametrize("layer", range(6))
def test_the_steps_of_one_layer(minilm: Model, tired: Run, layer: int) -> None:
    run = minilm.run(TIRED, trace_layer=layer)
    step = {step.name: step for step in run.steps}
    names = ["x", "q", "k", "v", "scores", "weights", "mixed", "joined", "out"]
    assert [step.name for step in run.steps if "." not in step.name] == names
    assert torch.equal(step["x"].value[0], run.hidden[layer])
    assert torch.equal(step["weights"].value[0], run.weights[layer])
    assert step["q"].shape == (1, 12, 15, 32)
    assert equal(run, tired)
    masked = minilm.run(TIRED, trace_layer=layer, mask="causal").steps
    assert "masked" in [step.name for step in masked]


@pytest.mark.parametrize("mask", ["none", "causal", "window:2"])
@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_any_implementation_takes_the_layer_s_place(minilm: Model, minilm64: Model, name: str, mask: str) -> None:
    for model, most in ((minilm, 2e-6), (minilm64, 1e-13)):
        own = model.run(TIRED, mask=mask, trace_layer=3)
        run = model.run(TIRED, mask=mask, trace_layer=3, implementation=name)
        assert torch.equal(run.hidden[:4], own.hidden[:4])
        assert torch.equal(run.weights[:3], own.weights[:3])
        for part in ("weights", "sentence"):
            assert largest_difference(getattr(run, part), getattr(own, part)) <= most
        outs = [{step.name: step.value for step in each.steps}["out"] for each in (run, own)]
        assert outs[0].shape == (1, len(run.tokens), 384)
        assert largest_difference(outs[0], outs[1]) <= most
    # rounding grows in the layers after it, so all hidden states are compared in float64
    assert largest_difference(run.hidden, own.hidden) <= 1e-13


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_it_takes_the_same_switches_as_far_as_it_can(minilm: Model, name: str) -> None:
    options: dict[str, Any] = {"position": "none", "heads_off": [(1, 2)], "trace_layer": 1}
    if "heads" in IMPLEMENTATIONS[name].can:
        run = minilm.run(TIRED, implementation=name, temperature=1.7, **options)
        assert largest_difference(run.weights, minilm.run(TIRED, temperature=1.7, **options).weights) <= 2e-6
    else:
        with pytest.raises(Unsupported, match="cannot do heads"):
            minilm.run(TIRED, implementation=name, **options)


def test_an_implementation_that_is_not_known_raises(minilm: Model) -> None:
    with pytest.raises(Unsupported, match=r"implementation='flash' is not known; choose one of naive, efficient"):
        minilm.run(TIRED, trace_layer=0, implementation="flash")


def test_an_implementation_of_no_layer_raises(minilm: Model) -> None:
    with pytest.raises(HeadlightError, match="say which layer it takes the place of"):
        minilm.run(TIRED, implementation="einsum")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("bias", [(True, True), (True, False), (False, True), (False, False)], ids=str)
@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_a_respelled_layer_keeps_weights_dtype_device_and_biases(
    name: str, bias: tuple[bool, bool], dtype: torch.dtype
) -> None:
    layer = IMPLEMENTATIONS["fused"](12, 3, bias=bias[0], out_bias=bias[1]).to(dtype)
    state = torch.get_rng_state()
    twin = respelled(layer, name)
    assert torch.equal(torch.get_rng_state(), state), "it draws no random numbers"
    assert type(twin) is IMPLEMENTATIONS[name]
    assert (twin.d_model, twin.n_heads, twin.bias, twin.out_bias) == (12, 3, *bias)
    own = next(layer.parameters())
    assert {(parameter.dtype, parameter.device) for parameter in twin.parameters()} == {(dtype, own.device)}
    assert not twin.training
    assert not any(parameter.requires_grad for parameter in twin.parameters())
    for (part, copied), (_, weight) in zip(twin.save().items(), layer.save().items(), strict=True):
        assert (copied is None) == (weight is None), part
        if copied is not None and weight is not None:
            assert torch.equal(copied, weight), part
    with torch.no_grad():
        own.zero_()
    assert any(weight is not None and weight.abs().sum() > 0 for _, weight in twin.save().items()), "a copy"


@pytest.mark.parametrize("layer", [-1, 6, 1.5, "3"])
def test_layers_that_are_not_there_raise(minilm: Model, layer: Any) -> None:
    with pytest.raises(SizeError, match=r"the layers are 0 to 5"):
        minilm.run(TIRED, trace_layer=layer)


def test_a_batch_is_its_sentences(minilm64: Model) -> None:
    runs = minilm64.run_batch(PRESETS)
    for text, run in zip(PRESETS, runs, strict=True):
        alone = minilm64.run(text)
        assert (run.tokens, run.ids, run.steps) == (alone.tokens, alone.ids, ())
        for name in ("weights", "hidden", "sentence"):
            assert largest_difference(getattr(run, name), getattr(alone, name)) <= 1e-12
    assert minilm64.run_batch([]) == []
    assert equal(minilm64.run_batch([TIRED])[0], minilm64.run(TIRED))


def test_a_batch_takes_the_same_switches(minilm64: Model) -> None:
    options: dict[str, Any] = {
        "mask": "causal & window:4", "position": "none", "heads_off": [(1, 1), (3, 0)], "temperature": 1.5,
    }  # fmt: skip
    for text, run in zip(PRESETS, minilm64.run_batch(PRESETS, **options), strict=True):
        assert largest_difference(run.weights, minilm64.run(text, **options).weights) <= 1e-12


def test_a_mask_tensor_for_a_batch_has_the_padded_length(minilm64: Model) -> None:
    by_tensor = minilm64.run_batch(PRESETS, mask=n_by_n(masks.causal))
    by_name = minilm64.run_batch(PRESETS, mask="causal")
    assert all(equal(a, b) for a, b in zip(by_tensor, by_name, strict=True))
    with pytest.raises(MaskError, match=r"\(3, 3\); allowed are \(15, 15\)"):
        minilm64.run_batch(PRESETS, mask=torch.ones(3, 3, dtype=torch.bool))


def test_unmasked_padding_is_the_classic_bug(minilm: Model) -> None:
    alone = minilm.run("how are you")
    masked = minilm.run_batch(["how are you", TIRED])[0]
    unmasked = minilm.run_batch(["how are you", TIRED], mask_padding=False)[0]
    assert largest_difference(masked.weights, alone.weights) <= 1e-5
    assert largest_difference(unmasked.weights, alone.weights) > 0.1
    assert worst_row_sum(unmasked.weights) < 0.9


# A GPU that runs out of memory, played on the CPU: `device` says cuda, and the encoder on it raises.


FULL = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")


class FullEncoder(Encoder):
    """Raises what a full GPU raises, if it is told to; the copy that is made for the CPU is not."""

    error: RuntimeError | None = None

    def forward(self, *args: Any, **options: Any) -> Any:
        if self.error is not None:
            raise self.error
        return super().forward(*args, **options)


class OnFullGpu(Model):
    @property
    def device(self) -> torch.device:
        return torch.device("cuda", 0)


@pytest.fixture
def full_gpu(tiny: Model) -> Callable[..., Model]:
    def make(*, fall_back: bool, error: RuntimeError = FULL, kind: type[Model] = OnFullGpu) -> Model:
        assert isinstance(tiny.encoder.sizes, EncoderSizes)
        encoder = FullEncoder(tiny.encoder.sizes)
        encoder.error = error
        encoder.load_state_dict(tiny.encoder.state_dict())
        return kind("full", tiny.tokenizer, encoder.eval(), origin="random", fall_back=fall_back)

    return make


@pytest.mark.parametrize(
    "error",
    [FULL, RuntimeError("MPS backend out of memory (MPS allocated: 18.13 GB)")],
    ids=["cuda", "mps"],
)
def test_a_full_gpu_that_auto_chose(full_gpu: Callable[..., Model], tiny: Model, error: RuntimeError) -> None:
    model = full_gpu(fall_back=True, error=error)
    for _ in range(2):
        run = model.run("a b c", heads_off=[(0, 1)], mask="causal", trace_layer=1)
        expected = tiny.run("a b c", heads_off=[(0, 1)], mask="causal", trace_layer=1)
        assert run.notices == ("cuda:0 is out of memory; this was computed on the CPU.",)
        assert run.device == torch.device("cpu")
        assert torch.equal(run.weights, expected.weights)
        assert torch.equal(run.hidden, expected.hidden)
        assert [step.name for step in run.steps] == [step.name for step in expected.steps]
    assert len(model.run_batch(["a", "b c"])[1].notices) == 1


@pytest.mark.parametrize("position", ["none", "sinusoidal", Nothing(), Sinusoidal(24)], ids=str)
def test_a_full_gpu_with_another_position(
    full_gpu: Callable[..., Model], tiny: Model, position: str | Position
) -> None:
    run = full_gpu(fall_back=True).run("a b c", position=position)
    assert largest_difference(run.weights, tiny.run("a b c", position=position).weights) <= 1e-6


def test_a_full_gpu_that_was_chosen_by_name_raises(full_gpu: Callable[..., Model]) -> None:
    with pytest.raises(DeviceError, match="out of memory; shorten the text or choose the cpu"):
        full_gpu(fall_back=False).run("a b c")


def test_a_full_cpu_has_nowhere_to_go(full_gpu: Callable[..., Model]) -> None:
    with pytest.raises(torch.OutOfMemoryError):
        full_gpu(fall_back=True, kind=Model).run("a b c")


def test_other_errors_on_a_gpu_are_not_hidden(full_gpu: Callable[..., Model]) -> None:
    with pytest.raises(RuntimeError, match="illegal memory access"):
        full_gpu(fall_back=True, error=RuntimeError("CUDA error: an illegal memory access")).run("a b c")
