"""A package that is missing: told by its name. Whatever else an import fails for is a fault like any other."""

import sys
from collections.abc import Iterator

OURS = {"app", "headlight", "mha_core", "pages"}


def missing_package(error: BaseException) -> str | None:
    """The name of the package for lack of which this was raised, at whatever depth; None where none is missing."""
    lacking = (cause.name for cause in _causes(error) if isinstance(cause, ModuleNotFoundError) and cause.name)
    # of "a.b" the package a is there, and one of ours or of Python's own is not to be installed
    return next((name for name in lacking if "." not in name and name not in OURS | sys.stdlib_module_names), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what it was raised from."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
