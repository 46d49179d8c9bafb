"""Timing of the implementations in interleaved rounds at one size, run in the page's script.

Every call acquires the heavy slot separately, so that other jobs run in between; any other event of the user cancels
the rest.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from headlight.link.limits import MAX_PRODUCTS, check_sizes
from headlight.queue.slots import THREADS, heavy_slot
from headlight.ui import sheet
from headlight.ui.sheet import Block
from mha_core import IMPLEMENTATIONS
from mha_core import device as devices
from mha_core.clock import describe_machine, spread, time_calls
from mha_core.errors import HeadlightError
from mha_core.measure.timing import forward_pass, peak_memory, same_weights, training_step
from mha_core.pretrained import memory
from pages.frame import canvas, widgets

from . import cases
from .parity import InputSizes

YARDSTICK: Final = "nn.MultiheadAttention"  # the baseline, always with maps
TASKS = {
    "forward with maps": (forward_pass, True),
    "forward without maps": (forward_pass, False),
    "training step with maps": (training_step, True),
    "training step without maps": (training_step, False),
}
MIN_ROUNDS, MAX_ROUNDS = 3, 200
MAX_RACED: Final = 70_000_000  # b · h · n²: slightly more than 32 texts of 512 tokens with 8 heads
MAX_SECONDS: Final = 180.0  # a running round is still completed
COPIES = 5  # score-sized tensors of memory per call; the maximum is 4.2, for sequence_first
SHOW_SECONDS = 0.2  # between two updates of the progress bar


@dataclass(frozen=True)
class TimingPlan:
    """Options of a timing.

    Attributes:
        task: a key of `TASKS`.
        names: of the implementations; the baseline is always timed too.
        sizes: of the input.
        seconds: duration, with `MIN_ROUNDS` rounds at least.
        device: as in `mha_core.device.pick`.
    """

    task: str
    names: tuple[str, ...]
    sizes: InputSizes
    seconds: float = 3.0
    device: str = "auto"

    def check(self) -> None:
        """Raise a HeadlightError if nothing is selected, or one call exceeds the limits or the free memory."""
        if not self.names:
            raise HeadlightError("choose at least one implementation to time")
        b, n, d_model, n_heads = self.sizes.b, self.sizes.n, self.sizes.d_model, self.sizes.n_heads
        check_sizes(b, n, d_model, n_heads, scores=MAX_RACED)
        if devices.pick(self.device).type == "cpu":
            needed = 4 * COPIES * b * n_heads * n**2
            memory.require(needed, "one call at this size", "choose fewer texts, or try again later")


@dataclass(frozen=True)
class Timing:
    """Result of a plan: seconds of every call and peak memory in bytes by name, and notices."""

    plan: TimingPlan
    seconds: dict[str, list[float]]
    peaks: dict[str, int | None]
    machine: str
    notices: tuple[str, ...] = ()


def measure(plan: TimingPlan, on_call: Callable[[float], object] = lambda _: None) -> Timing:
    """Time the plan on one device; times of two devices would not compare.

    Args:
        plan: the options.
        on_call: called with the share completed after each call and while waiting; an error that it raises cancels.

    Raises:
        HeadlightError: as `TimingPlan.check`; the queue is full or the device out of memory.
    """
    plan.check()
    sizes = plan.sizes
    call, maps = TASKS[plan.task]

    def time_on(device: torch.device) -> Timing:
        theirs, ours = same_weights(sizes.d_model, sizes.n_heads, device, plan.names, biases=sizes.biases)
        x = torch.randn(sizes.b, sizes.n, sizes.d_model, generator=torch.Generator().manual_seed(0)).to(device)
        candidates = {name: partial(call, layer, x, maps=maps) for name, layer in ours.items()}
        candidates[YARDSTICK] = partial(call, theirs, x, maps=True)
        seconds: dict[str, list[float]] = {name: [] for name in candidates}
        series = time_calls(candidates, MAX_ROUNDS, warm_up=1, device=device)
        began, share = time.monotonic(), 0.0
        while True:
            with heavy_slot(partial(on_call, share)):
                torch.set_num_threads(THREADS)  # for this thread
                name, number, took = next(series)
            if number >= 0:
                seconds[name].append(took)
            spent = time.monotonic() - began
            share = min(0.99, max(share, min(spent / plan.seconds, (number + 1) / MIN_ROUNDS)))
            on_call(share)
            rounds = min(map(len, seconds.values()))
            enough = (rounds >= MIN_ROUNDS and spent >= plan.seconds) or (rounds and spent > MAX_SECONDS)
            if rounds == max(map(len, seconds.values())) and (enough or rounds == MAX_ROUNDS):
                break
        peaks = {}
        for name, candidate in candidates.items():
            with heavy_slot(partial(on_call, share)):
                peaks[name] = peak_memory(candidate, device)
            on_call(share)
        return Timing(plan, seconds, peaks, f"{device.type}, {describe_machine()}")

    try:
        device = devices.pick(plan.device)
        timing, notices = devices.run_with_cpu_fallback(
            time_on, device, allowed=plan.device == "auto", smaller="choose smaller sizes"
        )
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, MemoryError) or devices.is_oom_error(error):
            raise HeadlightError("the device is out of memory; choose smaller sizes") from error
        raise
    return replace(timing, notices=notices)


def show(device: str) -> tuple[TimingPlan, DeltaGenerator, DeltaGenerator]:
    """Show the controls.

    Returns:
        the chosen plan, a container for what a publication reports, and one for `show_result`.
    """
    description = (
        f"All get the same random input and weights. Times are multiples of {YARDSTICK} with its maps; “torch” is the "
        "same module doing the chosen task."
    )
    canvas.sheet("race_head", [sheet.title("Which is the fastest here?"), sheet.text(description)])
    names = widgets.pills("race")
    cases_place = st.container()
    with st.container(horizontal=True, key="race_sizes"):
        b, n, d_model, n_heads = (widgets.integer(key) for key in ("b", "n", "d", "h"))
        sizes = InputSizes(b, n, d_model, n_heads, widgets.segments("biases"))
    with cases_place:  # above the controls that it sets, but drawn after them
        canvas.sheet("cases", [cases.buttons(sizes)], cases.choose)
        reported = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="race_controls"):
        task, seconds = widgets.choice("what", list(TASKS)), widgets.integer("secs")
        plan = TimingPlan(task, tuple(names), sizes, seconds, device)
        problem = ""
        try:
            plan.check()
        except HeadlightError as error:
            problem = f"This cannot be timed: {error}."
        st.button("Start", key="start", type="primary", disabled=bool(problem))
    limits = (
        f"The limits are texts × heads × tokens² up to {MAX_RACED:,}, if the memory is free and within "
        f"{MAX_SECONDS:.0f} s; texts × tokens × d_model² up to {MAX_PRODUCTS:,}."
    )
    canvas.sheet("race_limits", [sheet.text(limits, muted=True)])
    canvas.sheet("race_problem", [sheet.notices([problem] if problem else [])])
    return plan, reported, st.container()


def show_result(plan: TimingPlan, place: DeltaGenerator) -> None:
    """Run the plan if Start was pressed, with progress; then show the latest result."""
    with place:
        progress_area = st.empty()
    if st.session_state.get("start"):
        st.session_state.pop("timing", None)
        # shown unless the timing completes: Stop, like any other event, starts another script run
        st.session_state["timing_notice"] = "Stopped; no result is kept."
        with progress_area.container(horizontal=True, vertical_alignment="center", key="race_progress"):
            progress = st.progress(0.0, "Timing")
            st.button("Stop", key="stop")
        shown_at = time.monotonic()

        def on_call(share: float) -> None:
            nonlocal shown_at
            if time.monotonic() - shown_at > SHOW_SECONDS:
                shown_at = time.monotonic()
                progress.progress(share, "Timing")

        try:
            st.session_state["timing"] = measure(plan, on_call)
        except HeadlightError as error:
            st.session_state["timing_notice"] = f"The timing ended early: {error}."
        progress_area.empty()
    timing: Timing | None = st.session_state.get("timing")
    with place:  # the previous result stays visible during a timing
        message = st.session_state.get("timing_notice", "Nothing has been timed yet.")
        canvas.sheet("race_result", [sheet.text(message)] if timing is None else result(timing))


def result(timing: Timing) -> list[Block]:
    """Return the medians as bars, and a table of all numbers."""
    plan, sizes = timing.plan, timing.plan.sizes
    names = [name for name in (*IMPLEMENTATIONS, YARDSTICK) if name in timing.seconds]
    unit, baseline = statistics.median(timing.seconds[YARDSTICK]), timing.peaks[YARDSTICK]
    ratios = [statistics.median(timing.seconds[name]) / unit for name in names]
    rows = []
    for name, ratio in zip(names, ratios, strict=True):
        times, peak = spread(timing.seconds[name]), timing.peaks[name]
        quartiles = f"{times.lower_quartile * 1e3:.3f} to {times.upper_quartile * 1e3:.3f}"
        memory_used = ["–", "–"] if peak is None or not baseline else [f"{peak / 1e6:.2f}", f"{peak / baseline:.2f}"]
        rows.append([name, f"{times.median * 1e3:.3f}", quartiles, f"{times.calls}", f"{ratio:.2f}", *memory_used])
    head = ["implementation", "median ms", "quartiles ms", "calls", "× torch", "peak MB", "peak × torch"]
    caption = (
        f"{plan.task} · b {sizes.b}, n {sizes.n}, d_model {sizes.d_model}, {sizes.n_heads} heads, float32 · "
        f"{timing.machine}. × torch: the median as a multiple of that of {YARDSTICK} with its maps, in the same "
        "shuffled rounds. Half of the calls lie between the quartiles."
    )
    unmeasured = ["Peak memory is not measured on this device."] if None in timing.peaks.values() else []
    bars = sheet.bars(f"median time, × {YARDSTICK} with maps", names, ratios, decimals=2)
    return [sheet.notices([*timing.notices, *unmeasured]), bars, sheet.table(head, rows, caption)]
