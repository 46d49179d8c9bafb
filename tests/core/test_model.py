"""Text in, every map and hidden state out: the promises of a `Run`, and what `Model.run` refuses."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mha_core import IMPLEMENTATIONS, Model, Run
from mha_core.errors import HeadlightError, SizeError, TooLong, Unsupported
from mha_core.measure.embedding import embedding_steps
from mha_core.models.layer_pass import LayerPass
from tests.bench.core import text_of
from tests.closeness import identical, same_function

from . import llama
from .conftest import TIRED
from .runs import case
from .runs import same_run as equal

PRESETS = [TIRED, "can you can that", "how are you", "orange is my favorite fruit", ""]


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
    assert not any(tensor.requires_grad for tensor in (tired.weights, tired.hidden, tired.sentence))
    for text in ("", "  \n\t "):
        assert minilm.run(text).tokens == ["[CLS]", "[SEP]"]
    assert equal(minilm.run(TIRED), tired)


def test_rows_sum_to_one_and_the_sentence_is_the_mean_scaled_to_length_one(minilm64: Model) -> None:
    for text in PRESETS:
        run = minilm64.run(text)
        mean = run.hidden[-1].sum(dim=0) / len(run.tokens)
        with case(text):
            same_function(run.weights.sum(dim=-1), torch.ones_like(run.weights[..., 0]))
            same_function(run.sentence, mean / mean.square().sum().sqrt())
            same_function(run.sentence.norm(), 1.0)


@given(text=st.text(max_size=60))
def test_any_text_is_tokenised_or_refused(tiny: Model, text: str) -> None:
    try:
        run = tiny.run(text)
    except HeadlightError:
        return
    assert len(run.tokens) == len(run.ids) == run.weights.shape[-1]
    assert run.weights.isfinite().all()


def test_invalid_or_too_long_text_raises_and_is_not_cut(minilm: Model) -> None:
    for wrong in ("half a pair \ud83d", None, 5, b"bytes"):
        with pytest.raises(HeadlightError, match="text must be a str of whole characters"):
            minilm.run(wrong)  # type: ignore[arg-type]
    text = text_of(512)
    assert len(minilm.run(text).tokens) == 512
    with pytest.raises(TooLong, match=r"513 tokens.*can read 512"):
        minilm.run(text + " it")
    with pytest.raises(TooLong):
        minilm.run_batch(["how are you", "it " * 50_000])


def test_threads_get_the_serial_results_and_change_nothing_in_the_model(minilm: Model) -> None:
    before = {name: tensor.clone() for name, tensor in minilm.stack.state_dict().items()}
    jobs: list[tuple[str, dict[str, Any]]] = [(text, {}) for text in [*PRESETS[1:3], text_of(64)]]
    jobs += [(TIRED, {"mask": "causal"}), (TIRED, {"heads_off": [(2, 3)]}), (TIRED, {"position": "sinusoidal"})]
    serial = [minilm.run(text, **options) for text, options in jobs]
    together = threading.Barrier(4)

    def visit(visitor: int) -> list[tuple[int, Run]]:
        together.wait()
        order = [(visitor + step) % len(jobs) for step in range(len(jobs))]
        return [(job, minilm.run(jobs[job][0], **jobs[job][1])) for job in order]

    with ThreadPoolExecutor(4) as pool:
        visits = list(pool.map(visit, range(4)))
    assert all(equal(run, serial[job]) for visit in visits for job, run in visit)
    minilm.run(TIRED, mask="causal", position="none", heads_off=[(0, 0)], temperature=2.0, trace_layer=1)
    after = minilm.stack.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())


def test_the_steps_of_one_layer(minilm: Model, tired: Run) -> None:
    for layer in (0, 5):
        run = minilm.run(TIRED, trace_layer=layer)
        step = {step.name: step for step in run.steps}
        identical(step["x"].value[0], run.hidden[layer])
        identical(step["weights"].value[0], run.weights[layer])
        assert equal(run, tired)


@pytest.mark.parametrize(("name", "mask"), list(zip(IMPLEMENTATIONS, ["none", "causal", "window:2"] * 3, strict=False)))
def test_any_implementation_takes_the_place_of_a_layer_with_the_same_switches(
    minilm64: Model, name: str, mask: str
) -> None:
    own = minilm64.run(TIRED, mask=mask, trace_layer=3)
    run = minilm64.run(TIRED, mask=mask, trace_layer=3, implementation=name)
    identical(run.hidden[:4], own.hidden[:4])
    identical(run.weights[:3], own.weights[:3])
    for part in ("weights", "sentence", "hidden"):
        same_function(getattr(run, part), getattr(own, part))
    if "heads" not in IMPLEMENTATIONS[name].can:
        with pytest.raises(Unsupported, match="cannot do heads"):
            minilm64.run(TIRED, implementation=name, heads_off=[(1, 2)], trace_layer=1)


def test_a_batch_is_its_sentences_whatever_is_switched(minilm64: Model) -> None:
    switches: dict[str, Any] = {
        "mask": "causal & window:4", "position": "none", "heads_off": [(1, 1), (3, 0)], "temperature": 1.5,
    }  # fmt: skip
    for options in ({}, switches):
        for text, run in zip(PRESETS, minilm64.run_batch(PRESETS, **options), strict=True):
            alone = minilm64.run(text, **options)
            assert (run.tokens, run.ids, run.steps) == (alone.tokens, alone.ids, ()), text
            with case((text, options)):
                for name in ("weights", "hidden", "sentence"):
                    same_function(getattr(run, name), getattr(alone, name))
    assert minilm64.run_batch([]) == []


# Layer by layer.


def test_a_pass_by_layers_gives_the_bits_of_a_run(tiny: Model) -> None:
    switches: list[dict[str, Any]] = [
        {},
        {"mask": "window:3", "temperature": 0.7, "values_off": (1,)},
        {"heads_off": ((0, 1), (1, 0)), "position": "none"},
    ]
    texts = [(llama.model(), llama.text_of(llama.random_ids(20))), (tiny, "the cat sat on the mat")]
    for (model, text), options, every in ((m, o, e) for m in texts for o in switches for e in (1, 2)):
        run, one = model.run(text, **options), LayerPass(model, text, keep_every=every, **options)
        with pytest.raises(SizeError, match="layer 0: 0 of"):
            one.maps(0)
        n_layers = model.sizes.n_layers
        with case((model.name, options, every)):
            for layer, whole in enumerate(run.weights):
                assert one.done == layer
                identical(one.advance(), whole)
            assert (one.tokens, one.ids) == (run.tokens, run.ids)
            assert list(one.hidden) == sorted({*range(0, n_layers, every), n_layers})
            for layer, state in one.hidden.items():
                identical(state, run.hidden[layer])
            for layer, whole in enumerate(run.weights):
                identical(one.maps(layer), whole)
            logits = one.logits()
            assert (logits is None) == (run.logits is None)
            if logits is not None and run.logits is not None:
                identical(logits, run.logits)
        with pytest.raises(SizeError):
            one.advance()


# From tokens to x.


def test_the_embedding_steps_give_what_enters_layer_0(minilm64: Model) -> None:
    state = minilm64.stack.state_dict()
    for position in ("trained", "none", "sinusoidal"):
        steps, run = embedding_steps(minilm64, TIRED, position=position), minilm64.run(TIRED, position=position)
        assert steps.norm is not None
        by_hand = (steps.summed - steps.norm.mean) / steps.norm.deviation * steps.norm.gain + steps.norm.shift
        with case(position):
            identical(steps.x, run.hidden[0])
            same_function(by_hand, run.hidden[0])
            assert (steps.tokens, steps.ids) == (run.tokens, run.ids)
    steps = embedding_steps(minilm64, "can you can that")
    for place, one in enumerate(steps.ids):
        identical(steps.words[place], state["words.weight"][one])
        identical(steps.position[place], state["position.table"][place])
    assert steps.segment is not None
    identical(steps.segment, state["segment"])
    same_function(steps.words + steps.segment + steps.position, steps.summed)
