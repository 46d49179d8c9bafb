from __future__ import annotations

import pytest

from mha_core import errors


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name != "HeadlightError"])
def test_every_error_is_a_headlight_error_and_a_value_error(name: str) -> None:
    kind = getattr(errors, name)
    assert kind.__bases__ == (errors.HeadlightError,)
    assert issubclass(kind, ValueError)


def test_too_long_carries_both_numbers() -> None:
    error = errors.TooLong(limit=512, got=700)
    assert (error.limit, error.got) == (512, 700)
    assert "700" in str(error)
    assert "512" in str(error)


def test_the_tree_in_the_module_text_is_the_tree() -> None:
    drawn = {line.split()[1] for line in (errors.__doc__ or "").splitlines() if line.strip().startswith(("├", "└"))}
    assert drawn == set(errors.__all__) - {"HeadlightError"}
