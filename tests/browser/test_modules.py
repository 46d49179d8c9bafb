"""Modules without a page: that the one script has each of them, the rules of masks, and the model of the painter.

The painter (assets/web/picture/mask_paint.js): strokes, whole rows, single heads.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from headlight.link import mask_codec
from headlight.link import rules as rules_of_masks
from headlight.ui.web import FILES, PREFIX, SCRIPT, SITE_SCRIPT
from mha_core import masks

from .modules import Modules

EXPORTS = """async ([prefix, script, names]) => {
  const { open } = await import(`${prefix}/${script}`);
  const told = async (name) => [Object.keys(await import(`${prefix}/${name}`)), Object.keys(open(name)),
    open(name) === open(name)];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await told(name)])));
}"""
N, HEADS = 5, 3
RULES = [
    "none", "causal", "window:3 & unseen:1", "causal & unseen:2 | sinks:1 & unseen:2:5", "causal & unseen:2 | sinks:1",
    "!unseen:2", "causal&window:3",
]  # fmt: skip
# Steps on a new painting: ["begin", [i, j]], ["line", "row", 2], … or {"tool": "row"}; then what it says.
RUN = """(() => {
  const mask = Object.assign(new m.MaskPaint(), { head: 1 });
  mask.load({ n: row.n, heads: row.heads, painted: "", base: row.base, modelMask: row.modelMask, rule: row.rule });
  for (const step of row.steps) {
    if (Array.isArray(step)) mask[step[0]](...step.slice(1));
    else Object.assign(mask, step);
  }
  const heads = Array.from({ length: row.heads }, (_, head) => [...mask.allow(head)]);
  return { heads, text: mask.text, shared: mask.isShared, empty: mask.isEmpty };
})()"""


def painted(modules: Modules, *steps: Any, rule: str = "causal", built_in: str = "none") -> dict[str, Any]:
    """What the painting says after these steps; its text means the same to Python."""
    base = mask_codec.forbidden_cells(rule, "", N, HEADS)[0]
    own = mask_codec.forbidden_cells(built_in, "", N, HEADS)[0]
    row = {"n": N, "heads": HEADS, "base": base, "modelMask": own, "rule": rule, "steps": list(steps)}
    after: dict[str, Any] = modules.one("picture/mask_paint.js", row, RUN)
    allow = mask_codec.allow_mask(rule, after["text"], N, HEADS, built_in)
    assert torch.equal(heads(after), allow.expand(HEADS, N, N))
    return after


def heads(after: dict[str, Any]) -> Tensor:
    return torch.tensor(after["heads"], dtype=torch.bool).view(HEADS, N, N)


def rule_alone() -> Tensor:
    return masks.allow(masks.causal, N, N)[0, 0].clone()


def changed(where: Any, allowed: bool) -> Tensor:
    """The rule with these cells allowed or blocked."""
    allow = rule_alone()
    allow[where] = allowed
    return allow


def test_strokes_lines_columns_and_single_heads_are_painted(modules: Modules) -> None:
    after = painted(modules)
    assert (after["text"], after["empty"], after["shared"]) == ("", True, True)
    assert torch.equal(heads(after)[2], rule_alone())

    # a stroke blocks or allows whatever it touches; one press turns a cell round
    stroke = [["begin", [1, 0]], ["paint", [1, 0]], ["paint", [0, 4]], ["paint", [1, 0]]]
    row, column = (2, slice(None)), (slice(None), 2)
    wanted: list[tuple[list[Any], Tensor]] = [
        (stroke, changed((1, 0), False)),
        ([{"tool": "allow"}, *stroke], changed((0, 4), True)),
        ([["toggle", [0, 4]]], changed((0, 4), True)),
        ([["toggle", [0, 4]], ["toggle", [0, 4]]], rule_alone()),
        ([["line", "row", 2]], changed(row, False)),
        ([["line", "row", 2], ["line", "row", 2]], changed(row, True)),
        ([["line", "column", 2]], changed(column, False)),
        ([["line", "column", 2], ["line", "column", 2]], changed(column, True)),
    ]
    for steps, allow in wanted:
        after = painted(modules, *steps)
        assert torch.equal(heads(after)[0], allow), steps
        assert after["empty"] == torch.equal(allow, rule_alone()), steps

    after = painted(modules, {"scope": "one"}, ["line", "row", 3])
    assert not after["shared"]
    assert torch.equal(heads(after)[0], rule_alone())
    assert not heads(after)[1, 3].any()

    assert painted(modules, ["toggle", [1, 0]], ["line", "column", 1], ["clear"])["empty"]

    # what the model itself forbids is not painted
    after = painted(modules, {"tool": "row"}, ["toggle", [1, 0]], rule="none", built_in="causal")
    assert torch.equal(heads(after)[0].sum(dim=1), torch.tensor([1, 0, 3, 4, 5]))
    back = painted(modules, {"tool": "row"}, ["toggle", [1, 0]], ["toggle", [1, 4]], rule="none", built_in="causal")
    assert back["text"] == ""
    assert torch.equal(heads(back)[0], rule_alone())
    assert painted(modules, ["toggle", [0, 3]], rule="none", built_in="causal")["text"] == "", "nothing to paint there"


def test_rules_are_read_and_turned_as_python_reads_them(modules: Modules) -> None:
    found = modules.each(
        "link/changes.js", RULES, "[[...m.unseenOf(row)].sort(), m.withoutUnseen(row), m.toggledUnseen(row, 2)]"
    )
    for rule, (places, rest, turned) in zip(RULES, found, strict=True):
        assert tuple(places) == rules_of_masks.unseen_tokens(rule)
        assert rest == rules_of_masks.without_unseen(rule)
        assert rules_of_masks.is_usable(turned)
        assert (2 in rules_of_masks.unseen_tokens(turned)) != (2 in rules_of_masks.unseen_tokens(rule))
        taken = set(rules_of_masks.unseen_tokens(rule)) ^ {2}
        wanted = masks.both(masks.parse(rest), masks.unseen(*taken)) if taken else masks.parse(rest)
        assert masks.allow(masks.parse(turned), 7, 7).equal(masks.allow(wanted, 7, 7))


def test_every_module_is_in_it_once_and_exports_what_it_does_alone(modules: Modules) -> None:
    apart = ("standalone/", "compute/", "site/", "frame/boot.js")  # which no page of the app imports
    scripts = {name for name in FILES if name.endswith(".js")} - {SCRIPT, SITE_SCRIPT}
    names = sorted(name for name in scripts if not name.startswith(apart))
    for name, (alone, bundled, same) in modules.page.evaluate(EXPORTS, [PREFIX, SCRIPT, names]).items():
        assert sorted(alone) == sorted(bundled), name
        assert same, f"{name} is one, whoever asks for it"
