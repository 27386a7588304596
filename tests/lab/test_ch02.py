"""Chapter 2's experiment: a model of stories is asked for names in stories that it has not read."""

from lab.ch02_vanilla_rnn import recall
from small_experiments import small
from unrolled.measure import recall_by_lag
from unrolled.text import stories


def test_recall_is_asked_in_stories_that_were_not_trained_on(tmp_path, monkeypatch):
    asked = []

    def watched(model, vocabulary, corpus, kind, edges):
        asked.append((kind, {story.text for story in corpus.stories}))
        return recall_by_lag(model, vocabulary, corpus, kind, edges)

    monkeypatch.setattr(recall, "recall_by_lag", watched)
    config = small("rnn-recall", "rnn", edges=[1, 50, 500])
    metrics = recall.measure(config, 0, tmp_path)
    assert [kind for kind, _ in asked] == ["name", "pronoun"]
    read = {story.text for story in stories.corpus(config["text"]["characters"]).stories}
    assert all(heard and heard.isdisjoint(read) for _, heard in asked)
    assert all(0 <= share <= 1 for share in metrics["name"] + metrics["pronoun"])
    assert min(metrics["name_asked"] + metrics["pronoun_asked"]) > 0 and metrics["nats"] > 0
