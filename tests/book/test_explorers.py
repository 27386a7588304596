"""The explorers of the pages: made of saved frames, moved by keyboard and by their button, still where nothing runs."""

import json
import re
from pathlib import Path

import nbformat
import numpy as np
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
        for label in pictures.labels(cell.source)
    ]
    for path in sorted(ROOT.glob("chapters/*.ipynb"))
}
SVG = '<svg viewBox="0 0 504 252" xmlns="http://www.w3.org/2000/svg"><g transform="scale(0.11 -0.11)"></g></svg>'


@pytest.fixture
def saved(tmp_path) -> Path:
    """A folder with an explorer of three frames, as the library saves it."""
    folder = tmp_path / "explorers" / "width-w"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.svg").write_text(SVG)
    (folder / "explorer.json").write_text(json.dumps({"label": "width <w>", "values": ["1", "2 & 3", "4"], "start": 1}))
    return tmp_path


def chapter(*sources: str) -> nbformat.NotebookNode:
    """Return a chapter each of whose cells shows a widget and a picture."""
    shown = [
        nbformat.v4.new_output("display_data", {WIDGET: {"model_id": "x"}, "text/plain": "VBox()"}),
        nbformat.v4.new_output("display_data", {"image/png": "", "text/plain": "Figure"}),
    ]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source, outputs=shown) for source in sources])


def test_a_page_has_the_saved_frames_in_place_of_a_widget(saved, tmp_path):
    made = chapter('explore.slider(frames, label="width <w>")')
    made.metadata["widgets"] = {"state": {}}
    pictures.on_page(made, "chapters/02-two", saved, saved / "explorers", tmp_path / "site")
    page = made.cells[0].outputs[0].data["text/html"]
    assert re.findall(r'src="([^"]+)"', page) == [f"../explorers/02-two/width-w/{number}.svg" for number in range(3)]
    assert re.findall(r'alt="([^"]+)"', page) == [f"width &lt;w&gt;: {value}" for value in ("1", "2 &amp; 3", "4")]
    assert page.count(" hidden>") == 3, "two frames, and the controls until a script runs"
    assert 'max="2" value="1"' in page and "<output>2 &amp; 3</output>" in page and "<w>" not in page
    assert re.findall(r'data-value="(\d).*?" [^>]*lazy">', page) == ["2"], "the frame at which the slider starts"
    assert sorted(path.name for path in (tmp_path / "site/explorers/02-two/width-w").iterdir()) == [
        "0.svg",
        "1.svg",
        "2.svg",
    ]
    assert "widgets" not in made.metadata and "image/png" in made.cells[0].outputs[1].data


def test_a_saved_figure_is_shown_as_svg_and_an_explorer_without_frames_says_so(tmp_path):
    (tmp_path / "loss.svg").write_text(SVG)
    made = chapter('plots.save(fig, "loss")\nexplore.slider(frames, label="w")', 'explore.slider(frames, label="h")')
    pictures.on_page(made, "chapters/02-two", tmp_path, tmp_path / "explorers", tmp_path)
    (figure,), (explorer, _) = (cell.outputs for cell in made.cells)
    assert figure.data == {"image/svg+xml": SVG} and explorer.data == {"text/markdown": pictures.NO_FRAMES}


def test_an_explorer_takes_the_place_of_the_figure_that_its_cell_saves(saved, tmp_path):
    made = chapter('plots.save(fig, "loss")\nexplore.slider(frames, label="width <w>")')
    made.cells[0].metadata["mystnb"] = {"image": {"alt": 'Chart of "loss" & time.'}}
    pictures.on_page(made, "chapters/02-two", tmp_path, saved / "explorers", tmp_path / "site")
    (output,) = made.cells[0].outputs
    assert 'role="group" aria-label="Chart of &quot;loss&quot; &amp; time."' in output.data["text/html"]


