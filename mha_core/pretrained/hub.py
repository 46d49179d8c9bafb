"""Models of the Hugging Face hub: lookup in the local cache, and download.

Only the size query and `download` use the network, each in a child process; this process stays offline.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import WeightsFileError
from . import offline

ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
REVISION = re.compile(r"[\w][\w./-]{0,199}")
# files to download: configs, tokenizers and safetensors of the model's top folder
FILE_PATTERN = re.compile(
    r"((adapter_)?model(-\d+-of-\d+)?\.safetensors(\.index\.json)?|(((generation|preprocessor|processor|adapter)_)?config|"
    r"tokenizer|tokenizer_config|special_tokens_map|added_tokens|modules|tekken|vocab(-src|-tgt)?)\.json|vocab\.txt|"
    r"merges\.txt|bpe\.codes|\w+\.(spm|tiktoken)|"
    r"(spiece|sentencepiece\.bpe|tokenizer|spm)\.model|README\.md)"
)


def is_id(name: str) -> bool:
    """Return whether a name could be a model id on the hub, "google-t5/t5-small"."""
    return bool(ID.fullmatch(name)) and ".." not in name and "--" not in name


def find(name: str, revision: str | None = None) -> tuple[Path, str]:
    """Return the folder of a model in the cache, and its commit.

    Raises:
        WeightsFileError: it is not there.
    """
    _require_id(name, revision)
    hub = offline.hub()
    try:
        folder = Path(hub.snapshot_download(name, revision=revision, local_files_only=True))
    except Exception as error:  # the package raises many types of error for a missing model
        suffix = f" at revision {revision}" if revision else ""
        raise WeightsFileError(
            f"no model {name!r}{suffix} on this machine; check the spelling, give a folder, or download it first"
        ) from error
    return folder, folder.name


def download_size(name: str, revision: str | None = None) -> int:
    """Ask the hub how many bytes `download` would transfer, without those in the cache.

    Raises:
        WeightsFileError: it is not available, with the reason.
    """
    _require_id(name, revision)
    return int(_child("size", name, revision, lambda done: None)["size"])


def download(
    name: str, revision: str | None = None, on_progress: Callable[[float], object] = lambda done: None
) -> tuple[Path, str]:
    """Download a model from the hub into the cache and return its folder and commit.

    Only the name leaves the machine. The config is downloaded first, so an unsupported family costs no more than that.

    Args:
        name: id on the hub.
        revision: branch, tag or commit; None = main.
        on_progress: called with the share completed, 0 to 1; an error that it raises cancels the download.

    Raises:
        WeightsFileError: it is not available or not supported, with the reason.
    """
    _require_id(name, revision)
    result = _child("get", name, revision, on_progress)
    return Path(result["folder"]), Path(result["folder"]).name


def _require_id(name: str, revision: str | None) -> None:
    if not is_id(name) or (revision is not None and (not REVISION.fullmatch(revision) or ".." in revision)):
        raise WeightsFileError(
            f"{name!r:.120} is not a model name: give 'minilm', a folder, or a name as 'google-t5/t5-small'"
        )


def _child(action: str, name: str, revision: str | None, on_progress: Callable[[float], object]) -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if key != "HF_HUB_OFFLINE"}
    environment["HF_HUB_DISABLE_TELEMETRY"] = "1"
    command = [sys.executable, "-m", "mha_core.pretrained.hub_child", action, name, *([revision] if revision else [])]
    root = str(Path(__file__).parents[2])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH"))))
    last: dict[str, Any] = {"error": f"{name} could not be downloaded: the connection ended early; try again"}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        try:
            for line in child.stdout or ():
                last = json.loads(line)
                if "done" in last:
                    on_progress(last["done"])
        except BaseException:
            child.kill()
            raise
    if "error" in last or "done" in last:
        raise WeightsFileError(str(last.get("error", f"{name} could not be downloaded completely; try again")))
    return last
