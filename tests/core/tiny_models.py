"""Any model type of transformers with tiny random weights, and inputs for it."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from mha_core.errors import HeadlightError
from mha_core.pretrained import offline

WIDTH, HEADS, KV_HEADS, HEAD = 32, 4, 2, 8
VOCABULARY, LONGEST = 99, 160
READ, WRITTEN = 72, 66  # tokens
WINDOW = 16
MAX_PARAMETERS = 70_000_000

# tables of classes, the first that has a type's
TABLES = (
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_MASKED_LM_MAPPING_NAMES", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_MAPPING_NAMES",
)  # fmt: skip

_NAMES = {
    WIDTH: "hidden_size d_model n_embd dim embed_dim emb_dim hidden_dim model_dim embedding_size word_embed_proj_dim "
    "decoder_hidden_size encoder_hidden_size d_embed backbone_hidden_size lru_width embedding_dim width "
    "ngram_hidden_size projection_dim codebook_dim image_size",
    HEADS: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads "
    "attention_heads encoder_num_attention_heads decoder_num_attention_heads num_decoder_attention_heads "
    "num_encoder_attention_heads n_encoder_heads mtp_num_attention_heads swa_num_attention_heads "
    # and of what else there are as many
    "qk_rope_head_dim num_experts num_local_experts n_routed_experts moe_num_experts num_routed_experts n_experts "
    "rotary_dim mamba_n_heads mamba_d_state index_n_heads num_single_attention_heads",
    KV_HEADS: "num_key_value_heads num_kv_heads n_head_kv decoder_num_key_value_heads encoder_num_key_value_heads "
    "attention_kv_heads swa_num_key_value_heads "
    # and layers, and experts that are chosen
    "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_encoder_layers "
    "num_decoder_layers depth encoder_num_hidden_layers decoder_num_hidden_layers num_experts_per_tok "
    "num_experts_per_token moe_topk top_k moe_top_k moe_k top_k_experts moe_num_active_primary_experts "
    "num_global_layers num_block_records",
    48: "intermediate_size d_ff ffn_dim n_inner encoder_ffn_dim decoder_ffn_dim moe_intermediate_size d_inner "
    "ffn_hidden_size shared_expert_intermediate_size expert_ffn_hidden_size dense_intermediate_size "
    "shared_intermediate_size encoder_intermediate_size decoder_intermediate_size "
    "moe_shared_expert_intermediate_size hidden_size_per_layer_input intermediate_size_mlp",
    HEAD: "head_dim d_kv attention_head_dim v_head_dim qk_nope_head_dim d_head attention_head_size kv_channels "
    "global_head_dim attention_key_dim swa_head_dim swa_v_head_dim index_head_dim encoder_head_dim head_size "
    "patch_size relative_attention_num_buckets",
    1: "n_group topk_group n_shared_experts num_nextn_predict_layers first_k_dense_replace moe_layer_start_index "
    "num_shared_experts expert_layer_offset",
    VOCABULARY: "vocab_size n_vocab decoder_vocab_size encoder_vocab_size src_vocab_size tgt_vocab_size "
    "vocab_size_per_layer_input text_vocab_size",
    LONGEST: "max_position_embeddings n_positions max_target_positions max_source_positions max_seq_len n_ctx "
    "max_sequence_length max_text_positions max_2d_position_embeddings",
    WINDOW: "sliding_window window_size local_attention attention_chunk_size sliding_window_size index_topk "
    "kv_lora_rank q_lora_rank mamba_d_head",
    24: "relative_attention_max_distance",
}
SIZES = {name: size for size, names in _NAMES.items() for name in names.split()}
# sizes that a description may leave to others, and does not here
UNSAID = {
    "num_key_value_heads",
    "n_routed_experts",
    "num_experts",
    "moe_intermediate_size",
    "top_k_experts",
    "vocab_size",
}
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
# what only a family's own sum allows
OWN: dict[str, dict[str, Any]] = {
    "deepseek_v3": {"num_key_value_heads": HEADS},
    "deepseek_v2": {"num_key_value_heads": HEADS, "head_dim": 4},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "esm": {"pad_token_id": 0, "mask_token_id": 3, "position_embedding_type": "rotary"},
    "mpnet": {"relative_attention_num_buckets": 32},
    "bamba": {"attn_layer_indices": [1]},
}


def classes(model_type: str) -> list[str]:
    """Names of the classes to try for a type, the first with a head, the last those that no table names."""
    library = offline.transformers()
    from transformers.models.auto import modeling_auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    found: list[str] = []
    for table in TABLES:
        entry = getattr(modeling_auto, table).get(model_type)
        found += [entry] if isinstance(entry, str) else list(entry or ())
    if found:
        return list(dict.fromkeys(found))
    config = CONFIG_MAPPING[model_type]
    name = config.__module__.replace(".configuration_", ".modeling_")
    if importlib.util.find_spec(name) is None:
        return []
    file = importlib.import_module(name)
    of_file = [one for name, one in vars(file).items() if isinstance(one, type) and hasattr(library, name)]
    known = [one.__name__ for one in of_file if getattr(one, "config_class", None) is config]
    return [name for name in known if not name.endswith("PreTrainedModel")]


def description(kind: Any, **more: Any) -> dict[str, Any]:
    """Keyword arguments that make a tiny description of that class, and of those inside it."""
    given: dict[str, Any] = {}
    known = {one.name: one.default for one in dataclasses.fields(kind)}
    inner = {name: part for name, part in _inner(kind).items() if name in known}
    for name, default in known.items():
        if name in inner:
            continue
        whole = isinstance(default, int) and not isinstance(default, bool)
        if name in SIZES and (whole or (default is None and name in UNSAID)):
            given[name] = SIZES[name]
        elif name.endswith(("token_id", "token_index")):
            if default is not None and default is not dataclasses.MISSING:
                given[name] = IDS.get(name, 3)
        elif ("dropout" in name or name.endswith("drop")) and isinstance(default, float):
            given[name] = 0.0
    for name, part in inner.items():
        given[name] = description(part, **more) | ({"model_type": part.model_type} if part.model_type else {})
    if "use_cache" in known:
        given["use_cache"] = False
    return given | {key: value for key, value in more.items() if key in known} | OWN.get(kind.model_type, {})


def _inner(kind: Any) -> dict[str, Any]:
    """The classes of the descriptions inside one."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    found = dict(kind.sub_configs)
    for name, spec in kind.sub_configs_defaults.items():
        model_type = getattr(spec, "model_type", None)
        if isinstance(model_type, str) and model_type in CONFIG_MAPPING:
            found[name] = CONFIG_MAPPING[model_type]
    return {name: part for name, part in found.items() if isinstance(part, type) and dataclasses.is_dataclass(part)}


