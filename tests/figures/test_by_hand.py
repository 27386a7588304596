"""What the reader moves by hand is computed as Python computes it, and said to whoever does not see it."""

import re

import pytest
import torch
from playwright.sync_api import expect

import axe
from unrolled import cells, figures
from unrolled.figures import live

BOOKS = {"keys": [[1, 1], [0, 1], [1, -1]], "values": [[10, 0], [0, 10], [10, 10]]}
DATA = {name: live.descriptions()[name]["data"] for name in ("keeps", "asks")}
GIVEN = {"asks": BOOKS}  # what the chapter gives
TASKS = DATA["keeps"]["tasks"]
ENDS = {"count letters": 0, "write, ignore, read": -0.7, "two sums of marked numbers": 1.3}
ENDS["count letters with a leak"] = (0.8**3 - 1) * (1 + 0.8 + 0.8**2)  # each a has shrunk for three steps more


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def status(page):
    return page.locator(".pg-score")


def held(page) -> tuple[float, float]:
    """Return what the figure says that the cell holds and shows, (c, h)."""
    c, h = re.search(r"holds (\S+) and shows (\S+)\.$", status(page).inner_text()).groups()
    return number(c), number(h)


def exact(value) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


def by_cell(settings: list[dict[str, float]]) -> list[tuple[float, float]]:
    """Return (c, h) after each step of the library's cell with one unit whose biases alone open and shut the gates."""
    cell, state, after = cells.LSTMCell(1, 1).double(), None, []
    for each in settings:
        opened = {name: exact(each[name]).logit() for name in "fio"}
        with torch.no_grad():
            for weights in cell.parameters():
                weights.zero_()
            for name, bias in (opened | {"candidate": exact(each["g"]).atanh()}).items():
                cell.block(name).b_h.fill_(bias.item())
            h, c = state = cell(torch.zeros(1, 1).double(), state)
        after.append((c.item(), h.item()))
    return after


def level(page) -> float:
    """Return where the water stands, in the unit of the tank."""
    wall, water = (page.locator(f".pg-tank rect.{name}") for name in ("pg-wall", "pg-water"))
    top, height = (float(wall.get_attribute(name)) for name in ("y", "height"))
    zero = top + height / 2
    y, deep = (float(water.get_attribute(name)) for name in ("y", "height"))
    return (deep if y < zero - 1e-9 else -deep) * 2 * DATA["keeps"]["range"] / height


def lit(page) -> list[float]:
    """Return how strongly the two terms of the cell state are lit, in letters and in numbers."""
    terms = page.locator(".pg-formulas span[style]").all()[:4]
    return [float(term.evaluate("each => each.style.getPropertyValue('--share')")) for term in terms]


@pytest.mark.parametrize("task", [task for task in TASKS if "settings" in task], ids=lambda task: task["name"])
def test_each_step_of_a_task_is_that_of_the_books_cell(opened, task):
    page = opened("keeps")
    page.get_by_label("task").select_option(task["name"])
    for t, (c, h) in enumerate(by_cell([task["settings"][word] for word in task["words"]]), start=1):
        expect(status(page)).to_contain_text(f"Step {t} of {len(task['words'])}, {task['words'][t - 1]}: ")
        assert held(page) == pytest.approx((c, h), abs=0.0051)
        assert level(page) == pytest.approx(c, abs=1e-6)
        if t < len(task["words"]):
            page.get_by_role("button", name="Next step").click()
    expect(page.get_by_role("button", name="Next step")).to_be_disabled()
    assert c == pytest.approx(ENDS[task["name"]], abs=1e-9)


def test_gates_move_by_keyboard_and_the_terms_light_up(opened):
    page = opened("keeps")
    for _ in range(2):
        page.get_by_role("button", name="Next step").click()
    assert held(page)[0] == 3
    forget = page.get_by_label("f, forget gate")
    forget.focus()
    assert lit(page) == [1, 1, 1, 1]
    page.keyboard.press("Home")
    assert forget.get_attribute("aria-valuetext") == "0.00" and lit(page) == [0, 1, 0, 1]
    settings = [{"f": 1.0, "i": 1.0, "g": 1.0, "o": 1.0}] * 2 + [{"f": 0.0, "i": 1.0, "g": 1.0, "o": 1.0}]
    assert held(page) == pytest.approx(by_cell(settings)[-1], abs=0.0051) and level(page) == pytest.approx(1)
    expect(page.locator("[aria-live]")).to_have_text(status(page).inner_text())
    page.get_by_role("button", name="keep").click()
    assert held(page)[0] == 2 and lit(page) == [1, 0, 1, 0]
    page.wait_for_function("document.querySelector('.pg-chart polyline').points.length === 4")
    page.get_by_role("button", name="Start again").click()
    expect(status(page)).to_contain_text("Step 1 of 6, a: of 0.00")


