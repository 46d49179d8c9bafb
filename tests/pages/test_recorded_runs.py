"""The long post's experiment as it was recorded: shown without a file, judged, asked and listed as it was written."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mha_core.training import recorded
from mha_core.training.long_post import PROBES
from mha_core.training.recorded import Recorded
from pages.train import post_figures, recorded_runs, recorded_section

from .train_app import Train, no_job_stays, upload

__all__ = ["no_job_stays"]

POST = ["torch", "naive", "efficient", "efficient + sinusoidal"]


@pytest.fixture(scope="module")
def runs() -> dict[str, tuple[Recorded, ...]]:
    return dict(recorded_runs.of_task("news", fair=False).recorded)


def test_it_opens_with_a_panel_a_model_and_the_posts_figures_beside() -> None:
    page = Train(task="BBC news")
    assert page.notices() == []
    assert "Recorded on 2026-11-22" in page.texts()
    assert "not computed now" in page.texts()
    assert len(page.app.get("plotly_chart")) == 2 * len(POST)
    table = page.panel("Beside the post’s own figures")["blocks"][0]
    assert [row[0] for row in table["rows"]] == POST
    assert [row[2::2] for row in table["rows"]][1] == ["0.876", "21", "218"]
    for row, line in zip(table["rows"], recorded_runs.of_task("news", fair=False).recorded.values(), strict=True):
        mean = sum(float(run.probabilities.argmax(1).eq(run.labels).float().mean()) for run in line) / len(line)
        assert row[1].startswith(f"{mean:.3f}")
    page.app.toggle(key="one").set_value(True).run()
    assert len(page.app.get("plotly_chart")) == 2
    fair = Train(task="BBC news", lines="made fair", one="true")
    assert len(fair.app.get("plotly_chart")) == 2
    assert len(fair.panel("Beside the post’s own figures")["blocks"][0]["rows"]) == 5
    assert [row[2] for row in fair.panel("Beside the post’s own figures")["blocks"][0]["rows"]] == ["—"] * 5


def test_reports_and_predictions_are_those_that_were_recorded(runs: dict[str, tuple[Recorded, ...]]) -> None:
    page = Train(task="BBC news", tab="Report", cand="naive", cand2="torch", run="seed 1", sort="P(tech)", desc="true")
    (run,) = [run for run in runs["naive"] if run.seed == 1]
    report = page.panel("What “naive” got right and wrong")["blocks"][1]
    right = int(run.probabilities.argmax(1).eq(run.labels).sum())
    assert report["rows"][5] == ["accuracy", "", "", f"{right / len(run.labels):.3f}", str(len(run.labels))]
    printed = page.panel("What the post prints of “naive”")["blocks"][0]["rows"]
    assert [row[0] for row in printed[:5]] == [row[0] for row in report["rows"][:5]]
    assert printed[4][:4] == ["tech", "0.90", "0.81", "0.85"]
    assert sum(int(row[4]) for row in printed[:5]) == int(printed[5][4]) == 307
    table = page.table("P(tech)")
    assert {row[-1] for row in table["rows"]} <= {"naive, seed 1", "torch, seed 1"}
    assert table["caption"].startswith("620 of 620 rows")  # 307 test rows and three sentences, twice
    at = run.classes.index("tech")
    top = max(
        float(one.probabilities[:, at].max()) for name in ("naive", "torch") for one in runs[name] if one.seed == 1
    )
    assert table["rows"][0][table["head"].index("P(tech)")] == (f"{top:.3f}" if top < 0.9995 else ">0.999")


def test_both_orders_and_the_three_maps(runs: dict[str, tuple[Recorded, ...]]) -> None:
    page = Train(task="BBC news", tab="Ask")
    said = [line for line in page.texts().splitlines() if line.startswith("“")]
    assert "“torch”, “naive”, “efficient”: both orders get the same probabilities" in said[0]
    assert said[1].startswith("“efficient + sinusoidal”: the other order changes the probability of a class by ")
    maps = page.panel("Where each one looks")["blocks"][0]["blocks"]
    assert [one["name"] for one in maps] == POST
    for one in maps:
        weights = runs[one["name"]][0].maps[PROBES.index("can you can that")][0].mean(dim=0)
        written = [float(cell.replace("≈", "") or 0) for row in one["cells"] for cell in row]
        assert (torch.tensor(written) - weights.flatten()).abs().max() <= 0.0051
        assert ("differ by up to" in one["note"]) == (one["name"] == POST[3])
    (first, _) = [block for block in page.blocks() if block["kind"] == "matrix" and "the post, none" in block["cols"]]
    assert sorted(line[first["cols"].index("the post, none")] for line in first["cells"])[-1] == "0.564"


def test_the_sentences_follow_the_numbers(runs: dict[str, tuple[Recorded, ...]]) -> None:
    one = runs["torch"][0]
    (said,) = recorded_section.both_orders({"torch": (one,)})
    assert "same probabilities" in said
    answers = one.answers.clone()
    answers[PROBES.index("you how are")] = answers.new_tensor([1.0, 0, 0, 0, 0])
    (said,) = recorded_section.both_orders({"torch": (replace(one, answers=answers),)})
    most = max(abs(a - b) for a, b in zip(answers[0].tolist(), answers[1].tolist(), strict=True))
    assert said == f"“torch”: the other order changes the probability of a class by {most:.3f}."
    both = (replace(one, answers=answers), replace(one, answers=one.answers.flip(0)))
    (said,) = recorded_section.both_orders({"torch": both})
    least = max(map(abs, (one.answers[2] - one.answers[1]).tolist()))
    spread = f"by {most:.3f} in the seed where it does most, by {least:.3f} where it does least."
    assert said == f"“torch”: the other order changes the probability of a class {spread}"
    worse = replace(one, probabilities=one.probabilities.flip(1))
    assert "more than the seeds" in recorded_section.compared({"torch": runs["torch"], "naive": (worse, worse)})[0]


def test_one_draw_that_is_shown_twice_is_told(runs: dict[str, tuple[Recorded, ...]]) -> None:
    """A model beside itself says nothing of seeds; what was drawn on its own is not told as the same."""
    assert recorded_section.twice(runs) == []
    torch_, naive = runs["torch"], runs["naive"]
    again = {"torch": torch_, "naive": torch_}
    (said, *_) = recorded_section.compared(again)
    assert said == (
        "“torch”, “naive” give every test row the same class in 5 seeds: read them as one model that is shown again."
    )
    assert not any("the seeds of one do" in line for line in recorded_section.compared(again))
    means = [sum(run.accuracy for run in line) / len(line) for line in (torch_, naive)]
    (said,) = [line for line in recorded_section.compared(again | {"efficient": naive}) if "apart" in line]
    assert f"lie {abs(means[0] - means[1]):.3f} apart: less than the seeds of one do" in said
    fair = recorded_runs.of_task("news", fair=True).recorded
    told = "\n".join(recorded_section.compared(fair))
    assert "“naive”, “fused” give every test row the same class in 5 seeds" in told
    assert "only rounding differs" in told
    assert "the seeds of one do" not in told
    assert "“naive”, “fused” give" in Train(task="BBC news", lines="made fair", tab="Ask").texts()


def test_naive_and_efficient_are_two_draws() -> None:
    runs = recorded_runs.of_task("news", fair=False).recorded
    for one, other in zip(runs["naive"], runs["efficient"], strict=True):
        assert one.start.recipe == replace(other.start.recipe, implementation="naive")
        assert one.predicted != other.predicted
        assert one.history.evaluations[0] != other.history.evaluations[0]  # before the first step


def test_the_posts_figures_add_up() -> None:
    assert sum(post_figures.SUPPORT) == 307
    for pair in post_figures.ORDERS.values():
        for chances in pair:
            assert sum(chances) == pytest.approx(1, abs=1e-5)
    for printed in post_figures.REPORTS.values():  # recall weighted by the rows is the accuracy
        found = sum(recall * rows for recall, rows in zip(printed.recall, post_figures.SUPPORT, strict=True)) / 307
        assert found == pytest.approx(printed.accuracy, abs=0.01)


def test_a_damaged_run_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for name in recorded.names() if name.startswith("post/torch")][:1]
    monkeypatch.setattr(recorded, "names", lambda: [*names, "post/torch-nothing"])
    recorded_runs.read_lines.cache_clear()
    try:
        assert [run.name for run in recorded_runs.of_task("news", fair=False).recorded["torch"]] == names
        assert recorded_runs.of_task("csv", fair=False).candidates == ()
    finally:
        recorded_runs.read_lines.cache_clear()


def test_a_table_of_the_visitors_still_trains() -> None:
    page = Train(task="BBC news", seeds="1", pe=["none"])
    assert page.off("train_start")
    lines = [f"{word} {other},{word}" for word in ("sport", "tech") for other in "abcdefgh"]
    upload(page, "news_file", "\n".join(["text,label", *lines]).encode())
    assert not page.off("train_start")
    assert "The runs below were trained on other data than what is chosen now." in page.notices()
