"""What was recorded of the long post's experiment: both orders of a sentence, maps, and the post's own figures."""

from collections.abc import Sequence
from statistics import fmean

from mha_core.training.long_post import PROBES
from mha_core.training.recorded import Recorded
from mha_core.training.report import mean_and_sd
from pages.kit.draw import canvas, sheet
from pages.kit.draw.numbers import count, fixed, share, small
from pages.kit.draw.sheet import Block
from pages.kit.frame import widgets

from . import answers, post_figures, summary
from .recorded_runs import Runs

*_ORDERS, _MAPPED = PROBES


def draw_ask(runs: Runs, *, is_open: bool) -> None:
    """Draws the answers to a sentence in both orders, and the maps of another, with their numbers."""
    recipes = [run.start.recipe for line in runs.values() for run in line[:1]]
    if is_open:
        columns = [sheet.panel(f"“{text}”", [chances(runs, text)]) for text in _ORDERS]
        told = [sheet.text(line) for line in (*both_orders(runs), *twice(runs))]
        title = sheet.title("The same words in two orders", "probability of every class, seed 1 of each, as recorded")
        canvas.sheet("recorded_orders", [title, sheet.row(columns, even=True), *told])
    head = widgets.choice("head", answers.head_names([(recipe.n_layers, recipe.n_heads) for recipe in recipes]))
    if is_open:
        note = f"“{_MAPPED}” · rows look at columns · counted from 0 · seed 1 of each, as recorded"
        maps = [map_of(name, line[0], head) for name, line in runs.items()]
        canvas.sheet("recorded_maps", [sheet.panel("Where each one looks", [sheet.row(maps)], note)])


def chances(runs: Runs, text: str) -> Block:
    """The probability of every class for a sentence: of each model's first seed, and as the post prints it."""
    classes = next(iter(runs.values()))[0].classes
    columns = {name: _answer(line[0], text) for name, line in runs.items()}
    printed = {} if set(classes) - set(post_figures.CLASSES) else post_figures.ORDERS
    for position, pair in printed.items():
        ours = dict(zip(post_figures.CLASSES, pair[_ORDERS.index(text)], strict=True))
        columns[f"the post, {position}"] = [ours[name] for name in classes]
    return sheet.shares("", list(zip(*columns.values(), strict=True)), classes, list(columns))


def both_orders(runs: Runs) -> list[str]:
    """Whether the probabilities of the two orders are equal, over all seeds of each line."""
    gaps = {name: [_gap(run) for run in line] for name, line in runs.items()}
    blind = [name for name, found in gaps.items() if max(found) <= answers.SAME]
    said = []
    if blind:
        most = max(max(gaps[name]) for name in blind)
        rounding = f" up to rounding, {small(most)}" if most else ""
        said.append(f"{summary.in_quotes(blind)}: both orders get the same probabilities in every seed{rounding}.")
    for name, found in gaps.items():
        if name in blind:
            continue
        largest, smallest = (share(gap, 3).replace("<", "less than ") for gap in (max(found), min(found)))
        spread = "" if largest == smallest else f" in the seed where it does most, by {smallest} where it does least"
        said.append(f"“{name}”: the other order changes the probability of a class by {largest}{spread}.")
    return said


def _gap(run: Recorded) -> float:
    """The largest difference of a probability between the two orders."""
    one, other = (_answer(run, text) for text in _ORDERS)
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def twice(runs: Runs) -> list[str]:
    """A sentence on those lines that give every test row the same class, seed by seed."""
    return [
        f"{summary.in_quotes(names)} give every test row the same class in {count(len(runs[names[0]]), 'seed')}: read "
        "them as one model that is shown again."
        for names in _same_answers(runs)
        if len(names) > 1
    ]


