"""Models of this machine: their names in links, what is refused, what a picture of them is, and what the wire says."""

from __future__ import annotations

import json
import logging
import os
import re
import runpy
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import huggingface_hub.constants
import numpy as np
import pytest
import torch
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from headlight.api.machine import PATH, machine_app
from headlight.api.routes import DataApi
from headlight.picture import pictures
from headlight.picture.link_query import LinkQuery, UnusableText
from headlight.picture.settings import Settings
from headlight.queue.single_flight import clear_caches
from headlight.registry import MINILM, available, foreign, get_source, models
from headlight.registry.foreign import Foreign
from headlight.server import public
from headlight.server.logs import RedactingRecordFactory
from headlight.ui.web import API
from mha_core.errors import HeadlightError
from mha_core.measure import rounding
from mha_core.measure.channels import Channels
from mha_core.pretrained import hub
from mha_core.pretrained.hf_model import HfModel
from pages.explore import handlers as explore
from pages.explore import pair_channels
from pages.model_map.message import DEPTHS
from tests import hub_cache
from tests.closeness import within_rounding
from tests.hub_cache import REVISION, name_of

from .conftest import answer, answers, picture_of, unpacked

TEXT = "the quick brown fox sat on the mat"
KINDS = ("distilbert", "gpt2", "t5", "gpt_oss")
ALL = [name_of("gpt_oss"), name_of("t5", "cross")]  # one of each way to attend
HOSTILE = [
    "hf:", "hf:a/b@12345", "hf:a/b@xyzxyzx", "hf:../../etc@0123456", "hf:a--b@0123456", "hf:/etc/passwd@0123456",
    "hf:a/b@0123456/../..", "hf:a/b@0123456\n", "hf:a\x00b@0123456", f"hf:{'a' * 300}@0123456", "folder:/etc",
    f"folder:{'0' * 24}", f"folder:{'0' * 24}/..", "hf:~cross", "minilm~foo",
]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hub_cache.fill(tmp_path_factory.mktemp("hf"), *KINDS)


@pytest.fixture(autouse=True)
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub_cache.sit_at(home, monkeypatch)


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(Starlette(routes=[Mount(PATH, machine_app)]), base_url="http://127.0.0.1") as found:
        yield found


def query(model: str, **more: Any) -> bytes:
    return urlencode({"model": model, "s": TEXT, **more}, doseq=True).encode()


def picture(model: str, **more: Any) -> dict[str, Any]:
    return picture_of("maps", model=model, s=TEXT, **more)[0]


def test_no_such_name_is_there_or_costs_more_than_a_sentence() -> None:
    for name in HOSTILE:
        assert not get_source(name).exists, name
        link = LinkQuery(query(name))
        assert link.name == MINILM, name
        assert (link.unusable, len(link.warnings)) == ({"model": []}, 1), name
    for name in ("tiny/gpt3", "../x", "", f"tiny/gpt2@{'f' * 40}"):  # of the command
        with pytest.raises(HeadlightError):
            foreign.offer(name)


def test_a_name_has_a_kind_of_attention_behind_it() -> None:
    assert get_source(name_of("t5", "cross")).title == "tiny/t5, from decoder to encoder"
    link = LinkQuery(query(name_of("gpt2", "cross")))
    settings, _ = link.fitted_settings()
    assert (settings.model, link.unusable) == (name_of("gpt2"), {"model": [name_of("gpt2")]})
    with pytest.raises(HeadlightError, match="choose MiniLM in the bar"):
        answer("steps", query(name_of("gpt2")))


def test_a_decoder_of_transformers_generates_with_its_own_cache() -> None:
    header, floats = picture_of("cache", model=name_of("gpt2"), s=TEXT, view="cache..3")
    n, (layers, heads, kv_heads, d, _) = len(header["tokens"]), header["sizes"]
    assert (layers, heads, kv_heads, n) == (2, 4, 4, len(TEXT.split()) + 12)
    assert len(floats) == n**2 + 2 * n * d, "the map, then keys and values"
    assert (header["shift"], len(header["reuse"]), header["prompt"]) == (3, 2, n - 12)
    other, floats = picture_of("cache", model=name_of("gpt_oss"), s=TEXT)
    assert "keeps another kind of cache" in other["notes"][-1]
    assert len(floats) == n**2


def rounding_of(own: Channels) -> float:
    """d products of float32, their sum, and three more operations; in any order of the sum."""
    size = float(own.products.abs().sum()) * own.scale + abs(own.bias)
    return (len(own.q) + 4) * torch.finfo(torch.float32).eps * size / own.temperature


