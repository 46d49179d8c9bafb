"""deploy/: what a container engine, compose and Kubernetes are told fits the project, and itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

import make

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SCHEMAS = json.loads((Path(__file__).parent / "kubernetes.json").read_text("utf-8"))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
LISTED = yaml.safe_load((DEPLOY / "kubernetes/kustomization.yaml").read_text("utf-8"))["resources"]
OBJECTS: dict[str, Any] = {
    one["kind"]: one for file in LISTED for one in yaml.safe_load_all((DEPLOY / "kubernetes" / file).read_text("utf-8"))
}
# What is called in the place of uv: writes down what it was told, and what it was told to leave out.
UV = """#!/bin/sh
echo "$@" >>"$TOLD"
case $1 in venv) for folder; do :; done; mkdir -p "$folder/lib/python3/site-packages";; esac
while [ $# -gt 0 ]; do case $1 in --excludes) cat "$2" >>"$TOLD";; esac; shift; done
"""


def libraries(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs that step of deploy/build.sh; its output is what uv was told."""
    (folder / "uv").write_text(UV, "utf-8")
    (folder / "uv").chmod(0o700)
    told = folder / "told"
    told.touch()
    where = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "TOLD": str(told)}
    command = ["sh", str(DEPLOY / "build.sh"), "libraries", str(folder / "tree"), *arguments]
    done = subprocess.run(command, env=where, capture_output=True, text=True)
    return subprocess.CompletedProcess(command, done.returncode, told.read_text("utf-8"), done.stderr)


def test_the_container_gets_what_is_locked(tmp_path: Path) -> None:
    for torch, models in (("cpu", "all"), ("cu130", "none")):
        (tmp_path / torch).mkdir()
        done = libraries(tmp_path / torch, torch, models)
        assert done.returncode == 0, done.stderr
        _, locked, *left_out, last = done.stdout.splitlines()
        assert "--require-hashes" in locked
        assert locked.endswith(f"-r {ROOT / 'requirements.lock'}")
        extra = PROJECT["project"]["optional-dependencies"]["models"]
        assert left_out == ([] if models == "all" else [spec.partition("==")[0] for spec in extra]), models
        assert last.endswith(f"--torch-backend {torch} {make.TORCH}")
    assert libraries(tmp_path, "cpu", "some").returncode == 2
    assert subprocess.run(["sh", DEPLOY / "build.sh", "all", tmp_path], capture_output=True).returncode == 2


def test_the_container_leaves_nothing_to_its_user() -> None:
    assert DOCKERFILE.count("\nFROM ") == 2
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    entry = '["tini", "--", "headlight", "--host", "0.0.0.0"'
    assert [line for line in ("USER 10001:10001", "STOPSIGNAL SIGTERM", "/readyz", entry) if line not in last] == []
    assert {"TORCH=cpu", "MODELS=all"} <= set(re.findall(r"^ARG (\S+)$", DOCKERFILE, re.M))
    copied = {word for line in re.findall(r"^COPY (?!--)(.+) \S+$", DOCKERFILE, re.M) for word in line.split()} - {"."}
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = copied | {*wheel["packages"], *wheel["force-include"], *PROJECT["project"]["license-files"], "README.md"}
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    seen = [line[1:] for line in ignored if line.startswith("!")]
    assert "*" in ignored
    assert not [path for path in needed if not any(path == one or path.startswith(f"{one}/") for one in seen)]
    assert all((ROOT / path).exists() for path in seen)


def test_copies_in_compose_are_reached_by_nginx_alone() -> None:
    app, nginx = COMPOSE["services"]["app"], COMPOSE["services"]["nginx"]
    for service in (app, nginx):
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert "ports" not in app
    assert app["networks"] == ["inside"]
    inside = COMPOSE["networks"]["inside"]
    assert inside["internal"] is True
    assert app["environment"]["FORWARDED_ALLOW_IPS"] == inside["ipam"]["config"][0]["subnet"]
    config = (DEPLOY / "nginx.conf").read_text("utf-8")
    told = {*nginx["environment"], "NGINX_LOCAL_RESOLVERS"}
    assert set(re.findall(r"\$\{(\w+)\}", re.sub("#.*", "", config))) <= told
    copies = re.findall(r"server (\S+):8501 resolve [^;]+;", nginx["environment"]["COPIES"])
    assert copies == [f"{COMPOSE['name']}-app-{number}" for number in range(1, len(copies) + 1)]
    assert len(copies) >= app["scale"] > 1, "visitors are spread by these names"
    assert not re.search(r"\$(?![${])", (DEPLOY / "compose.yaml").read_text("utf-8").replace("$$", ""))
    assert config.count("access_log /dev/stdout without_words;") == config.count("\nserver {") == 2
    assert nginx["ports"] == ["${HEADLIGHT_PORT:-8080}:8080"]
    assert set(app["build"]["args"]) == {"TORCH", "MODELS"}


