"""What all experiments share.

`experiment` says what one is, and `store` where its results are kept: a folder for each run, and the book's records.
`run` measures part by part, and goes on where it was stopped; `provenance` notes where a number came from. `texts` and
`training` read what the settings of an experiment name, and train it; `search` chooses settings by the validation text,
and keeps what it chose; `scoring` asks every language model the same. `golden` notices what no settings name.
"""
