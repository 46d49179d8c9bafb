"""A stranger's run: contents, tensors, tokenizers and zip files that may do no more than be refused."""

import io
import json
import resource
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save

from mha_core import load_model
from mha_core.errors import WeightsFileError
from mha_core.training import saved

from .runs import RUN, TINY, TOKENIZER, WEIGHTS, Files, Refused, trained, zipped

TEXT = "the dog chased the cat"
Change = Callable[[dict[str, Any]], object]


def edited(files: Files, change: Change, name: str = RUN) -> bytes:
    found = json.loads(files[name])
    change(found)
    return zipped({**files, name: json.dumps(found).encode()})


def test_damaged_json(refused: Refused, classifier_files: Files) -> None:
    for name in (RUN, TOKENIZER):
        for text in (b"", b"{}", b"[]", b"\xff\xfe", b"[" * 1_000_000, b'{"format": "x"}'):
            data = zipped({**classifier_files, name: text})
            refused(data, r"not the record of a training run|cannot read tokenizer\.json")


def updated(*path: Any, **values: Any) -> Change:
    """A change of what stands at a path."""

    def change(run: dict[str, Any]) -> None:
        place: Any = run
        for key in path:
            place = place[key]
        place.update(values)

    return change


RECIPES: list[dict[str, Any]] = [
    {"d_model": 10**6}, {"d_model": 1024, "n_layers": 8, "vocabulary": 50_000, "d_feed_forward": 4096},
    {"max_len": 10**9}, {"implementation": "what"}, {"position": "learned"}, {"residual": 1},
]  # fmt: skip
HISTORIES: list[Change] = [
    lambda run: run.pop("end"),
    updated(format="headlight run 2"), updated(start=[]), updated(steps={}, evaluations=3),
    lambda run: run["steps"].append([1, None, 2.0]),
    lambda run: run["steps"][0].__setitem__(1, float("nan")),
    lambda run: run["evaluations"][0].update(kind="Start", **run["start"]),
    updated("evaluations", 0, test_accuracy=10**400),
    updated("snapshots", 0, shape=[1, 2, 3, 4]), updated("snapshots", 0, maps="AAAA"),
    *(updated("start", "recipe", **values) for values in RECIPES),
]  # fmt: skip


def test_foreign_histories(refused: Refused, classifier_files: Files) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for change in HISTORIES:
        data = edited(classifier_files, change)
        refused(data, rf"{RUN} is not the record|{WEIGHTS} does not hold|says another number")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # KB: nothing is made that large


LONG = "x" * 301
TOO_LONG = "301 characters in one of its texts, at most 300"
TOO_MANY: list[tuple[Change, str]] = [
    (updated("start", notes=["x"] * 101), "101 notes in its start, at most 100"),
    (updated("start", probes=[["x"] * 1025]), "1,025 tokens in a probe, at most 1,024"),
    *((updated("start", **values), TOO_LONG) for values in ({"notes": [LONG]}, {"probes": [[LONG]]})),
    (updated("start", classes=["x" * 201] * 10), "201 characters in the name of a class, at most"),
    (lambda run: run["steps"].extend([[1, 0.5, 0.5]]), "9 steps, at most 8"),
    (lambda run: run["snapshots"].extend(run["snapshots"] * 9), "60 snapshots, at most 8"),
]  # fmt: skip


def test_lists_and_texts_that_are_too_long(refused: Refused, classifier_files: Files) -> None:
    for change, expected in TOO_MANY:
        refused(edited(classifier_files, change), expected)


