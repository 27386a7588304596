"""The helper library of *Unrolled*, in rooms that follow the book's table of contents.

``text`` and ``ngram`` (chapter 1), ``cells`` (2, 5, 6), ``bptt`` and ``symbolic`` (3, 5, 6), ``tasks`` and ``measure``
(4), ``models``, ``training`` and ``decoding`` (7). ``figures`` draws what it is given, ``answers`` checks exercises,
``records`` keeps what only hours can measure. No room knows of those above it: ``tests/test_rooms.py`` has the
floors.
"""

__version__ = "0.1.0"
