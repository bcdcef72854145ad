"""The built site in a real browser: search finds, the gallery shows pictures, nothing sticks out of a phone.

Run by ``make test-browser``, which builds the site; screenshots as for the report.
"""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

SITE = Path(__file__).parent.parent.parent / "docs" / "_build"
PAGES = [
    "index.html",
    "which_agent.html",
    "comparison.html",
    "tails.html",
    "generated/gallery/index.html",
    "generated/gallery/router.html",
    "generated/env/six_arms.html",
    "generated/agent/heavy_q_learning.html",
    "generated/api/Learner.html",
]


class Quiet(SimpleHTTPRequestHandler):
    """A server that prints nothing."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that is called
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    assert (SITE / "index.html").exists(), "there is no site; `make docs` builds it"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Visit:
    """A window on the site, what it logs and whom it asks."""

    def __init__(self, browser: Any, width: int, scheme: str) -> None:
        self.page = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        ).new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    opened = Visit(browser, 1400, "light")
    yield opened
    opened.page.context.close()


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("truncated mean", "generated/estimator/truncated_mean.html"),
        ("six_arms", "generated/env/six_arms.html"),
        ("infinite variance", "need.html"),
        ("make_online", "generated/api/make_online.html"),
    ],
)
def test_search_finds_the_page(visit: Visit, address: str, words: str, page: str) -> None:
    visit.page.goto(f"{address}/index.html")
    visit.page.locator("input[name=q]").first.fill(words)
    visit.page.keyboard.press("Enter")
    visit.page.locator(".search-summary", has_text="found").wait_for()
    links = visit.page.locator("ul.search li a").evaluate_all("all => all.map(each => each.href)")
    assert f"{address}/{page}" in {link.partition("#")[0].partition("?")[0] for link in links}


def test_every_example_of_the_gallery_has_a_picture(visit: Visit, address: str) -> None:
    visit.page.goto(f"{address}/generated/gallery/index.html")
    thumbnails = visit.page.locator(".sphx-glr-thumbcontainer img")
    assert thumbnails.count() == len(list((SITE.parent.parent / "examples").glob("*.py")))
    assert all(thumbnails.evaluate_all("all => all.map(each => each.complete && each.naturalWidth > 0)"))
    assert "no_image" not in visit.page.content()
    visit.page.locator("a", has_text="A router that learns").first.click()
    visit.page.wait_for_selector("img.sphx-glr-single-img")
    assert "ms too many per request" in visit.page.locator(".sphx-glr-script-out").inner_text()


def test_the_three_doors_open(visit: Visit, address: str) -> None:
    for i, page in enumerate(("production.html", "deep.html", "studies.html")):
        visit.page.goto(f"{address}/index.html")
        visit.page.locator(".sd-card").nth(i).click()
        visit.page.wait_for_url(f"{address}/{page}")


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_the_window_log_nothing_and_ask_nobody(
    browser: Any, address: str, screenshots: Path, width: int, scheme: str
) -> None:
    visit = Visit(browser, width, scheme)
    for name in PAGES:
        visit.page.goto(f"{address}/{name}")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width, name
        picture = f"site-{name.removesuffix('.html').replace('/', '-')}-{width}-{scheme}.png"
        visit.page.screenshot(path=screenshots / picture, full_page=True)
    assert visit.messages == []
    assert [url for url in visit.requests if not url.startswith((address, "data:"))] == []
    visit.page.context.close()


def test_the_dark_theme_is_dark(browser: Any, address: str) -> None:
    shades = []
    for scheme in ("light", "dark"):
        visit = Visit(browser, 1400, scheme)
        visit.page.goto(f"{address}/index.html")
        shades.append(visit.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        visit.page.context.close()
    assert shades[0] != shades[1]
