"""The explorers of the pages: made of saved frames, moved by keyboard, and pictures where nothing runs."""

import json
import re
from pathlib import Path

import nbformat
import pytest

import pictures
from notebooks import WIDGET
from places import ROOT
from screens import draw_explorers

pytestmark = pytest.mark.book
CHAPTERS = {
    f"chapters/{path.stem}": [
        label
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code"
        for label in pictures.named_in(cell.source, "explore.slider")
    ]
    for path in sorted(ROOT.glob("chapters/*.ipynb"))
}
SVG = '<svg viewBox="0 0 504 252" xmlns="http://www.w3.org/2000/svg"><g transform="scale(0.11 -0.11)"></g></svg>'
LIVE = '<figure class="demonstration" data-show="learns">\n<script type="application/json">{}</script>\n</figure>'


@pytest.fixture
def saved(tmp_path) -> Path:
    """A folder with a figure and with an explorer of three frames, as the library saves them."""
    folder = tmp_path / "explorers" / "width-w"
    folder.mkdir(parents=True)
    for path in (tmp_path / "loss.svg", *(folder / f"{number}.svg" for number in range(3))):
        path.write_text(SVG)
    (folder / "explorer.json").write_text(json.dumps({"label": "width <w>", "values": ["1", "2 & 3", "4"], "start": 1}))
    return tmp_path


def on_page(saved: Path, source: str, **shown) -> list[dict]:
    """Return what a page has of a chapter's cell that shows a widget, or what it is said to, and a picture."""
    shown = [shown or {WIDGET: {"model_id": "x"}, "text/plain": "VBox()"}, {"image/png": "", "text/plain": "Figure"}]
    outputs = [nbformat.v4.new_output("display_data", data) for data in shown]
    cell = nbformat.v4.new_code_cell(source, outputs=outputs)
    cell.metadata["mystnb"] = {"image": {"alt": 'Chart of "loss" & time.'}}
    made = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {"state": {}}})
    pictures.on_page(made, "chapters/02-two", saved, saved / "explorers", saved / "site")
    assert "widgets" not in made.metadata
    return [dict(output.data) for output in made.cells[0].outputs]


def test_a_page_has_the_saved_frames_in_place_of_a_widget_and_of_the_figure_beside_it(saved):
    (shown,) = on_page(saved, 'charts.save(fig, "loss")\nexplore.slider(frames, label="width <w>")')
    page = shown["text/html"]
    assert re.findall(r'src="([^"]+)"', page) == [f"../explorers/02-two/width-w/{number}.svg" for number in range(3)]
    assert re.findall(r'alt="([^"]+)"', page) == [f"width &lt;w&gt;: {value}" for value in ("1", "2 &amp; 3", "4")]
    assert page.count(" hidden>") == 3, "two frames, and the controls until a script runs"
    assert 'max="2" value="1"' in page and "<output>2 &amp; 3</output>" in page and "<w>" not in page
    assert re.findall(r'data-value="(\d).*?" [^>]*lazy">', page) == ["2"], "the frame at which the slider starts"
    assert 'role="group" aria-label="Chart of &quot;loss&quot; &amp; time."' in page
    assert len(list((saved / "site/explorers/02-two/width-w").iterdir())) == 3


def test_a_saved_figure_is_shown_as_svg_and_what_cannot_be_shown_is_said(saved):
    assert on_page(saved, 'charts.save(fig, "loss")\nexplore.slider(frames, label="h")') == [{"image/svg+xml": SVG}]
    assert on_page(saved, 'explore.slider(frames, label="h")')[0] == {"text/markdown": pictures.NO_FRAMES}
    with pytest.raises(ValueError, match="chapters/02-two shows a widget that explore.slider did not make"):
        on_page(saved, "box")


def test_a_demonstration_has_the_figure_that_its_cell_saves_as_its_picture(saved):
    source = 'charts.save(fig, "loss")\ndemonstration("learns", text=text)'
    (shown,) = on_page(saved, source, **{"text/html": LIVE, "text/plain": "Demonstration('learns')"})
    opening, still, *rest = shown["text/html"].splitlines()
    assert [opening, *rest] == LIVE.splitlines() and list(shown) == ["text/html"]
    assert 'src="../explorers/02-two/loss.svg" alt="Chart of &quot;loss&quot; &amp; time." width="672"' in still
    assert (saved / "site/explorers/02-two/loss.svg").read_text() == SVG


def test_a_drawing_keeps_its_letters_at_ten_pixels():
    assert pictures.shape(SVG) == 'width="672" height="336" style="--readable: 458px"'
    assert pictures.shape(SVG.replace("0.11", "0.05")).endswith('"--readable: 672px"'), "never beyond its own size"


@pytest.mark.parametrize("name", [name for name in CHAPTERS if CHAPTERS[name]])
def test_every_explorer_moves_by_keyboard_and_is_a_picture_without_scripts(visit, browser, own, name):
    page = visit(name)
    draw_explorers(page)
    explorers = page.locator(".explorer").all()
    assert len(explorers) == len(CHAPTERS[name])
    for explorer, label in zip(explorers, CHAPTERS[name], strict=True):
        slider, values = explorer.get_by_role("slider", name=label), []
        shown = explorer.locator("img:not([hidden])")
        slider.focus()
        for key in ("Home", "ArrowRight", "End", "ArrowLeft"):
            page.keyboard.press(key)
            values.append(slider.get_attribute("aria-valuetext"))
            assert shown.count() == 1 and shown.get_attribute("alt") == f"{label}: {values[-1]}"
            assert explorer.locator("output").inner_text() == values[-1]
        assert len(set(values)) >= 3 or len(set(values)) == explorer.locator("img").count()
    context = browser.new_context(java_script_enabled=False)
    still = context.new_page()
    still.goto((own / f"{name}.html").as_uri())
    for explorer in still.locator(".explorer").all():
        assert explorer.locator("img:visible").count() == 1 and not explorer.get_by_role("slider").is_visible()
    context.close()
