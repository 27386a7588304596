"""The screens that pages are looked at on, and what a reader does to see an explorer or a theme."""

END_TRANSITIONS = """() => {
    const running = () => document.getAnimations().filter((each) => each instanceof CSSTransition);
    for (let all = running(); all.length; all = running()) all.forEach((each) => each.finish());
}"""
SCREENS = {"desktop": (1280, 900), "phone": (360, 780)}
READY = 30_000  # milliseconds: a limit for a machine that has other work, too


def draw_explorers(page) -> None:
    """Bring each explorer of a page into sight, wait until its frames are loaded, and go back to the top."""
    for explorer in page.locator(".explorer").all():
        explorer.scroll_into_view_if_needed()
        loaded = (
            "explorer => [...explorer.querySelectorAll('img')].every(frame => frame.complete && frame.naturalWidth)"
        )
        page.wait_for_function(loaded, arg=explorer.element_handle(), timeout=READY)
    page.evaluate("scrollTo(0, 0)")


def draw_theme(page, theme: str) -> None:
    """Ask for light or dark as the reader's system does, and wait until the page has followed; no colour fades then."""
    page.emulate_media(color_scheme=theme)
    page.wait_for_function("theme => document.documentElement.dataset.theme === theme", arg=theme, timeout=READY)
    page.evaluate(END_TRANSITIONS)  # a page that is not drawn, as after a photograph, would not end them by itself
