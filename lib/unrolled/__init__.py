"""The helper library of *Unrolled*: one idea a file, each small enough to read in one sitting.

The modules stand on floors. ``settings``, ``grammar``, ``stories``, ``sources``, ``corpora``, ``vocabulary``,
``batches`` and ``cells`` know nothing of training; ``models`` are built of cells; ``training`` and ``evaluation`` use
models; ``experiments`` uses all of them and ``records`` keeps what they measured; ``plots``, ``readings``, ``diagrams``
and ``explore`` draw what they are given and compute nothing.
"""

__version__ = "0.1.0"
