"""The explorer: its slider moves the picture where a kernel lives, and its frames are saved for the pages."""

import base64
import html
import json
import re

import numpy as np
import pytest

from unrolled.figures import charts, explore

pytestmark = pytest.mark.usefixtures("book_style")


def frames():
    """Return frames that differ in the width of their numbers."""
    return {size: charts.dots({"a": [-size, size]}, xlabel="x", xlim=(-9999, 9999)) for size in (1, 20, 3000)}


def shown(box):
    """Return the alternative text and the SVG of the picture that an explorer shows."""
    alt, data = re.fullmatch(r'<img alt="([^"]*)" .*base64,([^"]+)">', box.children[1].value).groups()
    return html.unescape(alt), base64.b64decode(data).decode()


def test_the_slider_chooses_the_picture_and_starts_where_it_is_told_to():
    box = explore.slider(frames(), 'size "s" <i>', start=20)
    choice = box.children[0]
    assert [label for label, _ in choice.options] == ["1", "20", "3000"] and choice.label == "20"
    seen = {choice.label: shown(box)}
    for choice.index in (2, 0):
        seen[choice.label] = shown(box)
    assert {value: alt for value, (alt, _) in seen.items()} == {v: f'size "s" <i>: {v}' for v in ("20", "3000", "1")}
    assert len({svg for _, svg in seen.values()}) == 3 and charts.plt.get_fignums() == []


def test_all_frames_have_their_axes_in_the_same_place_and_room_for_their_names():
    drawn = frames() | {2: charts.dots({"a longer name": [-1, 2]}, xlabel="x", xlim=(-9999, 9999))}
    explore.slider(drawn, "size")
    places = np.array([figure.axes[0].get_position().extents for figure in drawn.values()])
    assert np.ptp(places, axis=0).max() < 1e-9
    for figure in drawn.values():
        figure.draw_without_rendering()
        whole = figure.axes[0].get_tightbbox()
        assert whole.x0 >= 0 and whole.x1 <= figure.bbox.width, "nothing is cut off"


def test_while_the_book_is_made_the_frames_are_saved_always_with_the_same_bytes(tmp_path, monkeypatch):
    saved = []
    for run in ("first", "second"):
        monkeypatch.setenv("UNROLLED_FIGURES", str(tmp_path / run))
        explore.slider(frames(), "Half-size s", start=20)
        (folder,) = (tmp_path / run / "explorers").iterdir()
        saved.append({path.name: path.read_text(encoding="utf8") for path in sorted(folder.iterdir())})
    assert folder.name == explore.folder("Half-size s") == "half-size-s" and saved[0] == saved[1]
    assert list(saved[0]) == ["0.svg", "1.svg", "2.svg", "explorer.json"] and len(set(saved[0].values())) == 4
    assert json.loads(saved[0]["explorer.json"]) == {
        "label": "Half-size s",
        "values": ["1", "20", "3000"],
        "start": 1,
    }


@pytest.mark.parametrize("start", [None, 3])
def test_what_does_not_move_is_refused(start):
    few = {1: charts.plt.figure()} if start is None else dict.fromkeys((1, 2), charts.plt.figure())
    with pytest.raises(ValueError, match="give two, and one of them"):
        explore.slider(few, "x", start=start)
