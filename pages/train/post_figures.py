"""What the long post prints of its models: figures to stand beside ours. Its own accuracies and seconds stand in
`mha_core.training.long_post`.

Its classes are numbered tech, business, sport, entertainment, politics; its test rows are 307.
"""

from dataclasses import dataclass
from typing import Final

CLASSES: Final = ("tech", "business", "sport", "entertainment", "politics")
SUPPORT: Final = (53, 69, 74, 57, 54)


@dataclass(frozen=True)
class Printed:
    """A classification report of the last epoch: a number a class, and the accuracy."""

    precision: tuple[float, ...]
    recall: tuple[float, ...]
    f1: tuple[float, ...]
    accuracy: float


REPORTS: Final = {
    "torch": Printed(
        (0.92, 0.86, 0.96, 0.82, 0.82), (0.64, 0.87, 0.96, 0.93, 0.93), (0.76, 0.86, 0.96, 0.87, 0.87), 0.87
    ),
    "naive": Printed(
        (0.90, 0.85, 0.92, 0.88, 0.83), (0.81, 0.90, 0.96, 0.79, 0.89), (0.85, 0.87, 0.94, 0.83, 0.86), 0.88
    ),
}
_WITHOUT: Final = (0.018061, 0.564215, 0.010210, 0.379704, 0.027809)
# probabilities of "how are you" and of "you how are", without positions and with sinusoids
ORDERS: Final = {
    "none": (_WITHOUT, _WITHOUT),
    "sinusoidal": (
        (0.037759, 0.028393, 0.066061, 0.488044, 0.379744),
        (0.031583, 0.022696, 0.055122, 0.538267, 0.352332),
    ),
}