# tried one after the other, until the model can be made and run
TRIES: tuple[dict[str, Any], ...] = (
    {},
    {"num_key_value_heads": HEADS},
    {"num_hidden_layers": 4, "n_layer": 4, "n_layers": 4},
    {"num_hidden_layers": 8},
    {"hidden_size": 64, "d_model": 64, "head_dim": 16},
    {"head_dim": 16, "qk_rope_head_dim": 8},
    {"num_key_value_heads": HEADS, "num_hidden_layers": 4},
    {"hidden_size": 64, "head_dim": 16, "num_key_value_heads": HEADS},
    {"image_size": 64, "num_hidden_layers": 2},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 0]}},
)


def build(kind: Any, config_class: Any, seed: int = 0, **more: Any) -> Any:
    """A tiny model of that class, every parameter random, in eval mode, eager."""
    offline.transformers()
    torch.manual_seed(seed)
    config = config_class(**description(config_class, **more))
    config._attn_implementation = "eager"
    with torch.device("meta"):
        size = sum(one.numel() for one in kind(config).parameters())
    if size > MAX_PARAMETERS:
        raise ValueError(f"{size:,} parameters are not tiny")
    return randomised(kind(config).eval(), seed)


def randomised(model: Any, seed: int = 0) -> Any:
    """The model with random parameters, scales of norms about 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, one in model.named_parameters():
            if one.is_floating_point():
                noise = torch.randn(one.shape, generator=generator) * (0.12 if one.dim() > 1 else 0.05)
                one.copy_(noise + (1 if one.dim() == 1 and "norm" in name.lower() and "weight" in name else 0))
    return model


@cache
def model_of(model_type: str) -> Any:
    """A tiny model of that type, with the head that a description asks for first."""
    library = offline.transformers()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    name = classes(model_type)[0]
    return build(getattr(library, name), CONFIG_MAPPING[model_type])


class Float64Throughout(TorchFunctionMode):
    """While it is active, what a family of transformers computes in float32 whatever its dtype is float64."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def wide(value: Any) -> Any:
            return torch.float64 if value is torch.float32 else value

        if func is torch.Tensor.float:
            return args[0].double()
        return func(*map(wide, args), **{name: wide(value) for name, value in (kwargs or {}).items()})


WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "a", "cat", "sat", "on", "mat")
SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")  # in the order of the ids that a description gets


def save(model: Any, folder: Path, *, ends: bool = False) -> Path:
    """The model as its library saves it, and a tokenizer of a few words; with `ends` each text ends with [SEP]."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    model.save_pretrained(folder)
    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *WORDS))}
    tokenizer: Any = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if ends:
        tokenizer.post_processor = processors.TemplateProcessing(single="$A [SEP]", special_tokens=[("[SEP]", 2)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def edit(file: Path, **changes: Any) -> None:
    """Says something else in a description of a folder."""
    content = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(content | changes))


def check_refusals(
    cases: Iterable[tuple[Any, str]], act: Callable[[Any], object], error: type[Exception] = HeadlightError
) -> None:
    """Assert that `act` refuses every case in one line, which its pattern matches."""
    for case, expected in cases:
        with pytest.raises(error) as caught:
            act(case)
        assert re.search(expected, str(caught.value)), f"{str(caught.value)!r} is not {expected!r}"
        assert "\n" not in str(caught.value).strip(), expected


def inputs(
    model: Any, read: int = READ, written: int = WRITTEN, seed: int = 0, more: tuple[str, ...] = ()
) -> dict[str, Any]:
    """What the model reads: tokens, a picture or a sound; with `more` names of the other arguments of its pass."""
    generator = torch.Generator().manual_seed(seed)
    config = model.config

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    def tokens(n: int) -> torch.Tensor:
        return torch.randint(5, VOCABULARY - 1, (1, n), generator=generator)

    def one(name: str) -> torch.Tensor:
        if name == "pixel_values":
            size = _find(config, "image_size", 32)
            sizes = tuple(size) if isinstance(size, (list, tuple)) else (size, size)
            return random(1, _find(config, "num_channels", 3), *sizes)
        if name == "input_features":
            bins = _find(config, "num_mel_bins", 80)
            frames = 2 * _find(config, "max_source_positions", 36)
            return random(1, bins, frames) if config.model_type == "whisper" else random(1, frames, bins)
        if name in ("input_values", "input_audio"):
            return random(1, 16_000)
        if name in ("input_ids", "decoder_input_ids"):
            return tokens(read if name == "input_ids" else written)
        if name == "inputs_embeds":
            return random(1, read, config.hidden_size)
        if name == "bbox":
            return torch.randint(0, 100, (1, read, 4), generator=generator).sort(dim=-1).values
        raise ValueError(f"it reads {name}")

    names = [getattr(model, "main_input_name", "input_ids"), *more]
    if getattr(config, "is_encoder_decoder", False):
        names.append("decoder_input_ids")
    return {name: one(name) for name in dict.fromkeys(names)}


# further arguments that a pass may want, tried in this order
MORE: tuple[tuple[str, ...], ...] = ((), ("pixel_values",), ("input_ids",), ("bbox",))


def _find(config: Any, name: str, default: Any) -> Any:
    for part in (config, *(getattr(config, sub, None) for sub in getattr(config, "sub_configs", {}))):
        value = getattr(part, name, None)
        if value is not None:
            return value
    return default
