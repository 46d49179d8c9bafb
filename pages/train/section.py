"""A training as it goes on, in four tabs: its curves, questions to it, the film of its maps, the report on it.

What came of the training is drawn anew when there is news of it, and what the models answer with the page itself, which
is run again when a model was saved. Only the open tab draws its pictures; the controls of the others stay mounted, so
that the link keeps them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.jobs.training import TrainingJob
from headlight.ui import sheet
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Task
from pages.frame import canvas, missing, widgets

from . import ask_section, curves, film, picture_settings, report, summary
from .bar import curves_are_drawn
from .curves import Chart
from .runs import Runs


@dataclass(frozen=True)
class Section:
    """What came of a training so far, where one looks.

    Attributes:
        job: the training of this page's task, None when there is none.
        look: the runs to show, as far as they have come.
        task: their data, None when it is not at hand.
        wanted: the recipes of the controls.
        opened: the name of the open tab.
    """

    job: TrainingJob | None
    look: Callable[[], Runs]
    task: Task | None
    wanted: Sequence[Recipe]
    opened: str

    @property
    def goes_on(self) -> bool:
        return self.job is not None and not self.job.is_finished

    def draw(self, shown: Runs, tabs: dict[str, DeltaGenerator]) -> None:
        """Draw the open tab and the controls of the others; growing curves are redrawn by themselves."""
        none = not shown.begun and not self.goes_on
        with tabs[self.opened]:
            canvas.sheet("train_empty", [sheet.text(self._nothing)] if none else [])
        if none:
            return
        frames = tabs["Film"].container()
        with tabs["Curves"]:
            charts, below = st.container(key="train_charts"), st.container(key="train_below")
            links = st.container()
            with charts:
                st.fragment(self._draw_picture, key="train_curves")(below, frames)
            with links:
                report.open_in(shown, seen=self.opened == "Curves")
        asked = ask_section.Questions(shown, self.task)
        with tabs["Ask"]:
            ask_section.draw(asked, is_open=self.opened == "Ask")
        with tabs["Report"]:
            if shown.ready or shown.beforehand:
                report.draw(shown, self.task, asked, is_open=self.opened == "Report")

    @property
    def _nothing(self) -> str:
        if self.job is not None:
            return "The training ended before the first evaluation on the test rows."
        if self.task is None:
            return "There is no data to train on yet. Add some above, then press Train."
        return "Nothing has been trained on this yet. Press Train."

    def _draw_picture(self, below: DeltaGenerator, frames: DeltaGenerator) -> None:
        """Draw the curves and results of the candidates, or the film; its control is there in both."""
        if film.is_sought():
            st.rerun()  # to its tab
        curves_are_drawn(self.job)
        shown = self.look()
        if self.opened == "Curves":
            self._draw_settings(shown)
            self._draw_charts(shown)
            with below:
                self._draw_known(shown)
        elif self.opened == "Film" and shown.candidates:
            with frames:
                title = sheet.title("The maps during training", "first seed of each; press play or move the slider")
                canvas.sheet("film_title", [title])
                film.show(film.pack(shown.candidates))

    def _draw_settings(self, shown: Runs) -> None:
        """Return what the picture was trained with, and which controls differ from it."""
        beyond = picture_settings.beyond(shown, self.wanted)
        said = [picture_settings.trained_with(shown, goes_on=self.goes_on), *beyond]
        if not beyond and shown.beforehand and self.wanted:
            said.append("Press Train to train your own.")
        canvas.sheet("picture_settings", [sheet.text(" ".join(said), muted=True)])

    def _draw_charts(self, shown: Runs) -> None:
        """Draw the curves, and offer them as tables."""
        large, theme = canvas.projected(), st.context.theme.type or "dark"
        charts = curves.charts(shown.candidates, theme, waiting=self.goes_on, large=large)
        filmed = any(own.histories[0].snapshots for own in shown.candidates if own.histories)
        with missing.package_error():
            _draw_panels(charts, large=large, on_point=film.seek if filmed else None)
        pressed = sheet.text(
            "Click a point of a curve, or select it with the arrow keys and Enter, and the film shows that step."
        )
        canvas.sheet("curves_told", [pressed] * filmed)
        with widgets.folded("curves_numbers", "The curves as tables", lazy=True) as fold:
            canvas.sheet("curves_numbers", [chart.table for chart in charts] if fold.open else [])

    def _draw_known(self, shown: Runs) -> None:
        """A table of what each candidate knows; what that means is said when the training is over."""
        begun = [candidate for candidate in shown.candidates if candidate.begun]
        if not begun:
            canvas.sheet("knows", [])
            return
        verdicts = [*summary.ends(shown.candidates), "" if self.goes_on else summary.mirrors(begun)]
        blocks = [
            summary.table(begun),
            sheet.notices(summary.few_rows(begun)),
            *(sheet.text(line) for line in verdicts if line),
            sheet.text(summary.note(begun), muted=True),
        ]
        start = begun[0].histories[0].start
        known = sheet.panel("Results", blocks, summary.test_rows(start) if start else "")
        canvas.sheet("knows", [known])


def _draw_panels(charts: Sequence[Chart], *, large: bool, on_point: Callable[[float], None] | None) -> None:
    """Draw each chart in a panel of its own, two side by side. Raises an ImportError without plotly."""
    canvas.charts()
    widths = [1] if large else [1.3, 1]
    for first in range(0, len(charts), len(widths)):
        for column, chart in zip(st.columns(widths), charts[first : first + len(widths)], strict=False):
            with column, st.container(border=True, height="stretch", key=f"chart_panel_{chart.key}"):
                canvas.sheet(f"title_{chart.key}", [sheet.title(chart.title, chart.note)])
                with st.container(key=f"axes_{chart.key}"):
                    canvas.chart(f"chart_{chart.key}", chart.figure, chart.alt, on_point)
