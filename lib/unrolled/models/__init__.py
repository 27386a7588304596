"""Language models made of cells and layers (chapters 1, 2 and 7).

`recurrent`, `window` and `transformer` hold one model each, `base` what they share, and `layers` what the recurrent
model is built from. `scheduled_sampling` lets a model read its own writing while it is trained, and `files` saves a
model with its vocabulary.
"""

from unrolled.models.base import NeuralModel
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
    "load_model",
    "save_model",
]
