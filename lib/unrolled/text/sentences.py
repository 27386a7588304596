"""Cut a text into its sentences."""

import re

_END = re.compile(r"(?<=[.!?]) |(?<=[.!?]\") |\n")


def split_sentences(text: str) -> list[str]:
    r"""Return the sentences of a text without the spaces and newlines between them; a quoted one ends at its mark.

    >>> split_sentences('"Lost?" asked Ivy. It was.\nThe end')
    ['"Lost?"', 'asked Ivy.', 'It was.', 'The end']
    """
    return [sentence for sentence in _END.split(text) if sentence]