def test_values_are_counted_before_one_is_made(
    refused: Refused, classifier_files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    loads = json.loads

    def noted(text: str, **options: Any) -> Any:
        read.append(len(text))
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", noted)
    for name in (RUN, TOKENIZER):
        data = zipped({**classifier_files, name: b'{"notes": [' + b'"",' * 1_500_000 + b'""]}'})
        refused(data, rf"{name} has up to 1,500,001 values, at most {saved.MAX_VALUES[name]:,} are read")
    assert max(read, default=0) < 1_000_000


def tensors(change: Callable[[dict[str, torch.Tensor]], object], files: Files) -> bytes:
    found = load(files[WEIGHTS])
    change(found)
    return zipped({**files, WEIGHTS: save(found)})


TENSORS: list[tuple[Callable[[dict[str, torch.Tensor]], object], str]] = [
    (lambda t: t.pop("out.bias"), "does not hold the tensors"),
    (lambda t: t.update({"out.bias": torch.zeros(11)}), "does not hold the tensors"),
    (lambda t: t.update({"out.bias": t["out.bias"].half()}), "something else than finite float32"),
    (lambda t: t.update({"out.bias": t["out.bias"].to(torch.float8_e4m3fn)}), "float32|does not hold"),
    (lambda t: t["out.bias"].fill_(float("nan")), "something else than finite float32"),
]


def test_foreign_tensors(refused: Refused, classifier_files: Files) -> None:
    for change, expected in TENSORS:
        refused(tensors(change, classifier_files), expected)


def test_invalid_safetensors_file_is_refused(refused: Refused, classifier_files: Files) -> None:
    headers = (b"[]", b"{", b'{"out.bias": 3}', b"[" * 100_000)
    with_length = (len(header).to_bytes(8, "little") + header for header in headers)
    for data in (b"", (2**40).to_bytes(8, "little") + b"{}", b"\x80\x04N.", *with_length):
        refused(zipped({**classifier_files, WEIGHTS: data}), "does not hold the tensors of this model")


def test_the_weights_of_another_run(refused: Refused, classifier_files: Files, words_files: Files) -> None:
    refused(zipped({**classifier_files, WEIGHTS: words_files[WEIGHTS]}), "does not hold the tensors of this model")
    refused(
        zipped({**classifier_files, TOKENIZER: words_files[TOKENIZER]}),
        r"tokenizer\.json has 33 tokens, run\.json says",
    )
    refused(zipped({**classifier_files, RUN: words_files[RUN]}), r"tokenizer\.json has 60 tokens, run\.json says")


def vocabulary(change: Change) -> Change:
    return lambda found: change(found["model"]["vocab"])


TOKENIZERS: list[Change] = [
    lambda found: found.pop("model"),
    lambda found: found.update(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+$"}}),
    vocabulary(lambda vocab: vocab.update(the=10**6)),
    vocabulary(lambda vocab: vocab.update(the=-1)),
    vocabulary(lambda vocab: vocab.update({"\ud800": vocab.pop("d")})),
]


def test_foreign_tokenizers(refused: Refused, classifier_files: Files) -> None:
    for change in TOKENIZERS:
        refused(edited(classifier_files, change, TOKENIZER), r"cannot read tokenizer\.json: this is no tokenizer")


def test_only_the_vocabulary_of_a_tokenizer_counts(classifier_files: Files, tmp_path: Path) -> None:
    """An id beyond the embeddings would end a GPU's work for all visitors; an expression could take for ever."""

    def change(found: dict[str, Any]) -> None:
        found["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [10**6]
        found["added_tokens"].append({**found["added_tokens"][0], "id": 10**6, "content": "dog"})
        found.update(truncation={"max_length": 1, "strategy": "LongestFirst", "stride": 0, "direction": "Right"})

    saved.unpack(edited(classifier_files, change, TOKENIZER), tmp_path / "run")
    model = load_model(str(tmp_path / "run"), device="cpu")
    assert model.tokenize(TEXT) == trained(TINY).model().tokenize(TEXT)


def test_zip_without_a_run_is_refused(refused: Refused) -> None:
    for data in (b"", b"nonsense", b"PK\x03\x04", b"PK\x05\x06" + bytes(18)):
        refused(data, r"no zip file of a saved run|holds run\.json")


def test_other_names(refused: Refused, classifier_files: Files) -> None:
    rest = {name: data for name, data in classifier_files.items() if name != RUN}
    refused(zipped(rest), "and nothing else")
    for name in ("../run.json", "/etc/run.json", "more.txt"):
        refused(zipped({**classifier_files, name: b"{}"}), "and nothing else")
        refused(zipped({**rest, name: classifier_files[RUN]}), "and nothing else")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_comes_twice(refused: Refused, classifier_files: Files) -> None:
    packed = io.BytesIO(zipped(classifier_files))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr(RUN, b"{}")
    refused(packed.getvalue(), "and nothing else")


def test_too_large_run_is_refused(refused: Refused, classifier_files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(bytes(saved.MAX_PACKED_BYTES + 1), "a saved run has at most 41,943,040")
    for name in saved.FILES:
        monkeypatch.setitem(saved.MAX_BYTES, name, 1000)
        refused(zipped({**classifier_files, name: bytes(1001)}), f"{name} has more than 1,000 bytes")
        monkeypatch.undo()


def test_a_zip_bomb_takes_no_memory(refused: Refused, classifier_files: Files) -> None:
    bomb = zipped({**classifier_files, RUN: bytes(60 * 2**20)})
    assert len(bomb) < 2**18
    tracemalloc.start()
    refused(bomb, r"run\.json has more than 8,388,608 bytes")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40 * 2**20


def test_an_existing_folder_is_left_alone(saved_run: Path, classifier_files: Files) -> None:
    before = {file.name: file.read_bytes() for file in saved_run.iterdir()}
    with pytest.raises(WeightsFileError, match="already exists"):
        saved.unpack(zipped(classifier_files), saved_run)
    assert {file.name: file.read_bytes() for file in saved_run.iterdir()} == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_zip_files(data: st.DataObject, classifier_files: Files, tmp_path_factory: Any) -> None:
    """A few bytes changed, or the end missing: read whole all the same, or refused. Nothing else is ever raised."""
    packed = bytearray(zipped(classifier_files))
    for _ in range(data.draw(st.integers(1, 4))):
        # the directory at the end and the heads of files say the most
        place = data.draw(st.integers(0, len(packed) - 1) | st.integers(len(packed) - 250, len(packed) - 1))
        packed[place] = data.draw(st.integers(0, 255))
    place = tmp_path_factory.mktemp("damaged") / "run"
    cut = data.draw(st.just(len(packed)) | st.integers(0, len(packed)))
    try:
        saved.unpack(bytes(packed[:cut]), place)
    except WeightsFileError:
        assert not list(place.parent.iterdir())
