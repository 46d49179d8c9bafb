"""Model class for a config.json, by transformers' own tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Unsupported
from . import audio_processor, folders, image_processor, offline

# tables of the supported heads in order of priority -> how their output is used
TEXTS = {
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES": "writes",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES": "answers",
    "MODEL_FOR_MASKED_LM_MAPPING_NAMES": "",
    "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES": "",
}
PICTURES = {"MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES": ""}
SOUNDS = {
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES": "answers",
    "MODEL_FOR_CTC_MAPPING_NAMES": "",
    "MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES": "has no decoder",
}
BASE = "MODEL_MAPPING_NAMES"


@dataclass(frozen=True)
class Family:
    """A concrete model class and its config.

    Attributes:
        kind: the class.
        config: the config, an object of the library.
        is_generative: whether its logits predict the next token.
        is_encoder_decoder: whether it reads one text or sound and writes another.
        input_kind: "text", "picture" or "sound".
    """

    kind: Any
    config: Any
    is_generative: bool
    is_encoder_decoder: bool
    input_kind: str = "text"


def family(config_json: Mapping[str, Any]) -> Family:
    """Return the model class for a checked config.

    Raises:
        Unsupported: it is of another library, reads inputs that are not supported, or needs a device with missing
            features.
        WeightsFileError: the config does not fit the class.
    """
    model_type = config_json.get("model_type")
    if not isinstance(model_type, str):
        raise Unsupported("config.json names no model_type; only models of the transformers library are read")
    if "quantization_config" in config_json:
        raise Unsupported(f"this {model_type} is quantised (quantization_config); choose one with unquantised weights")
    library = offline.transformers()
    from transformers.models.auto import modeling_auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    reads, heads, expected_input = _family_input(model_type)
    tables = {name: getattr(modeling_auto, name).get(model_type) for name in (*heads, BASE)}
    if model_type not in CONFIG_MAPPING or not any(tables.values()):
        raise Unsupported(
            f"model_type={model_type!r} is not a model type that transformers {library.__version__} supports"
        )
    architectures = config_json.get("architectures")
    architecture = architectures[0] if isinstance(architectures, list) and architectures else None
    name, role = next(
        ((architecture, does) for head, does in heads.items() if architecture in _names(tables[head])),
        (_names(tables[BASE])[0] if tables[BASE] else architecture, ""),
    )
    with folders.library_errors(f"config.json does not describe a {model_type}"):
        config = CONFIG_MAPPING[model_type].from_dict(dict(config_json))
    kind = getattr(library, str(name), None)
    main_input = getattr(kind, "main_input_name", "something else")
    if main_input != expected_input:
        raise Unsupported(
            f"{model_type} reads {main_input}, not a text; of those that read pictures these are run here: "
            f"{', '.join(image_processor.KINDS)}; of those that read sounds: {', '.join(audio_processor.KINDS)}"
        )
    has_decoder = bool(getattr(config, "is_encoder_decoder", False)) and role != "has no decoder"
    return Family(kind, config, role in ("writes", "answers"), role == "answers" or has_decoder, reads)


def _family_input(model_type: str) -> tuple[str, dict[str, str], str]:
    """Return the kind of input of a family, the tables of its heads, and the name of its main input."""
    if model_type in image_processor.KINDS:
        return "picture", PICTURES, "pixel_values"
    if model_type in audio_processor.KINDS:
        return "sound", SOUNDS, audio_processor.KINDS[model_type].input_name
    return "text", TEXTS, "input_ids"


def _names(entry: Any) -> tuple[str, ...]:
    return () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)


def text_config(config: Any) -> Any:
    """Return the part of a config that describes the text model."""
    try:
        return config.get_text_config()
    except Exception:  # raised by a family with two text models
        return config
