"""Child process that asks the hub: ``python -m mha_core.pretrained.hub_child size|get NAME [REVISION]``.

It prints one JSON object per line: {"done": share} as progress, and at the end {"size": bytes}, {"folder": path} or
{"error": …}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ..errors import HeadlightError
from . import families, folders
from .hub import FILE_PATTERN


def main(action: str, name: str, revision: str | None = None) -> None:
    """Run the action and print its result."""
    try:
        files = list_files(name, revision)
        pending_bytes = sum(file.file_size for file in files if file.will_download)
        emit({"size": pending_bytes} if action == "size" else download(name, files, max(1, pending_bytes)))
    except HeadlightError as error:
        emit({"error": str(error)})
    except Exception as error:  # network, hub and library raise errors of many types
        emit({"error": reason(name, revision, error)})


def emit(step: dict[str, Any]) -> None:
    """Print a message as a line of JSON."""
    print(json.dumps(step), flush=True)


def reason(name: str, revision: str | None, error: BaseException) -> str:
    """Return an error message with a remedy; the library may hide the error in its cause."""
    match type(error).__name__:
        case "GatedRepoError":
            return (
                f"{name} is gated: accept its terms on huggingface.co and log in with `hf auth login`, then try again"
            )
        case "RepositoryNotFoundError":
            return f"the hub has no model {name!r}, or it is private; check the spelling"
        case "RevisionNotFoundError" | "RevisionResolutionError":
            return f"{name} has no revision {revision!r}; choose main, a tag or a commit"
        case last if error.__cause__ is None:
            return f"{name} could not be downloaded from the hub ({last}); check the network and try again"
    return reason(name, revision, error.__cause__)


def list_files(name: str, revision: str | None) -> list[Any]:
    """Return the revision's files to download, with their sizes."""
    from huggingface_hub import snapshot_download

    files: Any = snapshot_download(name, revision=revision, dry_run=True)
    return [file for file in files if FILE_PATTERN.fullmatch(file.filename)]


def download(name: str, files: list[Any], total: int) -> dict[str, Any]:
    """Download the files, the config first."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils.tqdm import tqdm

    if not any(file.filename == folders.CONFIG for file in files):
        raise HeadlightError(f"{name} has no config.json; it is not a transformers model")
    done = 0

    class Bar(tqdm):
        def update(self, n: float | None = 1) -> Any:
            nonlocal done
            done += int(n or 0)
            emit({"done": min(1.0, done / total)})
            return None

    folder = Path()
    for file in sorted(files, key=lambda file: (file.filename != folders.CONFIG, file.filename)):
        folder = Path(hf_hub_download(name, file.filename, revision=file.commit_hash, tqdm_class=Bar)).parent
        if file.filename == folders.CONFIG:
            families.family(folders.describe(folder))
            if not any(other.filename.endswith(".safetensors") for other in files):
                raise HeadlightError(f"{name} has weights only as pickle, which could run code; choose another model")
    return {"folder": str(folder)}


if __name__ == "__main__":
    main(*sys.argv[1:])