def _same_answers(runs: Runs) -> list[list[str]]:
    """The names of the lines, together where they answer alike in every seed."""
    together: dict[tuple[tuple[int, ...], ...], list[str]] = {}
    for name, line in runs.items():
        together.setdefault(tuple(tuple(run.predicted) for run in line), []).append(name)
    return list(together.values())


def map_of(name: str, run: Recorded, head: str) -> Block:
    """The map of one model with its numbers, and what the rows of the repeated word are to each other."""
    probe = PROBES.index(_MAPPED)
    return answers.matrix_of(name, run.start.probes[probe], run.maps[probe], head)


def beside_the_post(runs: Runs) -> Block:
    """The accuracy and the seconds of each line, and what the post says of the same model."""
    rows = []
    for name, line in runs.items():
        accuracy, said = summary.spread([run.accuracy for run in line]), line[0].line.said
        epoch = f"{fmean(run.seconds_per_epoch for run in line):.2f}"
        whole = f"{fmean(run.history.seconds for run in line):.1f}"
        post = ["—"] * 3 if said is None else [f"{said.accuracy:g}", f"{said.seconds_per_epoch:g}", f"{said.seconds:g}"]
        rows.append([name, accuracy, post[0], epoch, post[1], whole, post[2]])
    head = ["", "accuracy", "the post", "seconds an epoch", "the post", "seconds in all", "the post"]
    caption = (
        "Accuracy: mean ± standard deviation over the seeds; of the post one run. Seconds: the mean of the seeds, as "
        "they passed while these runs were recorded, on cores that other work shared."
    )
    return sheet.panel(
        "Beside the post’s own figures",
        [sheet.table(head, rows, caption), *(sheet.text(line) for line in compared(runs))],
    )


def compared(runs: Runs) -> list[str]:
    """Whether implementations differ by more than seeds do, and what the time of a step is of."""
    once = [runs[names[0]] for names in _same_answers(runs)]
    alike = [line for line in once if line[0].start.recipe.position == "none" and len(line) > 1]
    said = twice(runs)
    if len(alike) > 1:
        spreads = [mean_and_sd([run.accuracy for run in line]) for line in alike]
        means = [mean for mean, _ in spreads]
        largest = max(deviation for _, deviation in spreads)
        apart = max(means) - min(means)
        lie = f"Without positions the implementations’ means lie {fixed(apart)} apart"
        if all(line[0].start.recipe.start == "shared" for line in alike):
            said.append(f"{lie}: a seed gives all of them the same first numbers, so that only rounding differs.")
        else:
            verdict = "less than" if apart < largest else "more than"
            said.append(f"{lie}: {verdict} the seeds of one do (standard deviation up to {fixed(largest)}).")
    if not any(run.start.recipe.all_rows for line in runs.values() for run in line):
        said.append(
            "Here the last layer computes the row of [CLS] alone, which is all that is read: the same function in a "
            "fraction of the time."
        )
    return said


def posts_reports(names: Sequence[str]) -> list[Block]:
    """The reports that the post prints of those of these models that it prints any of."""
    panels = []
    for name in names:
        printed = post_figures.REPORTS.get(name)
        if printed is None:
            continue
        columns = (post_figures.CLASSES, printed.precision, printed.recall, printed.f1, post_figures.SUPPORT)
        rows = [
            [of, f"{precision:.2f}", f"{recall:.2f}", f"{f1:.2f}", str(support)]
            for of, precision, recall, f1, support in sorted(zip(*columns, strict=True))  # in the order of ours
        ]
        rows.append(["accuracy", "", "", f"{printed.accuracy:.2f}", str(sum(post_figures.SUPPORT))])
        table = sheet.table(["class", "precision", "recall", "F1", "test rows"], rows, "One run, another split.")
        panels.append(sheet.panel(f"What the post prints of “{name}”", [table]))
    return [sheet.row(panels, even=True)] if panels else []


def _answer(run: Recorded, text: str) -> list[float]:
    found: list[float] = run.answers[PROBES.index(text)].tolist()
    return found
