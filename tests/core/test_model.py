"""Text in, every map and hidden state out: the promises of a `Run`, and what `Model.run` refuses."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mha_core import IMPLEMENTATIONS, Model, Run, masks
from mha_core.errors import HeadlightError, MaskError, SizeError, TooLong, Unsupported
from mha_core.measure.benchmark import text_of
from mha_core.measure.measures import largest_difference, worst_row_sum
from mha_core.models.layer_pass import LayerPass

from . import llama
from .conftest import TIRED
from .runs import same_run as equal

PRESETS = [TIRED, "can you can that", "how are you", "orange is my favorite fruit", ""]


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
    assert (tired.ends, minilm.run(tired.ids).ends) == ((1, 1), (0, 0)), "of ids none is the tokenizer's own"
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
def test_rows_sum_to_one_and_the_sentence_is_the_mean_scaled_to_length_one(minilm: Model, text: str) -> None:
    run = minilm.run(text)
    assert worst_row_sum(run.weights) == pytest.approx(1, abs=1e-5)
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


def test_strange_texts_are_only_text(minilm: Model) -> None:
    for name, text in STRANGE.items():
        run = minilm.run(text)
        assert (run.tokens[0], run.tokens[-1]) == ("[CLS]", "[SEP]"), name
        assert run.weights.isfinite().all(), name
        assert equal(run, minilm.run(text)), name


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
def test_any_text_is_tokenised_or_refused(tiny: Model, text: str) -> None:
    try:
        run = tiny.run(text)
    except HeadlightError:
        return
    assert len(run.tokens) == len(run.ids) == run.weights.shape[-1]
    assert run.weights.isfinite().all()


def test_what_is_no_text_raises(minilm: Model) -> None:
    for text in ("half a pair \ud83d", None, 5, b"bytes"):
        with pytest.raises(HeadlightError, match="text must be a str of whole characters"):
            minilm.run(text)  # type: ignore[arg-type]


def test_nothing_is_cut(minilm: Model) -> None:
    text = text_of(512)
    assert len(minilm.run(text).tokens) == 512
    with pytest.raises(TooLong, match=r"513 tokens.*can read 512") as caught:
        minilm.run(text + " it")
    assert (caught.value.limit, caught.value.got) == (512, 513)
    with pytest.raises(TooLong) as caught:
        minilm.run_batch(["how are you", "it " * 50_000])
    assert (caught.value.limit, caught.value.got) == (512, 50_002)


def test_runs_are_bit_equal(minilm: Model, tired: Run) -> None:
    assert all(equal(minilm.run(TIRED), tired) for _ in range(3))


def test_threads_get_the_serial_results(minilm: Model) -> None:
    jobs: list[tuple[str, dict[str, Any]]] = [(text, {}) for text in [*PRESETS[1:3], text_of(64)]]
    jobs += [(TIRED, {"mask": "causal"}), (TIRED, {"heads_off": [(2, 3)]}), (TIRED, {"position": "sinusoidal"})]
    serial = [minilm.run(text, **options) for text, options in jobs]
    together = threading.Barrier(6)

    def visit(visitor: int) -> list[tuple[int, Run]]:
        together.wait()
        order = [(visitor + step) % len(jobs) for step in range(len(jobs))]
        return [(job, minilm.run(jobs[job][0], **jobs[job][1])) for job in order]

    with ThreadPoolExecutor(6) as pool:
        visits = list(pool.map(visit, range(6)))
    assert all(equal(run, serial[job]) for visit in visits for job, run in visit)


def test_a_run_changes_nothing_in_the_model(minilm: Model) -> None:
    before = {name: tensor.clone() for name, tensor in minilm.encoder.state_dict().items()}
    minilm.run(TIRED, mask="causal", position="none", heads_off=[(0, 0)], temperature=2.0, trace_layer=1)
    after = minilm.encoder.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())


@pytest.mark.parametrize("layer", [0, 5])
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


@pytest.mark.parametrize(("name", "mask"), list(zip(IMPLEMENTATIONS, ["none", "causal", "window:2"] * 3, strict=False)))
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
    by_tensor = minilm64.run_batch(PRESETS, mask=masks.allow(masks.causal, 15, 15)[0, 0])
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


# ---- layer by layer


SWITCHES: list[dict[str, Any]] = [
    {},
    {"mask": "window:3", "temperature": 0.7, "values_off": (1,)},
    {"heads_off": ((0, 1), (1, 0)), "position": "none"},
]


@pytest.mark.parametrize("switches", SWITCHES)
@pytest.mark.parametrize("kind", ["decoder", "encoder"])
@pytest.mark.parametrize("every", [1, 2])
def test_it_gives_the_numbers_of_a_run_bit_by_bit(kind: str, every: int, tiny: Model, switches: dict[str, Any]) -> None:
    model = tiny if kind == "encoder" else llama.model()
    text = "the cat sat on the mat" if kind == "encoder" else llama.text_of(llama.random_ids(20))
    run, one = model.run(text, **switches), LayerPass(model, text, every=every, **switches)
    with pytest.raises(SizeError, match="layer 0: 0 of"):
        one.maps(0)
    for layer, whole in enumerate(run.weights):
        assert one.done == layer
        assert torch.equal(one.advance(), whole)
    assert (one.tokens, one.ids) == (run.tokens, run.ids)
    n_layers = model.sizes.n_layers
    assert list(one.hidden) == sorted({*range(0, n_layers, every), n_layers})
    for layer, state in one.hidden.items():
        assert torch.equal(state, run.hidden[layer])
    for layer, whole in enumerate(run.weights):
        assert torch.equal(one.maps(layer), whole), "again"
    logits = one.logits()
    assert (logits is None) == (run.logits is None)
    if logits is not None and run.logits is not None:
        assert torch.equal(logits, run.logits)
    with pytest.raises(SizeError):
        one.advance()


def test_a_model_of_another_make_does_not_go_by_layer(tiny: Model) -> None:
    class Other:
        name, groups = "other", ("decoder",)

    with pytest.raises(Unsupported, match="use run"):
        LayerPass(Other(), "a")  # type: ignore[arg-type]
