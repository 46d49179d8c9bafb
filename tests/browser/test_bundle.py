"""The one script of every page beside the modules that it is made of."""

from __future__ import annotations

from pages.kit.draw.web import FILES, PREFIX, SCRIPT, script

from .modules import Modules

EXPORTS = """async ([prefix, script, names]) => {
  const { open } = await import(`${prefix}/${script}`);
  const told = async (name) => [Object.keys(await import(`${prefix}/${name}`)), Object.keys(open(name)),
    open(name) === open(name)];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await told(name)])));
}"""


def test_every_module_is_in_it_once_and_exports_what_it_does_alone(modules: Modules) -> None:
    apart = ("standalone/", "frame/boot.js")  # which no page of the app imports
    names = [name for name in FILES if name.endswith(".js") and not name.startswith(apart)]
    held = [line.removeprefix("// ---- ") for line in script().decode().splitlines() if line.startswith("// ---- ")]
    assert sorted(held) == sorted(names)
    for name, (alone, bundled, same) in modules.page.evaluate(EXPORTS, [PREFIX, SCRIPT, names]).items():
        assert sorted(alone) == sorted(bundled), name
        assert same, f"{name} is one, whoever asks for it"
