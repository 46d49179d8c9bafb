#!/bin/sh
# Makes a folder that Headlight runs from: what the container's build runs, and whoever has no container. Needs uv.
#
#   deploy/build.sh libraries FOLDER [cpu] [all]   what it stands on; cpu, or cu130 and the like; with all models or none
#   deploy/build.sh headlight FOLDER               Headlight itself: FOLDER/bin/headlight starts it
#
# Instead of cpu or cu130 stands, where there is no network, the file of a wheel of torch.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
step=$1 folder=$2 torch=${3:-cpu} models=${4:-all}
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
install() { uv pip install --quiet --python "$folder" "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $step in
libraries)
  pin=$(sed -n 's/^TORCH = "\(.*\)"$/\1/p' "$root/make.py")
  case $models in
  all) : >"$work/none" ;;
  none) sed -n 's/^models = \[\(.*\)\]$/\1/p' "$root/pyproject.toml" | tr -d '" ' | tr , '\n' | sed 's/==.*//' >"$work/none" ;;
  *) echo "build.sh: models are all or none, not $models" >&2; exit 2 ;;
  esac
  [ -d "$folder" ] || uv venv --quiet --no-project "$folder"
  install --require-hashes --no-deps --excludes "$work/none" -r "$root/requirements.lock"
  case $torch in
  *.whl) install "$torch" ;;
  *) install --torch-backend "$torch" "$pin" ;;
  esac
  # what only who compiles against them, or tests them, needs
  cd "$folder"/lib/python*/site-packages
  rm -rf torch/include torch/share pyarrow/include pyarrow/tests pandas/tests
  find . -name '*.js.map' -type f -delete
  ;;
headlight)
  (cd "$root" && uv build --quiet --wheel --out-dir "$work")
  install --no-deps --reinstall "$work"/headlight_attention-*.whl
  # Compiled is what is imported, a fifth of all: at run time nothing is written.
  cd "$folder"/lib/python*/site-packages/headlight/site
  env -u PYTHONDONTWRITEBYTECODE -u PYTHONPYCACHEPREFIX "$folder/bin/python" -c '
import importlib, pkgutil, app
for module in pkgutil.walk_packages(["."]):
    if module.name.startswith("pages") and not module.name.endswith(".shell"):
        importlib.import_module(module.name)
'
  ;;
*) echo "build.sh: the steps are libraries and headlight, not $step" >&2; exit 2 ;;
esac
