"""Whole models over the attention layers: the stack of blocks and what is built on it."""

from .block import AttentionBlock, BlockSizes
from .classifier import Classifier, ClassifierSizes
from .decoder import Decoder, DecoderConfig
from .encoder import Encoder, EncoderSizes
from .generation import Generation, NewToken
from .language_model import LanguageModel, LanguageSizes
from .model import Model
from .run import Run
from .stack import Stack

__all__ = [
    "AttentionBlock",
    "BlockSizes",
    "Classifier",
    "ClassifierSizes",
    "Decoder",
    "DecoderConfig",
    "Encoder",
    "EncoderSizes",
    "Generation",
    "LanguageModel",
    "LanguageSizes",
    "Model",
    "NewToken",
    "Run",
    "Stack",
]