def test_kubernetes_knows_each_word() -> None:
    assert set(OBJECTS) == set(SCHEMAS["kinds"])
    for kind, one in OBJECTS.items():
        schema = {**SCHEMAS["kinds"][kind], "$defs": SCHEMAS["$defs"]}
        assert not [
            f"{kind}: {fault.json_path}: {fault.message}" for fault in Draft202012Validator(schema).iter_errors(one)
        ]
    wrong = {**OBJECTS["Service"], "spec": {"prots": []}}
    service = {**SCHEMAS["kinds"]["Service"], "$defs": SCHEMAS["$defs"]}
    assert not Draft202012Validator(service).is_valid(wrong), "the schemas are strict"


def test_kubernetes_finds_what_is_named() -> None:
    pod = OBJECTS["Deployment"]["spec"]["template"]
    labels, (container,) = pod["metadata"]["labels"], pod["spec"]["containers"]
    selectors = [OBJECTS[kind]["spec"]["selector"] for kind in ("Deployment", "PodDisruptionBudget")]
    assert all(one["matchLabels"] == labels for one in (*selectors, OBJECTS["NetworkPolicy"]["spec"]["podSelector"]))
    assert OBJECTS["Service"]["spec"]["selector"] == labels
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert ports == {"http": 8501}
    assert [one["targetPort"] for one in OBJECTS["Service"]["spec"]["ports"]] == ["http"]
    assert [one["ports"] for one in OBJECTS["NetworkPolicy"]["spec"]["ingress"]] == [[{"port": "http"}]]
    probes = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")}
    assert {kind: one["path"] for kind, one in probes.items()} == {
        "startup": "/livez", "readiness": "/readyz", "liveness": "/livez",
    }  # fmt: skip
    assert {one["port"] for one in probes.values()} == {"http"}
    scaled = OBJECTS["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"]
    assert scaled == OBJECTS["Deployment"]["metadata"]["name"]
    (rule,) = OBJECTS["Ingress"]["spec"]["rules"]
    assert rule["http"]["paths"][0]["backend"]["service"]["name"] == OBJECTS["Service"]["metadata"]["name"]
    assert rule["host"] in container["args"]
    claims = [one["persistentVolumeClaim"] for one in pod["spec"]["volumes"] if "persistentVolumeClaim" in one]
    assert claims == [{"claimName": OBJECTS["PersistentVolumeClaim"]["metadata"]["name"]}]
    assert {one["mountPath"] for one in container["volumeMounts"]} == {"/tmp", "/store"}
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["spec"]["volumes"]}


def test_a_copy_in_a_cluster_may_do_nothing_else() -> None:
    pod = OBJECTS["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert "--public" in container["args"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert f"USER {pod['securityContext']['runAsUser']}:" in DOCKERFILE
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert set(container["resources"]["limits"]) == set(container["resources"]["requests"]) == {"cpu", "memory"}
    waits = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert waits >= 5
    assert pod["terminationGracePeriodSeconds"] >= 20 + waits
    assert pod["automountServiceAccountToken"] is False
    policy = OBJECTS["NetworkPolicy"]["spec"]
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert policy["egress"] == []
    cookie = OBJECTS["Ingress"]["metadata"]["annotations"]["nginx.ingress.kubernetes.io/session-cookie-name"]
    told = OBJECTS["Service"]["metadata"]["annotations"]["traefik.ingress.kubernetes.io/service.sticky.cookie.name"]
    assert cookie == told
