"""Detection of a missing package behind an import error."""

import sys
from collections.abc import Iterator

LOCAL = {"app", "headlight", "mha_core", "pages"}


def missing_package(error: BaseException) -> str | None:
    """Return the name of the package whose absence raised this error, at any depth; None for any other error."""
    lacking = (cause.name for cause in _causes(error) if isinstance(cause, ModuleNotFoundError) and cause.name)
    # if "a.b" is missing, package a is installed; Headlight's own modules and Python's cannot be installed
    return next((name for name in lacking if "." not in name and name not in LOCAL | sys.stdlib_module_names), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and the chain of its causes."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
