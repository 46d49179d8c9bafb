"""The results of a training in four tabs: curves, questions, film and report.

The curves are redrawn when the training has made progress, the models' answers when the page is rerun, which happens
when a model is saved. Only the open tab draws its contents; the controls of the others stay mounted, so that the link
keeps their values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.jobs.training import TrainingJob
from headlight.ui import sheet
from headlight.ui.numbers import count
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Task
from pages.frame import canvas, missing, widgets

from . import ask_section, curves, film, picture_settings, report, summary
from .bar import mark_curves_drawn
from .curves import Chart
from .runs import Runs


@dataclass(frozen=True)
class Section:
    """The results of a training so far.

    Attributes:
        job: the training of this page's task; None if there is none.
        load_runs: loads the runs in their current state.
        task: the data of the task; None if they are not available.
        recipes: the recipes of the controls.
        open_tab: the name of the open tab.
    """

    job: TrainingJob | None
    load_runs: Callable[[], Runs]
    task: Task | None
    recipes: Sequence[Recipe]
    open_tab: str

    @property
    def is_running(self) -> bool:
        """Return whether the training is still running."""
        return self.job is not None and not self.job.is_finished

    def draw(self, runs: Runs, tabs: dict[str, DeltaGenerator]) -> None:
        """Draw the open tab and the controls of the others; the curves redraw themselves during a training."""
        is_empty = not runs.has_evaluations and not self.is_running
        with tabs[self.open_tab]:
            canvas.sheet("train_empty", [sheet.text(self._empty_text)] if is_empty else [])
        if is_empty:
            return
        film_box = tabs["Film"].container()
        with tabs["Curves"]:
            charts, results_box = st.container(key="train_charts"), st.container(key="train_below")
            links = st.container()
            with charts:
                st.fragment(self._draw_picture, key="train_curves")(results_box, film_box)
            with links:
                report.draw_links(runs, seen=self.open_tab == "Curves")
        questions = ask_section.Questions(runs, self.task)
        settings = self._settings(runs)
        with tabs["Ask"]:
            canvas.sheet("ask_settings", settings if self.open_tab == "Ask" else [])
            ask_section.draw(questions, is_open=self.open_tab == "Ask")
        with tabs["Report"]:
            has_models = bool(runs.model_names) or runs.is_shipped
            lines = settings if has_models else [sheet.text("The report appears when the training has ended.")]
            canvas.sheet("report_settings", lines if self.open_tab == "Report" else [])
            if has_models:
                position = self.recipes[0].position if self.recipes else ""
                report.draw(runs, questions, position, is_open=self.open_tab == "Report")

    @property
    def _empty_text(self) -> str:
        if self.job is not None:
            return "The training ended before the first evaluation on the test rows."
        if self.task is None:
            return "There is no data to train on yet. Add some above, then press Train."
        return "Nothing has been trained on this yet. Press Train."

    def _draw_picture(self, results_box: DeltaGenerator, film_box: DeltaGenerator) -> None:
        """Draw the curves and results, or the film; the fragment exists in both tabs."""
        if st.session_state.pop("film_opens", False):
            st.rerun()  # to its tab
        mark_curves_drawn(self.job)
        runs = self.load_runs()
        if self.open_tab == "Curves":
            canvas.sheet("picture_settings", self._settings(runs))
            self._draw_charts(runs)
            with results_box:
                self._draw_results(runs)
        elif self.open_tab == "Film" and runs.candidates:
            with film_box:
                title = sheet.title("The maps during training", "first seed of each; press play or move the slider")
                canvas.sheet("film_title", [title])
                film.show(film.pack(runs.candidates))

    def _settings(self, runs: Runs) -> list[sheet.Block]:
        """Return the settings of the runs, and the controls that differ from them."""
        changes = picture_settings.pending_changes(runs, self.recipes)
        sentences = [picture_settings.describe(runs, is_running=self.is_running), *changes]
        if not changes and runs.is_shipped and self.recipes:
            sentences.append("Press Train to train your own.")
        return [sheet.text(" ".join(sentences), muted=True)]

    def _draw_charts(self, runs: Runs) -> None:
        """Draw the curves, and offer them as tables."""
        large, theme = canvas.is_projector_on(), st.context.theme.type or "dark"
        charts = curves.charts(runs.candidates, theme, waiting=self.is_running, large=large)
        has_film = any(candidate.histories[0].snapshots for candidate in runs.candidates if candidate.histories)
        with missing.package_error():
            _draw_panels(charts, large=large, on_point=film.seek if has_film else None)
        hint = sheet.text(
            "Click a point of a curve, or select it with the arrow keys and Enter, and the film shows that step."
        )
        canvas.sheet("curves_notice", [hint] * has_film)
        with widgets.fold("curves_numbers", "As a table", lazy=True) as fold:
            canvas.sheet("curves_numbers", [chart.table for chart in charts] if fold.open else [])

    def _draw_results(self, runs: Runs) -> None:
        """Draw a table of each candidate's results, with conclusions once the training has ended."""
        candidates = [candidate for candidate in runs.candidates if candidate.evaluated_runs]
        if not candidates:
            canvas.sheet("knows", [])
            return
        verdicts = [*summary.early_ends(runs.candidates), "" if self.is_running else summary.describe_pairs(candidates)]
        blocks = [
            summary.table(candidates),
            sheet.notices(summary.few_rows(candidates)),
            *(sheet.text(line) for line in verdicts if line),
            sheet.text(summary.note(candidates), muted=True),
        ]
        start = candidates[0].histories[0].start
        panel = sheet.panel("Results", blocks, count(start.rows_test, "test row") if start else "")
        canvas.sheet("knows", [panel])


def _draw_panels(charts: Sequence[Chart], *, large: bool, on_point: Callable[[float], None] | None) -> None:
    """Draw each chart in its own panel, two side by side.

    Raises:
        ImportError: plotly is not installed.
    """
    canvas.figure_class()
    widths = [1] if large else [1.3, 1]
    for first in range(0, len(charts), len(widths)):
        for column, chart in zip(st.columns(widths), charts[first : first + len(widths)], strict=False):
            with column, st.container(border=True, height="stretch", key=f"chart_panel_{chart.key}"):
                canvas.sheet(f"title_{chart.key}", [sheet.title(chart.title, chart.note)])
                with st.container(key=f"axes_{chart.key}"):
                    canvas.chart(f"chart_{chart.key}", chart.figure, chart.alt, on_point)
