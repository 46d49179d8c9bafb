"""Parts of the portraits that are folded away, each with the controls that act on it alone."""

from collections.abc import Callable, Sequence

from pages.kit.frame import widgets

from . import cards, portraits
from .encodings import Encoding
from .parts import Focus, Part

WAVES = {"add", "rotate"}


def show(
    built: Sequence[Encoding], view: Callable[[], Focus], amplitude: Callable[[str], Part], *, charts: bool
) -> None:
    """All of them; what the encodings do not have is out of sight, but stays in the link.

    Args:
        view: what the controls say by now.
        amplitude: what makes the part of the amplitudes, in a theme.
        charts: whether they are drawn by now.
    """
    waves = any(encoding.acts in WAVES for encoding in built)

    def parts(slot: str, label: str, keys: Sequence[str] = (), mount: Callable[[], object] = lambda: None) -> None:
        there = any(portraits.has(slot, encoding) for encoding in built)
        with (
            widgets.kept_mounted(f"fold_{slot}", there),
            widgets.folded(slot, label, *keys, lazy=True) as fold,
        ):
            mount()
            if there and fold.open:
                cards.show_row([portraits.part_of(slot, encoding, view()) for encoding in built], charts=charts)

    parts("lines", "Curves: waves of chosen channels, or the bias of each head", ["ch"], lambda: _channels(waves))
    parts(
        "detail", "Closer: one pair of channels as a circle, or all heads", ["pair", "at_pos"], lambda: _circle(waves)
    )
    parts("far", "Past the trained length", ["far"], lambda: widgets.whole("far"))
    sinusoids = any(encoding.name == "sinusoidal" for encoding in built)
    with (
        widgets.kept_mounted("fold_amplitude", sinusoids),
        widgets.folded("amplitude", "Amplitude against the embedding", "amp", lazy=True) as fold,
    ):
        if sinusoids and fold.open:
            cards.show_part("both", amplitude(view().theme), wide=True, charts=charts)


def _channels(waves: bool) -> None:
    with widgets.kept_mounted("waves", waves):
        widgets.several("ch", max_selections=6)


def _circle(waves: bool) -> None:
    with widgets.kept_mounted("at_pos", waves):
        widgets.whole("pair")
        widgets.slider("at_pos")
