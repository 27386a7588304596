"""Language models made of cells and layers (chapters 1, 2 and 7).

`recurrent`, `window` and `transformer` hold one model each, `base` what they share and `layers` what they are built
of; `scheduled_sampling` trains on what the model itself wrote, and `files` keeps a model with its vocabulary.
"""

from unrolled.models.base import NeuralModel, check_tokens
from unrolled.models.files import KINDS, load_model, save_model
from unrolled.models.layers import Dropout, DropoutStack, Layer, Stack, TorchLayers
from unrolled.models.recurrent import CORES, LanguageModel
from unrolled.models.scheduled_sampling import ScheduledSampling
from unrolled.models.transformer import TransformerLM
from unrolled.models.window import FixedWindowLM

__all__ = [
    "CORES",
    "KINDS",
    "Dropout",
    "DropoutStack",
    "FixedWindowLM",
    "LanguageModel",
    "Layer",
    "NeuralModel",
    "ScheduledSampling",
    "Stack",
    "TorchLayers",
    "TransformerLM",
    "check_tokens",
    "load_model",
    "save_model",
]
