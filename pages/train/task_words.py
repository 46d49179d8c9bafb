"""The question that a task poses, as a sentence with two rows of its data."""

from headlight.ui.numbers import cut
from mha_core.training.tasks import Labelled, Language, Task, Translation

_QUESTIONS = {
    "who": "Who acts in the sentence? One of {classes}.",
    "food": "Is the food good? Comments about the service do not count.",
    "brackets": "Is every bracket closed in the right order?",
    "words": "Random words, then the same words again. Which word comes next?",
    "names": "People are named in full and again later. Which surname comes next?",
    "made_up": "Is the (made-up) news about business, entertainment, politics, sport or tech?",
    "dates": "Which date is written? The answer has four digits for the year, two for the month and two for the day.",
    "shapes": "Which shape is in the picture, {classes}? Its size, position and rotation vary, and there is noise.",
    "text": "Which character comes next in the text?",
}
_CLASSES = "Which of {classes} is the text?"
_NO_DATA = {
    "text": "Add your own text: the models learn which character comes next.",
    "csv": "Add your own table: the models learn the label of each text.",
    "news": "Add a table of news: the models learn the label of each text.",
}
_MAX_CLASSES = 4  # classes
_MAX_LETTERS = 60  # of a row


def question(name: str, task: Task | None) -> str:
    """Return the question of a task; `task`: its data, None if they are not available."""
    if task is None:
        return _NO_DATA.get(name, "")
    sentence = _QUESTIONS.get(name, _CLASSES)
    return sentence.format(classes=_class_list(task.classes) if isinstance(task, Labelled) else "")


def examples(task: Task | None) -> list[str]:
    """Return two rows of the data, such as "the fox visited the queen → fox"."""
    if task is None:
        return []
    pairs: list[tuple[str, str | None]]
    if isinstance(task, Labelled):
        pairs = [*rows(task)]
    elif isinstance(task, Translation):
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
    return probe[:-1], f"“{probe[-1:]}”"


def _class_list(classes: tuple[str, ...]) -> str:
    names = ", ".join(f"“{name:.30}”" for name in classes[:_MAX_CLASSES])
    return f"{names} and {len(classes) - _MAX_CLASSES} more" if len(classes) > _MAX_CLASSES else names