def random_numbers(seed: int):
    """Yield the random numbers from 0 to 1 of the engine's generator, mulberry32, once more."""
    while True:
        seed = (seed + 0x6D2B79F5) % 2**32
        t = (seed ^ seed >> 15) * (seed | 1) % 2**32
        t ^= (t + (t ^ t >> 7) * (t | 61)) % 2**32
        yield (t ^ t >> 14) / 2**32


def attended(query: tuple[float, float], d: int, seed: int, scaled: bool) -> list[torch.Tensor]:
    """Return the scores of the books, their weights and the mean, from PyTorch."""
    random = random_numbers(seed)
    drawn = [[-1 if next(random) < 0.5 else 1 for _ in range(4)] for _ in range(2, d)]  # of the query and three keys
    beyond = exact(drawn).reshape(-1, 4).T
    vectors = torch.cat([exact([query, *BOOKS["keys"]]), beyond], dim=1)
    q, k, v = vectors[:1], vectors[1:], exact(BOOKS["values"])
    scale = d**-0.5 if scaled else 1.0
    mean = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale)
    return [(q @ k.T * scale)[0], (q @ k.T * scale).softmax(dim=1)[0], mean[0]]


def matches(page, *asked) -> None:
    """Compare what the figure shows with `attended`."""
    scores, weights, mean = attended(*asked)
    rows = page.locator(".pg-scores tr").all()[1:]
    shown = [number(row.locator("td").first.inner_text()) for row in rows]
    assert shown == pytest.approx(scores.tolist(), abs=0.0051)
    shares = [row.locator(".pg-bar").evaluate("bar => Number(bar.style.getPropertyValue('--share'))") for row in rows]
    assert shares == pytest.approx(weights.tolist(), abs=1e-9)
    said = re.search(r"The mean of the values is \((.+), (.+)\)\.$", status(page).inner_text()).groups()
    assert [number(each) for each in said] == pytest.approx(mean.tolist(), abs=0.051)


def test_scores_weights_and_mean_follow_the_query_by_keyboard(opened):
    page = opened("asks", BOOKS)
    matches(page, (1, 1), 2, 1, False)
    page.get_by_label("q₁").press("Home")
    page.get_by_label("q₂").press("End")
    matches(page, (-3, 3), 2, 1, False)
    expect(page.locator("[aria-live]")).to_have_text(status(page).inner_text())


def test_the_query_is_dragged(opened):
    page = opened("asks", BOOKS)
    box = page.locator(".pg-drag").bounding_box()
    unit, middle = box["width"] / 2 / (1.15 * 3), (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(middle[0] + unit, middle[1] - unit)
    page.mouse.down()
    page.mouse.move(middle[0] - 2 * unit, middle[1] - 1.5 * unit)
    matches(page, (-2, 1.5), 2, 1, False)
    page.mouse.up()
    page.mouse.move(*middle)
    matches(page, (-2, 1.5), 2, 1, False)


def test_long_queries_choose_one_key_and_the_root_lets_them_blend(opened):
    page = opened("asks", BOOKS)
    expect(page.get_by_role("button", name="Draw others")).to_be_disabled()
    page.get_by_label("dimension d").press("End")
    d = DATA["asks"]["sizes"][-1]
    for seed in (1, 2, 3):
        for kind in ("as they are", "divided by √d"):
            page.get_by_label("scores").select_option(kind)
            matches(page, (1, 1), d, seed, kind != "as they are")
        page.get_by_role("button", name="Draw others").click()
    largest = {scaled: [attended((1, 1), d, seed, scaled)[1].max() for seed in range(1, 101)] for scaled in (0, 1)}
    assert torch.tensor(largest[0]).median() > 0.99 and torch.tensor(largest[1]).median() < 0.8


WHOLE = {"landmark-one-main", "page-has-heading-one", "region"}  # what axe asks of a whole page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", [*DATA, "answers"])
def test_it_fits_a_phone_and_breaks_no_rule_of_axe(browser, name, theme):
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=theme)
    page.set_content(figures.demonstration(name, **GIVEN.get(name, {})).page)
    page.wait_for_selector("figure[data-ready]")
    axe.load(page)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert [line for line in axe.violations(page) if line.split(":")[0] not in WHOLE] == []
    page.close()
