"""A run in a notebook's cell: Jupyter, VS Code and Colab show what has a `_repr_html_`."""

import html
from dataclasses import dataclass, field
from pathlib import Path

# the page may run its script and open links, and nothing of the notebook is in its reach
_FRAME = (
    '<iframe srcdoc="{page}" title="{title}" sandbox="allow-scripts allow-popups" '
    'style="width: 100%; height: {height}px; border: 0"></iframe>'
)


@dataclass(frozen=True)
class Shown:
    """A picture that a notebook draws when it is the last line of a cell. IPython need not be there.

    Attributes:
        page: the text of an HTML file that needs nothing else.
        title: of the frame, for who has it read aloud.
        height: of the frame, in pixels.
    """

    page: str = field(repr=False)
    title: str
    height: int

    def _repr_html_(self) -> str:
        return _FRAME.format(page=html.escape(self.page), title=html.escape(self.title), height=self.height)

    def save(self, path: str | Path) -> Path:
        """Writes the picture as a file that any browser opens, and gives its path."""
        path = Path(path)
        path.write_text(self.page, encoding="utf-8")
        return path
