"""The question that a task poses, as a sentence with two rows of its data."""

from headlight import read_toml
from headlight.ui.numbers import cut
from mha_core.token_text import quote
from mha_core.training.tasks import Dates, Labelled, Language, Task

_TEXTS = read_toml("tasks")
_CLASSES = "Which of {classes} is the text?"
_MAX_CLASSES = 4  # classes
_MAX_LETTERS = 60  # of a row


def question(name: str, task: Task | None) -> str:
    """Return the question of a task; `task`: its data, None if they are not available."""
    if task is None:
        return str(_TEXTS["missing"].get(name, ""))
    sentence: str = _TEXTS["questions"].get(name, _CLASSES)
    return sentence.format(classes=class_list(task.classes) if isinstance(task, Labelled) else "")


def examples(task: Task | None) -> list[str]:
    """Return two rows of the data, such as "the fox visited the queen → fox"."""
    if task is None:
        return []
    pairs: list[tuple[str, str | None]]
    if isinstance(task, Labelled):
        pairs = [*rows(task)]
    elif isinstance(task, Dates):
        pairs = [(text, task.answer(text)) for text in task.questions]
    else:
        pairs = [_next_token(task, *pair) for pair in zip(task.questions, task.probes, strict=False)]
    return [f"{cut(text, _MAX_LETTERS)}\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}{answer}" for text, answer in pairs[:2]]


def rows(task: Labelled) -> list[tuple[str, str]]:
    """Return two test rows with their classes: a mirror pair of generated data, or the shortest rows of two classes."""
    if len(task.test) > 1 and task.test[0].pair is not None and task.test[0].pair == task.test[1].pair:
        selection = list(task.test[:2])
    else:
        shortest_rows = {row.label: row for row in sorted(task.test, key=lambda row: -len(row.text))}
        selection = sorted(shortest_rows.values(), key=lambda row: len(row.text))[:2]
    return [(row.text, task.classes[row.label]) for row in selection]


def default_texts(task: Task) -> tuple[str, ...]:
    """Return the texts to ask by default; for an uploaded table also some of its own rows."""
    if isinstance(task, Labelled) and task.name in ("csv", "news"):
        return (*task.questions, *(text for text, _ in rows(task) if text not in task.questions))
    return task.questions


def _next_token(task: Language, question: str, probe: str) -> tuple[str, str]:
    """Return the beginning of a probe and its next token."""
    rest = probe.removeprefix(question) if probe.startswith(question) else ""
    if task.joined_by and rest.strip():
        return question, rest.split()[0]
    return probe[:-1], quote(probe[-1:])


def class_list(classes: tuple[str, ...], limit: int = _MAX_CLASSES) -> str:
    """Return the names of the first classes, and the number of the others."""
    names = ", ".join(quote(name[:30]) for name in classes[:limit])
    return f"{names} and {len(classes) - limit} more" if len(classes) > limit else names
