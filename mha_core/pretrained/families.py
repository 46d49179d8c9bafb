"""Model class for a config.json, by transformers' own tables."""

from __future__ import annotations

import inspect
import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import Unsupported
from . import audio_processor, folders, image_processor, offline

CLASSIFIER = "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES"
# tables of the supported heads in order of priority -> how their output is used
TEXTS = {
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES": "writes",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES": "answers",
    "MODEL_FOR_MASKED_LM_MAPPING_NAMES": "",
    CLASSIFIER: "",
}
PICTURES = {"MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES": ""}
SOUNDS = {
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES": "answers",
    "MODEL_FOR_CTC_MAPPING_NAMES": "",
    "MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES": "",
}
BASE = "MODEL_MAPPING_NAMES"
QUANTISED = ("quantization_config", "quantization", "compression_config")  # the second is MLX's
ENCODER = re.compile(r"Encoder(Model)?$")  # names of classes that are half of a model


DUAL_ENCODERS = ("clip", "siglip", "siglip2", "metaclip_2", "chinese_clip", "xclip", "clap")


@dataclass(frozen=True)
class Family:
    """A concrete model class and its config.

    Attributes:
        kind: the class.
        config: the config, an object of the library.
        is_generative: whether its logits predict the next token.
        is_encoder_decoder: whether it reads one text or sound and writes another.
        input_kind: "text", "picture" or "sound".
        base: the class without a head, None where there is none.
        part: which half of a dual encoder it is, see `folders.PARTS`; "" for another model.
        other_parts: halves that can be opened beside it.
    """

    kind: Any
    config: Any
    is_generative: bool
    is_encoder_decoder: bool
    input_kind: str = "text"
    base: Any = None
    part: str = ""
    other_parts: tuple[str, ...] = ()

    def without_head(self) -> Family | None:
        """Return the family of the class without a head, or None if this is it."""
        return None if self.base in (None, self.kind) else replace(self, kind=self.base, is_generative=False)


def family(config_json: Mapping[str, Any], part: str = "") -> Family:
    """Return the model class for a checked config.

    Args:
        config_json: the config.
        part: half of a dual encoder, see `folders.PARTS`; "" = its text half.

    Raises:
        Unsupported: it is of another library, reads inputs that are not supported, or needs a device with missing
            features.
        WeightsFileError: the config does not fit the class.
    """
    library = offline.transformers()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    architectures = config_json.get("architectures")
    architecture = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    class_config = getattr(getattr(library, architecture, None), "config_class", None)
    model_type = config_json.get("model_type") or getattr(class_config, "model_type", None)
    if not isinstance(model_type, str):
        owner = "is one of diffusers" if "_diffusers_version" in config_json else "names no model_type"
        raise Unsupported(f"config.json {owner}; only models of the transformers library are read")
    reads, heads, expected_input = _family_input(model_type)
    tables = _tables(model_type, heads)
    if model_type not in CONFIG_MAPPING or not any(tables.values()):
        raise Unsupported(
            f"model_type={model_type!r:.100} is not a model type that transformers {library.__version__} supports"
        )
    _refuse_removed(config_json, model_type, CONFIG_MAPPING[model_type])
    with folders.library_errors(f"config.json does not describe a {model_type}"):
        config = _library_config({**config_json, "model_type": model_type})
    if part or config.model_type in DUAL_ENCODERS:
        halves = dual_encoder_halves(config)
        if (part or "text") not in halves:
            parts = ", ".join(f"#{name}" for name in halves) or "it is not a dual encoder"
            raise Unsupported(f"this {model_type} has no part #{part} that is read here ({parts})")
        return halves[part or "text"]
    # without a class: the weights tell whether the head is there
    unnamed = (tables[head][0] for head in reversed(heads) if tables[head] and "CLASSIFICATION" not in head)
    architecture = architecture or next(unnamed, "")
    matches = ((head, name) for head in heads for name in tables[head] if name.lower() == architecture.lower())
    head, name = next(matches, ("", ""))
    if not isinstance(config, CONFIG_MAPPING[model_type]):  # the library reads it as another type
        tables = _tables(config.model_type, heads)
        name = next(iter(tables.get(head, ())), "")
    is_encoder_decoder = bool(getattr(config, "is_encoder_decoder", False))
    base = getattr(library, architecture if architecture in tables[BASE] else "".join(tables[BASE][:1]), None)
    if ENCODER.search(architecture) and isinstance(config, class_config or ()):
        base, name = getattr(library, architecture), ""
    if head == CLASSIFIER and is_encoder_decoder:  # it pools where its input ends, not where the decoder's does
        name = ""
    kind = getattr(library, name, base)
    main_input = getattr(kind, "main_input_name", "something else")
    if kind is None or main_input != expected_input:
        raise Unsupported(
            f"{model_type} reads {main_input}, not a text; of those that read pictures these are run here: "
            f"{', '.join(image_processor.KINDS)}; of those that read sounds: {', '.join(audio_processor.KINDS)}"
        )
    role = heads[head] if name else ""
    takes_target = "decoder_input_ids" in inspect.signature(kind.forward).parameters
    has_decoder = takes_target and (role == "answers" or is_encoder_decoder)
    return Family(kind, config, role in ("writes", "answers"), has_decoder, reads, base)


