"""The screens that pages are looked at on, and what a reader does to see an explorer or a theme."""

SCREENS = {"desktop": (1280, 900), "phone": (360, 780)}
WIDGETS_READY = 20_000  # milliseconds
THEME_READY = 5_000
VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]'


def draw_explorers(page) -> None:
    """Bring a page's first explorer into sight, wait until all are drawn, and go back to the top."""
    page.evaluate(f"document.querySelector('{VIEW}').closest('.cell_output').scrollIntoView()")
    page.wait_for_selector(".unrolled-explorer [role=slider][aria-label]", timeout=WIDGETS_READY)
    page.wait_for_selector(".unrolled-explorer img.widget-image", timeout=WIDGETS_READY)
    page.evaluate("scrollTo(0, 0)")


def draw_theme(page, theme: str) -> None:
    """Ask for light or dark as the reader's system does, and wait until the page has followed."""
    page.emulate_media(color_scheme=theme)
    page.wait_for_function("theme => document.documentElement.dataset.theme === theme", arg=theme, timeout=THEME_READY)
