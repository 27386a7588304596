"""An eigenvalue is dragged: by pointer, slider and keyboard; powers, state and gradient are those of the matrix."""

import math
import re

import numpy as np
import pytest
from playwright.sync_api import expect

import axe
from running import source
from unrolled import figures
from unrolled.figures import live

STEPS = live.descriptions()["eigenvalue"]["data"]["steps"]
WHOLE = {"landmark-one-main", "page-has-heading-one", "region"}  # what axe asks of a whole page


@pytest.fixture(params=[{}, {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}], ids=["day", "phone"])
def page(browser, request):
    """The demonstration in a page of its own; a fault there fails the test."""
    page, faults = browser.new_page(**request.param), []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.set_content(figures.demonstration("eigenvalue").page)
    page.wait_for_selector("figure[data-ready]")
    yield page
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0 and faults == []
    page.close()


def carried(radius: float, degrees: float, steps: int) -> np.ndarray:
    """Return W^k and (Wᵀ)^k of a vector (1, 0), for each k, from NumPy: (2, steps + 1, 2)."""
    angle = math.radians(degrees)
    W = radius * np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    assert np.allclose(np.abs(np.linalg.eigvals(W)), radius)
    return np.array([[np.linalg.matrix_power(M, k)[:, 0] for k in range(steps + 1)] for M in (W, W.T)])


def points(page, selector: str) -> np.ndarray:
    """Return where a line is drawn, in pixels of its drawing: (points, 2)."""
    pairs = page.locator(selector).get_attribute("points").split()
    return np.array([[float(each) for each in pair.split(",")] for pair in pairs])


def at(page) -> tuple[float, float]:
    """Return the radius and the angle of the sliders."""
    return tuple(float(page.get_by_label(name, exact=True).input_value()) for name in ("radius", "angle"))


@pytest.mark.parametrize("radius, degrees", [(0.9, 0), (1, 30), (1.05, 111), (0.5, 180)])
def test_state_and_gradient_are_those_of_the_matrix_and_its_transpose(browser, radius, degrees):
    page = browser.new_page()
    for name in ("elements", "eigenvalue"):
        page.add_script_tag(content=source(name))
    ours = page.evaluate("a => Object.values(Unrolled.carried(...a))", [radius, degrees, STEPS])
    page.close()
    assert np.allclose(ours, carried(radius, degrees, STEPS), rtol=1e-10, atol=1e-12)


def test_it_is_dragged_and_all_that_is_drawn_follows(page):
    handle = page.locator(".pg-handle").first
    handle.scroll_into_view_if_needed()
    box, plane = handle.bounding_box(), page.locator(".pg-circle").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    middle = plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 2
    page.mouse.move(middle[0], middle[1] - 0.9 * plane["width"] / 2 / 1.3, steps=5)
    page.mouse.up()
    radius, degrees = at(page)
    assert abs(radius - 0.9) <= 0.02 and abs(degrees - 90) <= 1
    page.mouse.move(middle[0], middle[1])  # it is let go
    assert at(page) == (radius, degrees)
    vectors = carried(radius, degrees, STEPS)
    places = [[float(each.get_attribute(name)) for name in ("cx", "cy")] for each in page.locator(".pg-handle").all()]
    eigenvalues = [
        (radius * math.cos(math.radians(way * degrees)), radius * math.sin(math.radians(way * degrees)))
        for way in (1, -1)
    ]
    assert np.allclose((np.array(places) / 130 - 1) * 1.3 * [1, -1], eigenvalues, atol=1e-6)  # a drawing of 260 pixels
    for way, look in enumerate(("pg-forth", "pg-back")):
        seen = points(page, f".pg-circle .{look}")
        assert np.abs((seen / 130 - 1) * 1.3 * [1, -1] - vectors[way]).max() < 0.01
        step = np.arange(STEPS + 1) if way == 0 else STEPS - np.arange(STEPS + 1)
        for chart, value, least, span in (
            (0, np.log10(np.hypot(*vectors[way].T)), -3, 6),
            (1, vectors[way][:, 0], -2, 4),
        ):
            drawn = points(page, f".pg-chart:not(.pg-circle) >> nth={chart} >> polyline.{look}")
            width = page.locator(".pg-chart:not(.pg-circle)").nth(chart).bounding_box()["width"]
            shown = np.stack([54 + (width - 66) * step / STEPS, 125 - 115 * (value - least) / span], axis=1)
            assert np.abs(drawn - shown[: len(drawn)]).max() < 0.5
            assert len(drawn) == (np.hypot(*vectors[way].T) >= (1e-3 if chart == 0 else 0)).sum()


def test_below_the_axis_the_conjugate_is_dragged_and_a_click_moves_it_there(page):
    plane = page.locator(".pg-circle")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    plane.click(position={"x": box["width"] / 2, "y": box["height"] * (0.5 + 0.25)})
    radius, degrees = at(page)
    assert abs(radius - 0.65) <= 0.02 and abs(degrees - 90) <= 1


def test_by_keyboard_the_radius_alone_changes_what_is_left(page):
    said, heard = page.locator(".pg-score"), page.locator("[aria-live]")
    page.get_by_role("button", name="fades", exact=True).click()
    left = 0.9**STEPS
    half = math.log(0.5) / math.log(0.9)
    fades = (
        f"Radius 0.90, angle 0°: after {half:.1f} steps half of the state is left, and half of the gradient; after "
        f"{STEPS} steps, {100 * left:.1f} %. Meanwhile the direction stays."
    )
    expect(said).to_have_text(fades)
    expect(heard).to_have_text(fades)
    page.get_by_label("angle", exact=True).press("End")
    assert page.get_by_label("angle", exact=True).get_attribute("aria-valuetext") == "180°"
    expect(said).to_have_text(
        fades.replace("angle 0°", "angle 180°").replace("the direction stays", "a full turn takes 2 steps")
    )
    assert page.locator("[aria-pressed=true]").count() == 0
    page.get_by_role("button", name="explodes", exact=True).press("Enter")
    assert page.locator("[aria-pressed=true]").inner_text() == "explodes"
    twice = math.log(2) / math.log(1.05)
    expect(said).to_contain_text(f"after {twice:.1f} steps the state is twice as long, and so is the gradient; after")
    expect(said).to_contain_text(f"{1.05**STEPS:.1f} times as long.")
    for _ in range(5):
        page.get_by_label("radius", exact=True).press("ArrowLeft")
    expect(said).to_contain_text(f"Radius 1.00, angle 0°: after {STEPS} steps the state is as long as it was")
    for picture in page.get_by_role("img").all():
        assert picture.get_attribute("aria-label").endswith(said.inner_text())
    axe.load(page)
    assert [line for line in axe.violations(page) if line.split(":")[0] not in WHOLE] == []


def test_in_a_page_it_needs_no_engine():
    assert re.search(r'data-models="" data-parts="elements training"', live.figure("eigenvalue"))
