"""Colours, dashes and symbols of the charts; assets/web/base/view.css repeats the shared colours."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Colours of a theme."""

    ink: str  # texts
    muted: str  # secondary texts
    line: str  # grid lines
    curves: tuple[str, ...]  # curves, in order
    less: str  # negative values, as in differences of maps
    none: str  # the value 0
    more: str  # positive values


PALETTES = {
    "dark": Palette(
        ink="#E8ECF6",
        muted="#93A0BD",
        line="#26304A",
        curves=("#56B4E9", "#F0A830", "#2FC793", "#F0E442", "#E58FC0", "#E07B52", "#B3A4F5"),
        less="#6EA8FF",
        none="#11182A",
        more="#FF7A3D",
    ),
    "light": Palette(
        ink="#1B2233",
        muted="#5A6375",
        line="#E3E0D6",
        curves=("#0072B2", "#8A5A00", "#00755A", "#6B6200", "#A3387A", "#B04A00", "#5B45C0"),
        less="#1B59C6",
        none="#FFFFFF",
        more="#C2410C",
    ),
}
AXIS = {"tick": 13, "title": 14}  # size of the texts of every chart's axes, in pixels
# curves are distinguishable without colour
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")


def candidate_colour(number: int, theme: str) -> str:
    """Return the colour of a training's candidate in every chart; the first, mostly "none", is muted."""
    palette = PALETTES[theme]
    blue, amber, green, *others = palette.curves
    # swapped, so that sinusoidal is blue and rotary amber
    colours = (palette.muted, blue, green, amber, *others)
    return colours[number % len(colours)]
