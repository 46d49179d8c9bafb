"""Example sentences, among them Winograd's classic pair."""

from typing import NamedTuple


class Example(NamedTuple):
    """An example sentence."""

    name: str  # the phenomenon that it shows, in a few words
    text: str
    cursor: str = ""  # the head that shows it, as `at` of a link; "" for none


EXAMPLES = (
    Example("Pronoun", "The animal didn't cross the street because it was too tired", "3.1"),
    Example("Pronoun, one word changed", "The animal didn't cross the street because it was too wide", "3.1"),
    Example("Same word twice", "can you can that"),
    Example("Word order", "how are you"),
    Example("Same words, other order", "you how are"),
    Example("Word with two meanings", "orange is my favorite fruit"),
    Example("Who bit whom", "The dog bit the man"),
)
# for language models, with heads of SmolLM2
NEXT_TOKEN_EXAMPLES = (
    Example(
        "Copying", "Mr Dursley of number four Privet Drive said hello. Then Mr Dursley of number four Privet", "18.6"
    ),
    Example("Pronoun", "The animal didn't cross the street because it", "13.8"),  # it → animal
    Example("Fact", "The capital of France is", "23.4"),  # is → France
    Example("Series", "Monday, Tuesday, Wednesday, Thursday,", "9.0"),  # the day before the comma
    Example("Open bracket", "She wrote (in very small letters", "26.6"),  # the bracket that is open
    Example("Indirect object", "When Mary and John went to the store, John gave a drink to", "24.4"),  # to → Mary
)
NAMES = {example.text: example.name for example in (*EXAMPLES, *NEXT_TOKEN_EXAMPLES)}
PRESETS = tuple(example.text for example in EXAMPLES)
CURSORS = {example.text: example.cursor for example in EXAMPLES if example.cursor}
NEXT_TOKEN_CURSORS = {example.text: example.cursor for example in NEXT_TOKEN_EXAMPLES}
