"""Errors that the core raises for the arguments and files of a caller.

    HeadlightError (a ValueError)
    ├── SizeError          widths, lengths, layers or heads that do not fit together
    ├── MaskError          a mask of another type, shape or spelling
    ├── PositionError      a positional encoding that cannot be used here
    ├── Unsupported        an implementation lacks a requested feature: it is not in its `can`
    ├── TooLong            more tokens than the model takes
    ├── WeightsFileError   weights that are missing, damaged or not the ones expected
    ├── DeviceError        a missing device, or tensors on two devices
    └── DtypeError         a number format that is not supported here, or two of them mixed

A message says what came, what is allowed and what to do.
"""

from math import ceil

__all__ = [
    "DeviceError",
    "DtypeError",
    "HeadlightError",
    "MaskError",
    "PositionError",
    "SizeError",
    "TooLong",
    "Unsupported",
    "WeightsFileError",
]


class HeadlightError(ValueError):
    """Base of all errors of the core."""


class SizeError(HeadlightError):
    """Widths, lengths, layers or heads do not fit together."""


class MaskError(HeadlightError):
    """A mask has the wrong type, shape or spelling."""


class PositionError(HeadlightError):
    """A positional encoding cannot be used with these sizes or in this place."""


class Unsupported(HeadlightError):
    """The chosen implementation does not have the requested feature."""


class TooLong(HeadlightError):
    """The text has more tokens than the model has positions; it is never truncated."""

    def __init__(self, limit: int, got: int) -> None:
        words = ceil(0.75 * (got - limit))  # in English, about
        super().__init__(
            f"the text has {got} tokens, special tokens included; the model can read {limit}: "
            f"remove about {words} words"
        )
        self.limit = limit
        self.got = got


class WeightsFileError(HeadlightError):
    """Weights are missing, damaged or not the ones expected."""


class DeviceError(HeadlightError):
    """A device is missing, or tensors are on different devices."""


class DtypeError(HeadlightError):
    """A number format is not supported here, or two are mixed."""