def test_a_demonstration_has_the_figure_that_its_cell_saves_as_its_picture(tmp_path):
    (tmp_path / "loss.svg").write_text(SVG)
    shown = '<figure class="demonstration" data-show="learns">\n<script type="application/json">{}</script>\n</figure>'
    made = chapter('plots.save(fig, "loss")\ndemonstration("learns", text=text)')
    data = {"text/html": shown, "text/plain": "Demonstration('learns')"}
    made.cells[0].outputs[0] = nbformat.v4.new_output("execute_result", data)
    made.cells[0].metadata["mystnb"] = {"image": {"alt": 'Chart of "loss" & time.'}}
    pictures.on_page(made, "chapters/02-two", tmp_path, tmp_path / "explorers", tmp_path / "site")
    (output,) = made.cells[0].outputs
    opening, still, *rest = output.data["text/html"].splitlines()
    assert [opening, *rest] == shown.splitlines() and list(output.data) == ["text/html"]
    assert 'src="../explorers/02-two/loss.svg" alt="Chart of &quot;loss&quot; &amp; time." width="672"' in still
    assert (tmp_path / "site/explorers/02-two/loss.svg").read_text() == SVG


def test_a_widget_that_no_page_can_show_is_refused(tmp_path):
    with pytest.raises(ValueError, match="chapters/02-two shows a widget that explore.slider did not make"):
        pictures.on_page(chapter("box"), "chapters/02-two", tmp_path, tmp_path, tmp_path)


def test_a_drawing_keeps_its_letters_at_ten_pixels():
    assert pictures.shape(SVG) == 'width="672" height="336" style="--readable: 458px"'
    assert pictures.shape(SVG.replace("0.11", "0.05")).endswith('"--readable: 672px"'), "never beyond its own size"
    with pytest.raises(ValueError, match="no viewBox"):
        pictures.shape("<svg></svg>")


@pytest.mark.parametrize("name", [name for name in CHAPTERS if CHAPTERS[name]])
def test_every_explorer_moves_by_keyboard_and_has_a_name(visit, name):
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


def test_the_button_plays_to_the_end_and_not_where_motion_is_unwanted(visit):
    name = next(name for name in CHAPTERS if CHAPTERS[name])
    page = visit(name)
    explorer = page.locator(".explorer").first
    slider, button = explorer.get_by_role("slider"), explorer.get_by_role("button", name="Play")
    last = slider.get_attribute("max")
    page.clock.install()
    button.click()
    assert slider.input_value() == "1" and button.get_attribute("aria-pressed") == "true"
    page.clock.run_for(60_000)
    assert slider.input_value() == last and button.get_attribute("aria-pressed") == "false"
    page.emulate_media(reduced_motion="reduce")
    assert not button.is_visible() and slider.is_visible()


@pytest.mark.parametrize("name", [name for name in CHAPTERS if CHAPTERS[name]])
def test_without_scripts_and_in_print_an_explorer_is_a_picture(browser, own, name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((own / f"{name}.html").as_uri())
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        for explorer in page.locator(".explorer").all():
            assert explorer.locator("img:visible").count() == 1 and not explorer.get_by_role("slider").is_visible()
    context.close()


def frames(folder: Path) -> list[str]:
    return [(folder / f"{number}.svg").read_text("utf8") for number in range(len(list(folder.glob("*.svg"))))]


def spines(svg: str) -> np.ndarray:
    """Return the ends of the axes' lines in a frame, in points: (axes, 4)."""
    patches = re.findall(r'<g id="patch_\d+">\s*<path d="M ([\d.]+) ([\d.]+) \s*L ([\d.]+) ([\d.]+) \s*"', svg)
    return np.array(patches, dtype=float).reshape(-1, 4)


def test_the_axes_of_an_explorer_have_one_place_in_all_frames(html):
    folders = [path.parent for path in html.glob("explorers/*/*/0.svg")]
    drawn = {folder: [spines(svg) for svg in frames(folder)] for folder in folders}
    charts = {folder: lines for folder, lines in drawn.items() if len(lines[0])}
    assert len(charts) > len(folders) / 3
    for folder, lines in charts.items():
        assert all(np.allclose(lines[0], other, atol=0.1) for other in lines), folder