@pytest.mark.parametrize("model", ALL)
def test_channels_of_a_pair_make_its_score(model: str) -> None:
    """They make it alone, but for gpt_oss, which takes the row's largest score off all of them."""
    settings = Settings(TEXT, model=model)
    run = pictures.picture(settings).run
    added, bound = {}, 0.0
    for row, key in ((1, 0), (2, 1), (2, 2)):
        head, layer = 3, 1
        at = f"{layer}.{head}.{row}.{key}"
        found = pair_channels.layer_record(settings, layer)
        own = found.channels(settings, head, row, key)
        added[row, key], bound = own.bias, bound + rounding_of(own)
        assert abs(own.total - own.score) <= rounding_of(own)
        said, _ = picture_of("channels", model=model, s=TEXT, at=at)
        assert (said["query"], said["keyToken"]) == (run.tokens[row], (run.key_tokens or run.tokens)[key])
        assert said["strong"] == own.strongest(0.8)
        # the row again, from its scores: what lies beside them takes its part of it
        scores = torch.tensor([found.channels(settings, head, row, one).score for one in range(key + 1)])
        weights, n = run.weights[layer, head, row, : key + 1], run.weights.shape[-1]
        within_rounding(weights.double() / weights.sum(), scores.double().softmax(0), rounding.sum_bound(n, n))
    if model == name_of("gpt_oss"):
        assert abs(added[2, 1] - added[2, 2]) <= bound
    else:
        assert set(added.values()) == {0.0}


def test_cached_models_are_listed_with_reasons(tmp_path: Path, home: Path, monkeypatch: Any) -> None:
    found = {one.title: one for one in foreign.list_cached()}
    assert sorted(found) == sorted(f"tiny/{kind}" for kind in KINDS)
    assert found["tiny/gpt2"].description.startswith("gpt2, 2 × 4 heads, ")
    assert not any(one.why_not for one in found.values())
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    snapshots = {kind: tmp_path / "hub" / f"models--tiny--{kind}" / "snapshots" / REVISION for kind in KINDS}
    config = json.loads((snapshots["gpt2"] / "config.json").read_text("utf-8"))
    (snapshots["gpt2"] / "config.json").write_text(
        json.dumps(config | {"model_type": "x", "auto_map": {"AutoModel": "x.Y"}}), "utf-8"
    )
    (snapshots["t5"] / "model.safetensors").rename(snapshots["t5"] / "pytorch_model.bin")
    (snapshots["gpt_oss"] / "config.json").write_text("{", "utf-8")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    why = {one.title: one.why_not for one in foreign.list_cached()}
    assert "auto_map" in why["tiny/gpt2"]
    assert "pickle" in why["tiny/t5"]
    assert "config.json" in why["tiny/gpt_oss"]
    for kind in ("gpt2", "t5", "gpt_oss"):  # a link to it says so in one sentence
        kept: Any = Foreign.load_shared
        kept.cache.clear()
        with pytest.raises(HeadlightError):
            explore.maps(query(name_of(kind)))


@pytest.mark.parametrize("model", ALL)
def test_a_picture_is_the_models_own_pass(model: str) -> None:
    run = pictures.picture(Settings(TEXT, model=model)).run
    (said, floats), (maps, values) = map(unpacked, answers("maps", query(model).decode()))
    assert np.array_equal(np.frombuffer(floats, "<f4"), run.weights[said["layer"], said["head"]].numpy().ravel())
    wanted = (run.weights * 255).round().byte().numpy()
    assert np.array_equal(np.frombuffer(values, np.uint8).reshape(wanted.shape), wanted)
    assert (maps["tokens"], maps["columns"]) == (run.tokens, run.key_tokens)
    assert run.weights.shape[2:] == (len(run.tokens), len(run.key_tokens or run.tokens))
    assert said["groups"] == (["encoder", "decoder", "cross"] if "t5" in model else [said["group"]])
    assert (said["unusable"], "steps" in said["fixed"]) == ({}, True)
    stages = picture(model, temp="1", topk="3", topp="0")["stages"]
    assert stages is None if "t5" in model else stages["counts"][2:] == [3, 1]


@pytest.mark.parametrize("variables", [
    {}, {"HF_HOME": "~/a b"}, {"HF_HOME": "$PLACE/hf"}, {"XDG_CACHE_HOME": "/x"}, {"HF_HUB_CACHE": "~/$PLACE"},
    {"HUGGINGFACE_HUB_CACHE": "/old/ü", "HF_HOME": "/h"}, {"HUGGINGFACE_HUB_CACHE": "/old", "HF_HUB_CACHE": "/new"},
])  # fmt: skip
def test_the_cache_is_where_its_own_package_finds_it(variables: dict[str, str], monkeypatch: Any) -> None:
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"PLACE": "place", **variables}.items():
        monkeypatch.setenv(name, value)
    own = runpy.run_path(str(huggingface_hub.constants.__file__))  # which it reads once, when it is imported
    assert foreign.cache_folder() == Path(own["HF_HUB_CACHE"])


