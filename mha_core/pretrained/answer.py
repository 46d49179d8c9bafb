"""Settings of a model's own answer, from the generation_config.json of its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ..errors import WeightsFileError
from . import folders

FILE = "generation_config.json"
# settings that choose the next token of a greedy answer; no other one is passed on, as some name code or files
SETTINGS = (
    "bad_words_ids", "suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id",
    "forced_decoder_ids", "decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id", "sequence_bias",
    "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "repetition_penalty", "encoder_repetition_penalty",
    "min_length", "min_new_tokens", "exponential_decay_length_penalty", "remove_invalid_values",
    # of Whisper
    "is_multilingual", "language", "task", "lang_to_id", "task_to_id", "no_timestamps_token_id", "return_timestamps",
    "max_initial_timestamp_index", "prev_sot_token_id",
)  # fmt: skip
# settings that a greedy answer leaves out -> their words
OTHER_METHODS = {"num_beams": "{} beams", "do_sample": "sampling", "penalty_alpha": "contrastive search",
            "prompt_lookup_num_tokens": "prompt lookup", "dola_layers": "DoLa decoding",
            "stop_strings": "stop strings", "custom_generate": "code of its own"}  # fmt: skip
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
    with folders.library_errors(f"{name} does not say how text is generated"):
        parse = parse_model if name != FILE or content.get("_from_model_config") else parse_file
        settings: dict[str, Any] = parse(content).to_dict()
        options = {key: settings[key] for key in SETTINGS if settings.get(key) is not None}
        for key, value in options.items():
            if isinstance(value, (list, dict)) and len(value) > MAX_ENTRIES:
                raise WeightsFileError(f"{name} has {len(value):,} entries of {key}; at most {MAX_ENTRIES:,} are read")
        options["min_length"] = min(options.get("min_length", 0), MAX_TOKENS)
        config = parse_file({**options, "do_sample": False, "num_beams": 1})
        words = [*(config.bad_words_ids or ()), *([number] for number in config.suppress_tokens or ())]
        suppressed_ids = [word[0] for word in words if len(word) == 1]
    if settings.get("num_beams") == 1:
        del settings["num_beams"]
    methods = [words.format(settings[key]) for key, words in OTHER_METHODS.items() if settings.get(key)]
    sentence = f"Its own answer is greedy; its settings ({name}) ask for {' and '.join(methods)}."
    return Answer(config, sentence if methods else "", suppressed_ids)
