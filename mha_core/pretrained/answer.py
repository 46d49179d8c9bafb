"""Settings of a model's own answer, from the generation_config.json of its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ..errors import WeightsFileError
from . import folders

FILE = "generation_config.json"
NAMES = folders.NAMES["generation"]
MAX_TOKENS = 64  # without the start token
MAX_ENTRIES = 10_000  # of one setting; the library goes through all of them for each token


class Answer(NamedTuple):
    """Settings of a model's own answer, and a remark on them.

    Attributes:
        config: GenerationConfig of the library for greedy decoding.
        remark: a sentence about the settings that greedy decoding leaves out; "" if there are none.
        suppressed_ids: tokens that the model never writes.
    """

    config: Any
    remark: str
    suppressed_ids: list[int]


def read(folder: Path) -> Answer:
    """Read the settings of a folder, which older ones have in config.json.

    Raises:
        WeightsFileError: they are damaged.
    """
    from transformers import GenerationConfig

    parse_file: Any = GenerationConfig.from_dict
    parse_model: Any = GenerationConfig.from_model_config
    if (folder / FILE).exists():
        name, content = FILE, folders.read_json(folder, FILE)
    else:
        name, content = folders.CONFIG, folders.read_json(folder, folders.CONFIG)
    for key in NAMES["settings"]:
        if isinstance(value := content.get(key), (list, dict)) and len(value) > MAX_ENTRIES:
            raise WeightsFileError(f"{name} has {len(value):,} entries of {key}; at most {MAX_ENTRIES:,} are read")
    with folders.library_errors(f"{name} does not say how text is generated"):
        parse = parse_model if name != FILE or content.get("_from_model_config") else parse_file
        settings: dict[str, Any] = parse(content).to_dict()
        options = {key: settings[key] for key in NAMES["settings"] if settings.get(key) is not None}
        options["min_length"] = min(options.get("min_length", 0), MAX_TOKENS)
        config = parse_file({**options, "do_sample": False, "num_beams": 1})
        words = [*(config.bad_words_ids or ()), *([number] for number in config.suppress_tokens or ())]
        suppressed_ids = [word[0] for word in words if len(word) == 1]
    if settings.get("num_beams") == 1:
        del settings["num_beams"]
    methods = [words.format(settings[key]) for key, words in NAMES["other_methods"].items() if settings.get(key)]
    sentence = f"Its own answer is greedy; its settings ({name}) ask for {' and '.join(methods)}."
    return Answer(config, sentence if methods else "", suppressed_ids)