def test_revisions_of_the_cache_and_those_without_files(home: Path, tmp_path: Path, monkeypatch: Any) -> None:
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    repo = tmp_path / "hub" / "models--tiny--gpt2"
    other = shutil.copytree(repo / "snapshots" / REVISION, repo / "snapshots" / f"01{'f' * 38}")
    os.utime(other)  # the newest one
    (repo / "refs" / "v1").write_text(other.name, "ascii")
    (repo / "refs" / "gone").write_text("e" * 40, "ascii")
    assert foreign.find_cached("tiny/gpt2").name == name_of("gpt2")
    for revision in ("v1", "01f", other.name):
        found = foreign.find_cached("tiny/gpt2", revision)
        assert found.name.endswith(f"@{other.name[:12]}")
        assert found.description.endswith("not the revision main")
    (other / "model.safetensors").unlink()
    (other / "model.safetensors").symlink_to("../../blobs/none")
    (repo / "snapshots" / REVISION / "config.json").unlink()
    (repo / "snapshots" / REVISION / "config.json").symlink_to("../../blobs/none")
    for revision, why in (
        ("01", "2 revisions of tiny/gpt2 begin with “01”"), ("v1", "model.safetensors: it is missing"),
        ("gone", "at revision gone is not in"), ("../v1", "is not in"), ("", "config.json: it is missing"),
    ):  # fmt: skip
        with pytest.raises(HeadlightError, match=re.escape(why)):
            foreign.find_cached("tiny/gpt2", revision)
    assert len(foreign.list_cached()) == len(KINDS)


def test_a_folder_that_changes_has_another_name_and_its_old_one_is_not_read(home: Path, tmp_path: Path) -> None:
    """Its weights are mapped, so that a pass after a file was cut short would end the process."""
    place = shutil.copytree(home / "hub" / "models--tiny--gpt2" / "snapshots" / REVISION, tmp_path / "a\nb")
    first = foreign.open_folder(str(place))
    assert (first.title, picture(first.name)["group"]) == ("a·b", "decoder")
    kept = (place / "model.safetensors").read_bytes()
    os.truncate(place / "model.safetensors", 100)
    for route in ("maps", "focus"):
        with pytest.raises(UnusableText, match=r"The files of a·b have changed since it was opened: .*\.") as refused:
            answer(route, query(first.name, mask="causal"))
        assert refused.value.key == "model"
    with pytest.raises(HeadlightError, match="header"):
        foreign.open_folder(str(place))
    (place / "model.safetensors").write_bytes(kept)
    second = foreign.open_folder(str(place))
    assert second.name != first.name
    assert picture(second.name)["group"] == "decoder"


