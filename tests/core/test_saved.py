"""Saved runs: back bit for bit; and files of strangers, of which none may do more than be refused."""

from __future__ import annotations

import io
import json
import resource
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save

from mha_core import IMPLEMENTATIONS, load_model
from mha_core.errors import HeadlightError, WeightsFileError
from mha_core.models.classifier import Classifier
from mha_core.models.language_model import LanguageModel
from mha_core.positions import NAMES
from mha_core.training import inference, saved, tasks, tokens
from mha_core.training.events import End, Event, History, Start, Step, from_values
from mha_core.training.loop import Training, on_threads
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Labelled, Language, Row
from mha_core.training.tasks.table import LIMITS

from .runs import TINY, TINY_WORDS, equal, state_of, task, trained

TEXTS = ["the dog chased the cat", "the cat was chased by the dog"]
EVERYTHING = replace(
    TINY,
    steps=2,
    evaluations=1,
    position="learned",
    pooling="mean",
    n_layers=2,
    d_feed_forward=8,
    residual=True,
    norm=True,
    mask_padding=False,
)
KINDS = [
    TINY,
    EVERYTHING,
    TINY_WORDS,
    *(replace(TINY, steps=1, evaluations=1, position="none", implementation=name) for name in IMPLEMENTATIONS),
    *(replace(TINY_WORDS, steps=1, evaluations=1, position=name) for name in NAMES),
]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with on_threads(1):
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved run of a classifier."""
    trained(TINY).save(tmp_path / "run")
    return tmp_path / "run"


def logits_of(stack: torch.nn.Module) -> torch.Tensor:
    with torch.no_grad():
        if isinstance(stack, LanguageModel):
            return stack.logits(torch.tensor([[1, 5, 9, 1, 5]]))
        assert isinstance(stack, Classifier)
        ids = torch.tensor([[2, 7, 9, 3], [2, 8, 3, 0]])
        return stack.logits(ids, ids > 0)


@pytest.mark.parametrize(
    "recipe", KINDS, ids=lambda recipe: f"{recipe.task}-{recipe.implementation}-{recipe.position}-{recipe.n_layers}"
)
def test_there_and_back(tmp_path: Path, recipe: Recipe) -> None:
    made = trained(recipe)
    made.save(tmp_path / "run")
    assert saved.read(tmp_path / "run") == made.history
    model = load_model(str(tmp_path / "run"), device="cpu")
    assert equal(dict(model.encoder.state_dict()), state_of(made))
    assert torch.equal(logits_of(model.encoder), logits_of(made.model().encoder))
    # while it trains, torch's own layer takes another way
    torch.testing.assert_close(logits_of(model.encoder), logits_of(made.stack), rtol=0, atol=2e-6)
    assert model.origin == "trained here"
    assert model.history == made.history
    assert model.sizes == made.stack.sizes
    assert not model.encoder.training
    assert not any(parameter.requires_grad for parameter in model.encoder.parameters())
    for text in made.task.questions:
        assert model.tokenize(text) == made.model().tokenize(text)
        assert torch.equal(model.run(text).weights, made.model().run(text).weights)


def test_a_saved_run_is_three_files_and_none_of_them_runs_code(folder: Path) -> None:
    assert sorted(file.name for file in folder.iterdir()) == sorted(saved.FILES)
    assert json.loads((folder / "run.json").read_text("utf-8"))["start"]["recipe"] == TINY.to_json()
    json.loads((folder / "tokenizer.json").read_text("utf-8"))
    assert equal(load((folder / "model.safetensors").read_bytes()), state_of(trained(TINY)))


def test_in_float64(folder: Path) -> None:
    model, plain = load_model(str(folder), device="cpu", dtype=torch.float64), load_model(str(folder), device="cpu")
    logits = inference.logits(model, TEXTS)
    assert logits.dtype == torch.float64
    assert (logits - inference.logits(plain, TEXTS)).abs().max() <= 1e-5


def test_the_facts_name_the_task_and_not_the_path(folder: Path) -> None:
    facts = load_model(str(folder), device="cpu").facts
    assert facts["model"] == "Who did what"
    assert len(facts["sha256"]) == 64
    assert str(folder) not in "".join(facts.values())


def test_a_history_alone(tmp_path: Path) -> None:
    saved.save(tmp_path / "run", trained(TINY).history)
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["run.json"]
    assert saved.read(tmp_path / "run") == replace(trained(TINY).history, snapshots=[])
    with pytest.raises(WeightsFileError, match=r"cannot read tokenizer\.json"):
        load_model(str(tmp_path / "run"))


def test_a_run_that_goes_on_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(HeadlightError, match="when it has ended"):
        saved.save(tmp_path / "run", replace(trained(TINY).history, end=None))
    assert not list(tmp_path.iterdir())


def test_a_disk_that_is_full_leaves_what_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {file.name: file.read_bytes() for file in folder.iterdir()}

    def full(self: Path, text: str, encoding: str) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    for place in (folder, folder.with_name("new")):
        with pytest.raises(OSError, match="No space"):
            trained(TINY_WORDS).save(place)
    assert list(folder.parent.iterdir()) == [folder]
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    monkeypatch.undo()
    trained(TINY_WORDS).save(folder)
    assert saved.read(folder) == trained(TINY_WORDS).history


def test_maps_that_are_too_many_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trained(TINY)
    made.save(tmp_path / "whole")
    saved.save(tmp_path / "bare", made.history)
    bare = (tmp_path / "bare" / "run.json").stat().st_size
    assert bare + 1000 < (tmp_path / "whole" / "run.json").stat().st_size
    monkeypatch.setitem(saved.LARGEST, "run.json", bare + 1000)
    made.save(tmp_path / "run")
    assert saved.read(tmp_path / "run") == replace(made.history, snapshots=[])
    assert load_model(str(tmp_path / "run"), device="cpu").run(TEXTS[0])


def test_steps_that_are_too_many_are_thinned(tmp_path: Path) -> None:
    made, many = trained(TINY).history, 2 * saved.MOST_STEPS + 1
    recipe = replace(TINY, steps=many)
    assert made.start is not None
    assert made.end is not None
    every = [Step(number, 0.5, 0.5) for number in range(1, many + 1)]
    end = replace(made.end, step=many)
    saved.save(tmp_path / "run", replace(made, start=replace(made.start, recipe=recipe), steps=every, end=end))
    found = saved.read(tmp_path / "run")
    assert found.steps == every[::3]
    assert found.step == many


def test_the_largest_table_of_a_visitor_opens_again(tmp_path: Path) -> None:
    names = [f"{number:,} {'x, ' * 80}"[: LIMITS["label"] - 1] + "." for number in range(LIMITS["classes"])]
    rows = "".join(f'text {row},"{name}"\n' for name in names for row in (f"a {name[:3]}", f"b {name[:3]}"))
    table = tasks.from_csv(f"text,label\n{rows}".encode())
    training = Training(replace(TINY, task="csv", steps=1000, evaluations=1000), table)
    for event in training.events(lambda: len(training.history.steps) >= 3):
        assert not isinstance(event, End) or event.reason == "stopped"
    training.save(tmp_path / "run")
    assert max(map(len, table.classes)) == LIMITS["label"]
    assert saved.read(tmp_path / "run") == training.history


def test_weights_that_could_not_be_read_again_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(saved.LARGEST, WEIGHTS, 1000)
    with pytest.raises(HeadlightError, match="at most 1,000 bytes"):
        trained(TINY).save(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_packed_and_unpacked(folder: Path, tmp_path: Path) -> None:
    data = saved.pack(folder)
    history = saved.unpack(data, tmp_path / "deep" / "own")
    assert history == trained(TINY).history
    for name in saved.FILES:
        assert (tmp_path / "deep" / "own" / name).read_bytes() == (folder / name).read_bytes()
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["own"]


# Files of strangers.


Refused = Callable[[bytes, str], None]
RUN, TOKENIZER, WEIGHTS = saved.FILES


def zipped(files: dict[str, bytes], way: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", way) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def files_of(recipe: Recipe, place: Path) -> dict[str, bytes]:
    trained(recipe).save(place)
    return {name: (place / name).read_bytes() for name in saved.FILES}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return files_of(TINY, tmp_path_factory.mktemp("classifier") / "run")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return files_of(TINY_WORDS, tmp_path_factory.mktemp("words") / "run")


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """Unpacks what must be refused with this sentence, and looks that nothing is left of it."""

    def unpack(data: bytes, match: str) -> None:
        with pytest.raises(WeightsFileError, match=match):
            saved.unpack(data, tmp_path / "run")
        assert not list(tmp_path.iterdir())

    return unpack


@pytest.mark.parametrize("data", [b"", b"nonsense", b"PK\x03\x04", b"PK\x05\x06" + bytes(18)], ids=repr)
def test_what_is_no_run_in_a_zip(refused: Refused, data: bytes) -> None:
    refused(data, r"no zip file of a saved run|holds run\.json")


@pytest.mark.parametrize("name", ["../run.json", "/etc/run.json", "run/run.json", "RUN.json", "run.json\\", "more.txt"])
def test_other_names(refused: Refused, classifier: dict[str, bytes], name: str) -> None:
    refused(zipped({**classifier, name: b"{}"}), "and nothing else")
    rest = {own: data for own, data in classifier.items() if own != RUN}
    refused(zipped({**rest, name: classifier[RUN]}), "and nothing else")
    refused(zipped(rest), "and nothing else")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_comes_twice(refused: Refused, classifier: dict[str, bytes]) -> None:
    packed = io.BytesIO(zipped(classifier))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr(RUN, b"{}")
    refused(packed.getvalue(), "and nothing else")


def test_what_is_too_large(refused: Refused, classifier: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    refused(bytes(saved.LARGEST_PACKED + 1), "a saved run has at most 16,777,216")
    for name in saved.FILES:
        monkeypatch.setitem(saved.LARGEST, name, 1000)
        refused(zipped({**classifier, name: bytes(1001)}), f"{name} has more than 1,000 bytes")
        monkeypatch.undo()


def test_a_zip_bomb_takes_no_memory(refused: Refused, classifier: dict[str, bytes]) -> None:
    bomb = zipped({**classifier, RUN: bytes(200 * 2**20)})
    assert len(bomb) < 2**20
    tracemalloc.start()
    refused(bomb, r"run\.json has more than 8,388,608 bytes")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40 * 2**20


def test_weights_beyond_the_bound_are_never_written(
    refused: Refused, classifier: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = Path.write_bytes

    def noted(file: Path, data: bytes) -> int:
        written.append(file.name)
        return write(file, data)

    monkeypatch.setattr(Path, "write_bytes", noted)
    refused(zipped({**classifier, WEIGHTS: bytes(81_000_000)}), r"model\.safetensors has more than 25,165,824 bytes")
    assert WEIGHTS not in written


@pytest.mark.parametrize("way", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_pack(refused: Refused, classifier: dict[str, bytes], way: int) -> None:
    """Their dictionaries may ask for gigabytes."""
    refused(zipped(classifier, way), "and nothing else")


def test_an_existing_folder_is_left_alone(folder: Path, classifier: dict[str, bytes]) -> None:
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(WeightsFileError, match="there already"):
        saved.unpack(zipped(classifier), folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_zip_files(data: st.DataObject, classifier: dict[str, bytes], tmp_path_factory: Any) -> None:
    """A few bytes changed, or the end missing: read whole all the same, or refused. Nothing else is ever raised."""
    packed = bytearray(zipped(classifier))
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


def edited(files: dict[str, bytes], change: Callable[[dict[str, Any]], object], name: str = RUN) -> bytes:
    found = json.loads(files[name])
    change(found)
    return zipped({**files, name: json.dumps(found).encode()})


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[]", b"3", b"\xff\xfe", b"[" * 1_000_000, b'{"a":' * 100_000, b'{"format": "x"}']
)
@pytest.mark.parametrize("name", [RUN, TOKENIZER])
def test_damaged_json(refused: Refused, classifier: dict[str, bytes], name: str, text: bytes) -> None:
    refused(zipped({**classifier, name: text}), r"not the record of a training run|cannot read tokenizer\.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.pop("end"),
        lambda run: run.update(format="headlight run 2"),
        lambda run: run.update(start=[]),
        lambda run: run.update(steps={}, evaluations=3),
        lambda run: run["steps"].append([1, 2]),
        lambda run: run["steps"].append([1, None, 2.0]),
        lambda run: run["steps"][0].__setitem__(1, float("nan")),
        lambda run: run["steps"].extend([[1, 0.5, 0.5]] * 9),
        lambda run: run["evaluations"].extend(run["evaluations"] * 2),
        lambda run: run["evaluations"][0].update(kind="Start", **run["start"]),
        lambda run: run["evaluations"][0].update(test_accuracy=10**400),
        lambda run: run["snapshots"][0].update(shape=[1, 2, 3, 4]),
        lambda run: run["snapshots"][0].update(maps="AAAA"),
        lambda run: run["start"].update(vocabulary=-1),
        lambda run: run["start"].update(classes=[]),
        lambda run: run["start"].update(classes=["a"] * 100_000),
        lambda run: run["start"].update(title="\ud800"),
        lambda run: run["start"]["recipe"].update(d_model=10**6),
        lambda run: run["start"]["recipe"].update(d_model=1024, n_layers=8, vocabulary=50_000, d_feed_forward=4096),
        lambda run: run["start"]["recipe"].update(max_len=10**9),
        lambda run: run["start"]["recipe"].update(implementation="what"),
        lambda run: run["start"]["recipe"].update(position="what"),
        lambda run: run["start"]["recipe"].update(position="learned"),
        lambda run: run["start"]["recipe"].update(position="shaw", d_model=2, n_heads=2),
        lambda run: run["start"]["recipe"].update(pooling="max"),
        lambda run: run["start"]["recipe"].update(residual=1),
        lambda run: run["start"]["recipe"].update(norm=True),
        lambda run: run["end"].update(predicted=[10] * 360),
        lambda run: run["end"].update(kind="Step", loss=1.0),
        lambda run: run["end"].update(reason="<script>"),
        lambda run: run["end"].update(step=-1),
    ],
)
def test_foreign_histories(refused: Refused, classifier: dict[str, bytes], change: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(edited(classifier, change), rf"{RUN} is not the record|{WEIGHTS} does not hold|says another number")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # KB: nothing is made that large


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run["start"].update(notes=["x"] * 101), "101 notes in its start, at most 100"),
        (lambda run: run["start"].update(classes=["x"] * 51), "51 classes in its start, at most 50"),
        (lambda run: run["start"].update(probes=[["x"]] * 101), "101 probes in its start, at most 100"),
        (lambda run: run["start"].update(probes=[["x"] * 1025]), "1,025 tokens in a probe, at most 1,024"),
        (lambda run: run["start"].update(versions={str(n): "x" for n in range(101)}), "101 versions in its start"),
        (lambda run: run["start"].update(title="x" * 7_000_000), "7,000,000 characters in one of its texts"),
        (lambda run: run["start"].update(notes=["x" * 301]), "301 characters in one of its texts, at most 300"),
        (lambda run: run["start"].update(probes=[["x" * 301]]), "301 characters in one of its texts, at most 300"),
        (lambda run: run["start"].update(versions={"x" * 301: ""}), "301 characters in one of its texts"),
        (lambda run: run["start"].update(machine="x" * 301), "301 characters in one of its texts"),
        (lambda run: run["start"].update(fingerprint="x" * 301), "301 characters in one of its texts"),
        (lambda run: run["start"].update(classes=["x" * 201] * 10), "201 characters in the name of a class, at most"),
        (lambda run: run["steps"].extend([[1, 0.5, 0.5]]), "9 steps, at most 8"),
        (lambda run: run["evaluations"].extend(run["evaluations"]), "6 evaluations, at most 4"),
        (lambda run: run["snapshots"].extend(run["snapshots"] * 9), "60 snapshots, at most 8"),
        (lambda run: run["end"].update(predicted=[0] * 361), "361 predicted classes, at most 360"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_what_is_listed_is_counted_before_it_is_read(
    refused: Refused, classifier: dict[str, bytes], change: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Event] = []

    def noted(values: dict[str, Any]) -> Event:
        made.append(from_values(values))
        return made[-1]

    monkeypatch.setattr(saved, "from_values", noted)
    refused(edited(classifier, change), said)
    assert {type(event) for event in made} <= {Start}, "nothing of a list was looked at"


def test_a_hundred_thousand_steps_are_refused_by_their_number(refused: Refused, classifier: dict[str, bytes]) -> None:
    def change(run: dict[str, Any]) -> None:
        run["start"]["recipe"]["steps"] = 100_000
        run["steps"] = [[1, 0, 0]] * number

    number = 50_000
    refused(edited(classifier, change), "50,000 steps, at most 12,000 are read")
    number = 100_000
    refused(edited(classifier, change), r"run\.json has up to 300,\d{3} values, at most 200,000 are read")


@pytest.mark.parametrize("name", [RUN, TOKENIZER])
def test_values_are_counted_before_one_is_made(
    refused: Refused, classifier: dict[str, bytes], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    loads = json.loads
    data = zipped({**classifier, name: b'{"notes": [' + b'"",' * 1_500_000 + b'""]}'})

    def noted(text: str, **options: Any) -> Any:
        read.append(len(text))
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", noted)
    refused(data, rf"{name} has up to 1,500,001 values, at most {saved.MOST_VALUES[name]:,} are read")
    assert max(read, default=0) < 1_000_000


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"implementation": "naive", "d_model": 1024, "n_heads": 1024, "n_layers": 8}, "n_heads=1024: choose 1 to 64"),
        ({"device": "x" * 1_000_000}, "device is 'xxxx"),
    ],
    ids=["heads", "device"],
)
def test_a_recipe_that_would_keep_the_server_busy(
    refused: Refused, classifier: dict[str, bytes], change: dict[str, Any], said: str
) -> None:
    refused(edited(classifier, lambda run: run["start"]["recipe"].update(change)), said)


def test_a_kind_that_a_file_claims_does_not_count(classifier: dict[str, bytes], tmp_path: Path) -> None:
    data = edited(classifier, lambda run: run["start"].update(kind="End"))
    assert saved.unpack(data, tmp_path / "run") == trained(TINY).history


@pytest.mark.parametrize("longest", [-5, 0, 10**9])
def test_a_language_model_of_an_impossible_length(refused: Refused, words: dict[str, bytes], longest: int) -> None:
    refused(edited(words, lambda run: run["start"].update(longest=longest)), "the start does not fit the run")


def tensors(change: Callable[[dict[str, torch.Tensor]], object], files: dict[str, bytes]) -> bytes:
    found = load(files[WEIGHTS])
    change(found)
    return zipped({**files, WEIGHTS: save(found)})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda t: t.clear(), "does not hold the tensors"),
        (lambda t: t.pop("out.bias"), "does not hold the tensors"),
        (lambda t: t.update(more=torch.zeros(1)), "does not hold the tensors"),
        (lambda t: t.update({"out.bias": torch.zeros(11)}), "does not hold the tensors"),
        (lambda t: t.update({"out.bias": torch.zeros(1)}), "does not hold the tensors"),
        (lambda t: t.update({"out.bias": t["out.bias"].half()}), "something else than finite float32"),
        (lambda t: t.update({"out.bias": t["out.bias"].double()}), "something else than finite float32"),
        (lambda t: t.update({"out.bias": t["out.bias"].to(torch.float8_e4m3fn)}), "float32|does not hold"),
        (lambda t: t.update({"out.bias": t["out.bias"].int()}), "float32|does not hold"),
        (lambda t: t["out.bias"].fill_(float("nan")), "something else than finite float32"),
        (lambda t: t["words.weight"][3].fill_(float("inf")), "something else than finite float32"),
    ],
)
def test_foreign_tensors(refused: Refused, classifier: dict[str, bytes], change: Any, match: str) -> None:
    refused(tensors(change, classifier), match)


@pytest.mark.parametrize("data", [b"", b"\xff" * 8, bytes(8), (2**40).to_bytes(8, "little") + b"{}", b"\x80\x04N."])
def test_what_is_no_safetensors_file(refused: Refused, classifier: dict[str, bytes], data: bytes) -> None:
    refused(zipped({**classifier, WEIGHTS: data}), "does not hold the tensors of this model")


@pytest.mark.parametrize(
    ("many", "said"), [(3_000, r"names or shapes are not those that run\.json asks for"), (100_000, "at most 524,288")]
)
def test_names_of_tensors_are_compared_before_one_is_read(
    refused: Refused, classifier: dict[str, bytes], many: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {f"t{number}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for number in range(many)}
    header = json.dumps(names).encode()
    data = zipped({**classifier, WEIGHTS: len(header).to_bytes(8, "little") + header})
    read: list[bytes] = []
    monkeypatch.setattr("safetensors.torch.load", read.append)
    refused(data, f"does not hold the tensors of this model .*{said}")
    assert not read


@pytest.mark.parametrize("header", [b"[]", b"{", b"3", b'{"out.bias": 3}', b'{"out.bias": {}}', b"[" * 100_000])
def test_a_header_that_is_none(refused: Refused, classifier: dict[str, bytes], header: bytes) -> None:
    data = len(header).to_bytes(8, "little") + header
    refused(zipped({**classifier, WEIGHTS: data}), "does not hold the tensors of this model")


def test_the_weights_of_another_run(refused: Refused, classifier: dict[str, bytes], words: dict[str, bytes]) -> None:
    refused(zipped({**classifier, WEIGHTS: words[WEIGHTS]}), "does not hold the tensors of this model")
    refused(zipped({**classifier, TOKENIZER: words[TOKENIZER]}), r"tokenizer\.json has 33 tokens, run\.json says")
    refused(zipped({**classifier, RUN: words[RUN]}), r"tokenizer\.json has 60 tokens, run\.json says")


def _vocabulary(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda found: change(found["model"]["vocab"])


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.pop("model"),
        lambda found: found["model"].update(type="BPE"),
        lambda found: found.update(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+$"}}),
        lambda found: found.update(normalizer=None),
        _vocabulary(lambda vocab: vocab.update(the=10**6)),
        _vocabulary(lambda vocab: vocab.update(the=-1)),
        _vocabulary(lambda vocab: vocab.update(the=2.5)),
        _vocabulary(lambda vocab: vocab.update(the="1")),
        _vocabulary(lambda vocab: vocab.update({"[PAD]": 1, "[UNK]": 0})),
        _vocabulary(lambda vocab: vocab.update({"\ud800": vocab.pop("d")})),
        _vocabulary(lambda vocab: vocab.clear()),
    ],
)
def test_foreign_tokenizers(refused: Refused, classifier: dict[str, bytes], change: Any) -> None:
    refused(edited(classifier, change, TOKENIZER), r"cannot read tokenizer\.json: this is no tokenizer")


def test_only_the_vocabulary_of_a_tokenizer_counts(classifier: dict[str, bytes], tmp_path: Path) -> None:
    """An id beyond the embeddings would end a GPU's work for all visitors; an expression could take for ever."""

    def change(found: dict[str, Any]) -> None:
        found["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [10**6]
        found["added_tokens"].append({**found["added_tokens"][0], "id": 10**6, "content": "dog"})
        found.update(truncation={"max_length": 1, "strategy": "LongestFirst", "stride": 0, "direction": "Right"})

    saved.unpack(edited(classifier, change, TOKENIZER), tmp_path / "run")
    model = load_model(str(tmp_path / "run"), device="cpu")
    assert model.tokenize(TEXTS[0]) == trained(TINY).model().tokenize(TEXTS[0])


@pytest.mark.parametrize("text", ["One two, ümläut", "one\ntwo", "zebra"])
@pytest.mark.parametrize("kind", ["cased", "uncased", "words", "characters"])
def test_every_tokenizer_there_and_back(kind: str, text: str) -> None:
    rows = (Row("One two three ümläut", 0), Row("two, one", 1))
    sources: dict[str, Labelled | Language] = {
        "cased": Labelled("csv", "Own", 1, ("a", "b"), rows, rows, (), (), cased=True),
        "uncased": Labelled("csv", "Own", 1, ("a", "b"), rows, rows, (), ()),
        "words": task("words"),
        "characters": tasks.from_text("One two\nthree, ümläut. " * 20),
    }
    made = tokens.of(sources[kind])
    again = tokens.of_file(made.to_str())
    assert again.to_str() == made.to_str()
    assert again.encode(text).ids == made.encode(text).ids
    assert len(made.encode(text).ids) > 0


def test_files_that_are_not_there(folder: Path) -> None:
    for name in saved.FILES[1:]:
        data = (folder / name).read_bytes()
        (folder / name).unlink()
        with pytest.raises(WeightsFileError, match=f"cannot read {name}: No such file"):
            load_model(str(folder))
        (folder / name).write_bytes(data)
    (folder / RUN).unlink()
    with pytest.raises(WeightsFileError):
        saved.read(folder)


def test_an_empty_history_of_a_stopped_run(tmp_path: Path) -> None:
    start = trained(TINY).history.start
    assert isinstance(start, Start)
    history = History.of([start, End("stopped", 0, 0.0)])
    saved.save(tmp_path / "run", history)
    assert saved.read(tmp_path / "run") == history
    assert task("who").title == start.title
