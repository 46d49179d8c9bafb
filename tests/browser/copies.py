"""Copies of a server behind a real nginx, configured by deploy/nginx.conf; where there is no nginx, behind none."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .server import ROOT

__all__ = ["CONFIG", "NGINX", "behind_nginx"]

CONFIG = ROOT / "deploy" / "nginx.conf"
NGINX = shutil.which("nginx", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))
START_SECONDS = 60
# What stands in the image around our part, its logs too: they are added to whatever does not replace them.
MAIN = """
daemon off;
{user}
error_log {folder}/log_of_image notice;
pid {folder}/pid;
events {{ worker_connections 1024; }}
http {{
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  log_format main '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer"';
  access_log {folder}/log_of_image main;
  include {folder}/headlight.conf;
}}
"""


def filled_in(folder: Path, port: int, copies: Sequence[int]) -> str:
    """Our part for copies at these ports, itself at that one."""
    servers = " ".join(f"server 127.0.0.1:{copy} max_fails=1 fail_timeout=2s;" for copy in copies)
    filled = {
        "${COPIES}": servers, "${HEADLIGHT_NAME}": "127.0.0.1", "${NGINX_LOCAL_RESOLVERS}": "127.0.0.1",
        "listen 8080": f"listen 127.0.0.1:{port}", "/var/cache/nginx": str(folder),
        "/dev/stdout": f"{folder}/log", "/dev/stderr": f"{folder}/log",
    }  # fmt: skip
    text = CONFIG.read_text("utf-8")
    for old, new in filled.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


@contextmanager
def behind_nginx(folder: Path, copies: Sequence[int]) -> Iterator[str]:
    """The address of an nginx in front of copies at these ports; `folder`/log is its log, log_of_image that of MAIN."""
    assert NGINX
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    (folder / "headlight.conf").write_text(filled_in(folder, port, copies), "utf-8")
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder, user="user root;" if is_root else ""), "utf-8")
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [NGINX, "-p", folder, "-e", folder / "log", "-c", folder / "nginx.conf"], stdout=log, stderr=log
        )
    try:
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                told = (folder / "log").read_text("utf-8")
                assert process.poll() is None, told
                assert time.monotonic() < end, told
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(START_SECONDS)
