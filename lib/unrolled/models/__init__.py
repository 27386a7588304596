"""Models made of cells and layers: language models (chapters 1, 2, 7), taggers (10), encoder–decoders (11).

`recurrent`, `window` and `transformer` hold the language models, `base` what all models share, `layers` what the
recurrent ones are built from, and `attention` scores, masks and heads. `encoder` reads whole sequences and tags words,
`encoder_decoder` writes another sequence, and `files` saves a model with its vocabularies.
"""

from unrolled.models.attention import (
    AdditiveScore,
    MultiHeadAttention,
    ProductScore,
    attend,
    causal_mask,
    padding_mask,
    scaled_dot_product,
)
from unrolled.models.base import Network, NeuralModel, evaluating
from unrolled.models.encoder import Encoder, Tagger, TaggingNetwork
from unrolled.models.encoder_decoder import EncoderDecoder
from unrolled.models.files import KINDS, load_model, save_model
from unrolled.models.layers import CORES, Dropout, Stack
from unrolled.models.recurrent import LanguageModel, ResidualLM
from unrolled.models.transformer import TransformerBlock, TransformerLM
from unrolled.models.window import FixedWindowLM

__all__ = [
    "CORES",
    "KINDS",
    "AdditiveScore",
    "Dropout",
    "Encoder",
    "EncoderDecoder",
    "FixedWindowLM",
    "LanguageModel",
    "MultiHeadAttention",
    "Network",
    "NeuralModel",
    "ProductScore",
    "ResidualLM",
    "Stack",
    "Tagger",
    "TaggingNetwork",
    "TransformerBlock",
    "TransformerLM",
    "attend",
    "causal_mask",
    "evaluating",
    "load_model",
    "padding_mask",
    "save_model",
    "scaled_dot_product",
]
