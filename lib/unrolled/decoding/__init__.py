"""Ways to write with a language model (chapter 9).

`sampling` draws symbol after symbol, `beam` searches for the most probable text, or for the most probable target of a
source, and `diversity` measures how varied and how repetitive a text is.
"""

from unrolled.decoding.beam import Hypothesis, beam_search, translate
from unrolled.decoding.diversity import distinct, repetition
from unrolled.decoding.sampling import distribution, generate, predict, sample

__all__ = ["Hypothesis", "beam_search", "distinct", "distribution", "generate"]
__all__ += ["predict", "repetition", "sample", "translate"]