@pytest.fixture
def server_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The log as the server writes it, whatever an earlier test left."""
    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(RedactingRecordFactory())
    yield caplog
    logging.setLogRecordFactory(before)


@pytest.mark.parametrize(("place", "name"), [(foreign, "load_model"), (HfModel, "run")])
def test_an_error_of_a_library_is_a_sentence_and_is_logged(
    place: object, name: str, monkeypatch: pytest.MonkeyPatch, server_log: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("two\nlines of the user")

    clear_caches()
    monkeypatch.setattr(place, name, fails)
    client = TestClient(DataApi(lambda: {"focus": explore.focus}), base_url="http://127.0.0.1")
    refused = client.get(f"{API}/focus?{query(name_of('gpt2')).decode()}")
    assert (refused.status_code, refused.headers["Headlight-Key"], refused.text.count("\n")) == (422, "model", 0)
    assert "(RuntimeError)" in refused.text
    line = fails.__code__.co_firstlineno + 1
    assert f"RuntimeError in test_foreign.py:{line}" in server_log.text
    assert "the user" not in server_log.text + refused.text


def test_unsupported_controls_are_named_and_disabled() -> None:
    said = picture(name_of("t5", "cross"), mask="causal", unheard="0", t="0.5")
    assert said["fixed"]["mask"] == said["fixed"]["unheard"] == models.TWO_TEXTS
    assert set(said["unusable"]) == {"mask", "unheard"}
    assert all(models.TWO_TEXTS in sentence for sentence in said["warnings"])
    assert said["effect"]["cell"] is not None, "the temperature still acts"
    assert any("the tokens that the model generates" in notice for notice in said["notices"])


@pytest.mark.parametrize("model", ALL)
def test_explore_compare_and_masks_answer_whatever_is_changed(model: str) -> None:
    changed = {"mask": "window", "t": "0.5", "off": ["L0 H1"], "look": "values_surprise_mean_random_all", "t2": "2"}
    for route in ("maps", "focus", "pair", "initial", "masks", "entry", "outcomes", "shuffle", "architecture"):
        for more in ({}, changed):
            if route != "shuffle" or "~" not in model:
                assert answer(route, query(model, **more)), route
    for box in picture_of("architecture", model=model, s=TEXT)[0]["boxes"]:
        for depth in DEPTHS:
            assert answer("architecture", query(model, box=box["name"], depth=depth)), (box["name"], depth)


def test_folder_name_does_not_reveal_its_path(home: Path, client: TestClient, tmp_path: Path) -> None:
    place = home / "hub" / "models--tiny--gpt2" / "snapshots" / REVISION
    found = client.get(f"{PATH}/folder", params={"path": str(place)}).json()
    assert found["name"] == foreign.open_folder(str(place)).name
    assert str(home) not in json.dumps(found)
    assert picture(found["name"])["group"] == "decoder"
    for path, why in (
        (tmp_path, "cannot read config.json"),
        (tmp_path / "none", "not a folder"),
        ("\x00", "not a folder"),
    ):
        refused = client.get(f"{PATH}/folder", params={"path": str(path)})
        assert (refused.status_code, why in refused.text) == (422, True), path


def test_a_server_for_others_has_none_of_it(client: TestClient, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(public.VARIABLE, "1")
    assert not get_source(name_of("gpt2")).exists
    for question in ("cached", "folder?path=/", "size?id=a/b"):
        assert client.get(f"{PATH}/{question}").status_code == 422
    assert "error" in client.get(f"{PATH}/download?id=a/b").json()
    with pytest.raises(HeadlightError, match="public server"):
        foreign.offer(str(home))


def test_only_headlights_own_pages_ask_the_machine(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get(f"{PATH}/cached", headers={"Origin": "http://elsewhere.example"}).status_code == 403
    assert client.get(f"{PATH}/cached", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert (client.post(f"{PATH}/cached").status_code, client.get(f"{PATH}/nothing").status_code) == (403, 404)
    assert len(client.get(f"{PATH}/cached").json()) == len(KINDS)
    monkeypatch.setattr(public, "ASKS_HUB", False)
    assert "HF_HUB_OFFLINE is set" in client.get(f"{PATH}/size?id=a/b").text


def test_a_download_says_how_far_it_is_and_why_it_fails(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise HeadlightError("tiny/gpt2 is gated: accept its terms on huggingface.co")

    def download(name: str, revision: str | None, on_progress: Callable[[float], object]) -> tuple[Path, str]:
        for done in (0.25, 1.0):
            on_progress(done)
        return Path(), REVISION

    def fetched() -> list[dict[str, Any]]:
        answer = client.get(f"{PATH}/download?id=tiny/gpt2")
        return [json.loads(line) for line in answer.text.splitlines()]

    monkeypatch.setattr(hub, "download", fails)
    assert fetched() == [{"error": "Tiny/gpt2 is gated: accept its terms on huggingface.co."}]
    monkeypatch.setattr(hub, "download", download)
    *going, last = fetched()
    assert (going, last["name"]) == ([{"done": 0.25}, {"done": 1.0}], name_of("gpt2"))


def test_models_of_the_command_are_listed(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(foreign, "offered_names", set())
    assert foreign.offer("tiny/t5").name == name_of("t5")
    assert foreign.offer(f"tiny/gpt2@{REVISION[:8]}").name == name_of("gpt2")
    listed = available()
    assert listed[name_of("t5")][:2] == ("tiny/t5", "On this computer")
    monkeypatch.setattr(public, "is_local", lambda: False)  # others may look at these too, and at no others
    assert get_source(name_of("t5")).exists
    assert not get_source(name_of("distilbert")).exists


def test_model_with_another_vocabulary_opens_on_words_that_it_knows() -> None:
    source = get_source(name_of("gpt2"))
    model = source.load("auto")
    (sentence,) = source.presets
    assert {"[UNK]", "<unk>"}.isdisjoint(model.encode(sentence)[0])
    header, _ = picture_of("maps", model=source.name)
    assert (header["sentence"], header["origin"]) == (sentence, "loaded")
    assert len(get_source(MINILM).presets) > 1
