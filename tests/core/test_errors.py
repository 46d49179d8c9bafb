"""The text of errors; their tree is in tests/rules/test_exports.py."""

from __future__ import annotations

from mha_core import errors


def test_too_long_carries_both_numbers() -> None:
    error = errors.TooLong(limit=512, got=700)
    assert (error.limit, error.got) == (512, 700)
    assert "700" in str(error)
    assert "512" in str(error)


def test_the_tree_in_the_module_text_is_the_tree() -> None:
    drawn = {line.split()[1] for line in (errors.__doc__ or "").splitlines() if line.strip().startswith(("├", "└"))}
    assert drawn == set(errors.__all__) - {"HeadlightError"}
