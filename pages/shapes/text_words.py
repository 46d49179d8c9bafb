"""What a step is called in the texts that write attention the way this implementation does (assets/step_words.toml)."""

import re
import tomllib
from pathlib import Path

# implementation -> text -> step -> its words there
WORDS: dict[str, dict[str, dict[str, str]]] = tomllib.loads(
    (Path(__file__).parents[2] / "assets" / "step_words.toml").read_text("utf-8")
)


def of(implementation: str, step: str) -> list[tuple[str, str]]:
    """(text, its words) of each text that has this step; of the steps of single heads all have the same."""
    name = re.sub(r"\.head\d+$", ".head", step)
    of_q = re.sub(r"^[kv]\.", "q.", name)
    texts = WORDS.get(implementation, {}).items()
    found = ((text, words.get(name) or words.get(of_q, "")) for text, words in texts)
    return [(text, said) for text, said in found if said]
