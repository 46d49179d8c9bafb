"""A training as it goes on, in four tabs: its curves, questions to it, the film of its maps, the report on it.

The bar is polled while the visitor trains. What came of the training is drawn anew when there is news of it, and what
the models answer with the page itself, which is run again when a model was saved. Only the open tab draws its pictures;
the controls of the others stay mounted, so that the link keeps them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st
from cachetools import LRUCache
from cachetools.keys import hashkey
from streamlit.delta_generator import DeltaGenerator

from headlight.jobs.training import TrainingJob
from headlight.link.fields import DEFAULTS
from headlight.queue.single_flight import heavy, shared
from headlight.ui import sheet
from mha_core.errors import HeadlightError
from mha_core.training import bag_of_words
from mha_core.training.limits import TrainingPlan
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Labelled, Task
from pages.frame import canvas, missing, polling, visitor, widgets

from . import ask_section, curves, film, picture_settings, report, standing, summary
from .bar import Bar, curves_are_drawn, state_of
from .curves import Candidate, Chart
from .runs import Runs, of_shipped
from .task_words import has_words

POLL_SECONDS = {"waits": 2.0, "starts": 0.5, "trains": 0.5, "over": None}

Look = Callable[[], Runs]


def follow(
    plan: TrainingPlan | None,
    problem: str,
    job: TrainingJob | None,
    look: Look,
    task: Task | None,
    place: DeltaGenerator,
    tabs: dict[str, DeltaGenerator],
    opened: str,
) -> Runs:
    """Draws the section; the bar by itself while the visitor's training is under way, and curves that have grown.

    Args:
        plan, problem, job: as in `Bar`.
        look: the runs to show, as far as they have come.
        task: their data, None when it is not at hand.
        place: of the bar; tabs: by their names; opened: the name of the open one.

    Returns:
        the runs it shows.
    """
    state = state_of(job)  # before the look: what comes between the two is a reason to draw the page once more
    shown = look()
    present = visitor.job()
    with place:
        bar = Bar(plan, problem, shown, job, present, task)
        polling.follow(bar.draw, present, lambda: state_of(job), state, POLL_SECONDS[state[1]])
    with tabs[opened]:
        none = not shown.begun and (job is None or job.over)
        canvas.sheet("train_empty", [sheet.text(_nothing(job, task))] if none else [])
    if none:
        return shown
    picture = _Picture(job, look, plan.recipes if plan else (), opened, tabs["Film"].container(), task)
    with tabs["Curves"]:
        charts, below = st.container(key="train_charts"), st.container(key="train_below")
        links, switches = st.container(), st.container(key="train_switches")
        with switches:  # before the charts, which go by what a link says of them
            widgets.switch("apart")
        with widgets.kept_mounted("bag", has_words(task)):
            widgets.switch("bag")
        with charts:
            st.fragment(_draw_picture, key="train_curves")(picture, below)
        with links:
            report.open_in(shown, seen=opened == "Curves")
    asked = ask_section.Questions(shown, task)
    with tabs["Ask"]:
        ask_section.draw(asked, is_open=opened == "Ask")
    with tabs["Report"]:
        if shown.ready or shown.beforehand:
            report.draw(shown, task, asked, is_open=opened == "Report")
    return shown


def beforehand(task: str) -> Runs:
    """The runs of a task that come with Headlight, of the news those that the link says."""
    return of_shipped(task, fair=st.session_state.get("lines") == "made fair")


def _nothing(job: TrainingJob | None, task: Task | None) -> str:
    if job is not None:
        return "The training ended before its first look at the test rows."
    if task is None:
        return "There is no data to train on yet: add some above, then press Train."
    return "Nothing has been trained on this yet: press Train."


@dataclass(frozen=True)
class _Picture:
    """What came of the training so far, where one looks.

    Attributes:
        job, look: as in `follow`.
        wanted: the recipes of the controls.
    """

    job: TrainingJob | None
    look: Look
    wanted: Sequence[Recipe]
    open: str
    film: DeltaGenerator
    task: Task | None

    @property
    def goes_on(self) -> bool:
        return self.job is not None and not self.job.over

    @property
    def ghosts(self) -> Sequence[Candidate]:
        """The candidates that stood there before, while this training goes on."""
        if self.job is None or not self.goes_on:
            return ()
        task = self.job.plan.recipes[0].task
        before: Sequence[Candidate] = st.session_state.get("ghosts", ())
        same = [own for own in before if own.histories and own.histories[0].recipe.task == task]
        return same or beforehand(task).candidates


def _draw_picture(picture: _Picture, below: DeltaGenerator) -> None:
    """Draws curves and what each candidate knows, or the film; its control is there in both."""
    if film.is_sought():
        st.rerun()  # to its tab
    curves_are_drawn(picture.job)
    shown = picture.look()
    if picture.open == "Curves":
        _draw_settings(shown, picture)
        _draw_charts(shown, picture)
        with below:
            _draw_known(shown, over=not picture.goes_on)
    with picture.film:
        _draw_film(shown, is_open=picture.open == "Film")


def _draw_settings(shown: Runs, picture: _Picture) -> None:
    """What the picture was trained with, and what of the controls is not in it."""
    beyond = picture_settings.beyond(shown, picture.wanted)
    told = picture_settings.trained_with(shown, goes_on=picture.goes_on)
    others = [*picture_settings.other_seeds(shown, picture.wanted), *beyond]
    said = [told, *others]
    if not others and shown.beforehand and picture.wanted:
        said.append("Press Train to train your own.")
    canvas.sheet("picture_settings", [sheet.text(" ".join(said), muted=True)])


def _draw_charts(shown: Runs, picture: _Picture) -> None:
    """Draws the curves, and writes the same as text."""
    apart = _is_on("apart")
    large = canvas.projected()
    charts = curves.charts(
        shown.candidates,
        st.context.theme.type or "dark",
        apart=apart,
        ghosts=_ghosts(picture),
        waiting=picture.goes_on,
        large=large,
        reference=_reference(shown, picture.task),
    )
    filmed = any(own.histories[0].snapshots for own in shown.candidates if own.histories)
    with missing.package_error():
        _draw_panels(charts, shown, apart=apart, large=large, on_point=film.seek if filmed else None)
    told = " · ".join(standing.sentences(shown.candidates)) if shown.begun else ""
    pressed = sheet.text("Click a point of a curve, or reach it by arrows and Enter: the film shows that step.")
    canvas.sheet("curves_told", [*[pressed] * filmed, sheet.text(told, muted=True)])
    with widgets.folded("curves_numbers", "The curves as tables", lazy=True) as fold:
        canvas.sheet("curves_numbers", [chart.table for chart in charts] if fold.open else [])


def _draw_panels(
    charts: Sequence[Chart], shown: Runs, *, apart: bool, large: bool, on_point: Callable[[float], None] | None
) -> None:
    """Draws each chart in a panel of its own, side by side. Raises an ImportError without a package that draws."""
    canvas.charts()
    across = 1 if large else min(len(shown.candidates), 5) if apart else 2
    widths = [1] * across if apart or large else [1.3, 1]
    for first in range(0, len(charts), across):
        columns = st.columns(widths)
        for column, chart in zip(columns, charts[first : first + across], strict=False):
            with column, st.container(border=True, height="stretch", key=f"chart_panel_{chart.key}"):
                canvas.sheet(f"title_{chart.key}", [sheet.title(chart.title, chart.note)])
                with st.container(key=f"axes_{chart.key}"):
                    canvas.chart(f"chart_{chart.key}", chart.figure, chart.alt, on_point)


def _reference(shown: Runs, task: Task | None) -> tuple[float, str] | None:
    """The accuracy that is possible without order, where it is asked for."""
    recipes = [own.histories[0].recipe for own in shown.candidates if own.begun]
    if not (_is_on("bag") and has_words(task) and recipes and not shown.on_other_data(task)):
        return None
    try:
        with st.spinner("Counting words"):
            level = heavy(_bag_of_words, task, recipes[0])
    except HeadlightError:  # too many others wait; the next drawing asks again
        return None
    return level, f"bag of words {level:.3f}"


@shared(LRUCache(32), lambda task, recipe: hashkey(task.fingerprint, recipe.vocabulary, recipe.max_len))
def _bag_of_words(task: Labelled, recipe: Recipe) -> float:
    """The accuracy of softmax regression on how often each token occurs, on the test rows: once for all visitors."""
    return bag_of_words.accuracy(task, recipe.vocabulary, recipe.max_len)


def _is_on(key: str) -> bool:
    return bool(st.session_state.get(key, DEFAULTS[key]))


def _ghosts(picture: _Picture) -> Sequence[Candidate]:
    """The earlier curves, unless they are hidden: the switch stands above them while there are any."""
    ghosts = [one for one in picture.ghosts if one.begun]
    if not ghosts:
        return ()
    advance = beforehand(ghosts[0].histories[0].recipe.task).candidates
    whose = "trained in advance" if ghosts[0] in advance else "your earlier training"
    label = f"Hide the grey curves from before: {', '.join(one.name for one in ghosts)} ({whose})"
    hidden = st.toggle(label, st.session_state.get("ghosts_hidden", False), key="hides_ghosts")
    st.session_state["ghosts_hidden"] = hidden  # for the next training, whose switch is another one
    return () if hidden else ghosts


def _draw_known(shown: Runs, *, over: bool) -> None:
    """A table of what each candidate knows; what that means is said when the training is over."""
    begun = [candidate for candidate in shown.candidates if candidate.begun]
    if not begun:
        canvas.sheet("knows", [])
        return
    verdict = summary.mirrors(begun) if over else ""
    blocks = [
        summary.table(begun),
        sheet.notices(summary.few_rows(begun)),
        *(sheet.text(line) for line in [verdict] if line),
        sheet.text(summary.note(begun), muted=True),
    ]
    start = begun[0].histories[0].start
    known = sheet.panel("What each one knows", blocks, summary.test_rows(start) if start else "")
    canvas.sheet("knows", [known])


def _draw_film(shown: Runs, *, is_open: bool) -> None:
    """Draws the maps of the first seed of each candidate."""
    if not is_open or not shown.candidates:
        return
    title = sheet.title("The maps while they learn", "first seed of each; play, or pull the slider")
    canvas.sheet("film_title", [title])
    film.show(film.pack(shown.candidates))
