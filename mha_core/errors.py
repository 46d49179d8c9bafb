"""Every error that the core raises for the arguments and files of a caller.

    HeadlightError (a ValueError)
    ├── SizeError          widths, lengths, layers or heads that do not fit together
    ├── MaskError          a mask of another type, shape or spelling
    ├── PositionError      a positional encoding that cannot serve here
    ├── Unsupported        an implementation was asked for something that is not in its `can`
    ├── TooLong            more tokens than the model takes
    ├── WeightsFileError   weights that are missing, damaged or not the ones expected
    ├── DeviceError        a device that is not there, or tensors on two devices
    └── DtypeError         a number format that is not supported here, or two of them mixed

A message says what came, what is allowed and what to do.
"""

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
    """A positional encoding cannot serve these sizes or this place."""


class Unsupported(HeadlightError):
    """The chosen implementation does not have the requested feature."""


class TooLong(HeadlightError):
    """The text has more tokens than the model has positions. Nothing is ever cut."""

    def __init__(self, limit: int, got: int) -> None:
        words = max(2, round(0.75 * (got - limit)))  # of English, a token is three quarters of one
        super().__init__(
            f"{got} tokens, special tokens included, but this model can read {limit}; remove about {words} words"
        )
        self.limit = limit
        self.got = got


class WeightsFileError(HeadlightError):
    """Weights are missing, damaged or not the ones expected."""


class DeviceError(HeadlightError):
    """A device is not there, or tensors lie on different devices."""


class DtypeError(HeadlightError):
    """A number format is not supported here, or two are mixed."""