def dual_encoder_halves(config: Any) -> dict[str, Family]:
    """Return the halves of a dual encoder that can be run, by their names; none for another model."""
    library, halves = offline.transformers(), dict[str, Family]()
    for part in folders.PARTS if config.model_type in DUAL_ENCODERS else ():
        half = getattr(config, f"{part}_config", None)
        kind = getattr(library, type(half).__name__.replace("Config", "Model"), None)
        reads, _, expected_input = _family_input(getattr(half, "model_type", ""))
        if getattr(kind, "main_input_name", "") == expected_input and (reads == "text") == (part == "text"):
            halves[part] = Family(kind, half, False, False, reads, kind, part)
    names = tuple(halves)
    return {part: replace(half, other_parts=tuple(n for n in names if n != part)) for part, half in halves.items()}


def _refuse_removed(config_json: Mapping[str, Any], model_type: str, config_class: Any) -> None:
    """Refuse what would not be computed as the config says."""
    for part in (config_json, *(inner for inner in config_json.values() if isinstance(inner, dict))):
        for key in QUANTISED:
            if method := part.get(key):
                name = str(method.get("quant_method") or "") if isinstance(method, dict) else ""
                raise Unsupported(
                    f"this {model_type} is quantised ({key}{name and f': {name:.40}'}); "
                    "choose one with unquantised weights"
                )
        position = part.get("position_embedding_type") or "absolute"
        is_unknown = part is config_json and not hasattr(config_class, "position_embedding_type")
        entries = {"pruned_heads": part.get("pruned_heads")}
        if str(position).startswith("relative") or (is_unknown and position != "absolute"):
            entries["position_embedding_type"] = position
        for key, value in entries.items():
            if value:
                raise Unsupported(
                    f"this {model_type} has {key} = {value!r:.40}, which transformers 5 has removed: its maps would be "
                    "those of another model; choose one without"
                )


def _library_config(config_json: Mapping[str, Any]) -> Any:
    """Return the library's own reading of a checked config; it sees this copy alone."""
    from transformers import AutoConfig

    with tempfile.TemporaryDirectory(prefix="config") as place:
        (Path(place) / folders.CONFIG).write_text(json.dumps(config_json), "utf-8")
        config: Any = AutoConfig.from_pretrained(place, local_files_only=True, trust_remote_code=False)
    config.name_or_path = ""
    return config


def _tables(model_type: str, heads: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    from transformers.models.auto import modeling_auto

    return {table: _names(getattr(modeling_auto, table).get(model_type)) for table in (*heads, BASE)}


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
