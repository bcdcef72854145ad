"""One self-contained page: style, figures and plotly.js inside it, nothing fetched from anywhere."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from heavytail.report.figures.curves import FigureSpec
from heavytail.report.theme import style_sheet


def paragraphs(words: str) -> str:
    """Plain text as paragraphs; a blank line ends one."""
    return "".join(
        f"<p>{escape(' '.join(part.split()))}</p>\n" for part in words.split("\n\n") if part.strip()
    )


def section(name: str, title: str, body: str) -> str:
    """A part of the page under its heading."""
    return f'<section id="{escape(name)}"><h2>{escape(title)}</h2>\n{body}</section>\n'


def tiles(numbers: Mapping[str, str]) -> str:
    """A few numbers, large."""
    return (
        "<div"
        f' class="tiles">{"".join(f"<div><b>{escape(v)}</b><span>{escape(k)}</span></div>" for k, v in numbers.items())}</div>\n'
    )


def definitions(pairs: Mapping[str, str]) -> str:
    """Words and what they stand for."""
    return f"<dl>{''.join(f'<dt>{escape(k)}</dt><dd>{escape(v)}</dd>' for k, v in pairs.items())}</dl>\n"


def figure_id(env: str, name: str) -> str:
    """Where a figure of an environment is found in the page.

    >>> figure_id("six_arms", "regret")
    'six_arms--regret'
    """
    return f"{env}--{name}"


def figure(env: str, shown: FigureSpec, picture: str = "") -> str:
    """A place for a figure; the script draws it.

    Args:
        env: the place of its environment.
        shown: the figure.
        picture: a file with the same for paper, beside the page.
    """
    name = escape(figure_id(env, shown.name))
    link = f' <a href="{escape(picture)}">SVG</a>' if picture else ""
    return (
        f'<figure id="{name}"{" class=wide" if shown.wide else ""}><h3>{escape(shown.title)}</h3>'
        f'<div class="plot" id="plot-{name}" style="height:{shown.height}px"></div>'
        f"<figcaption>{escape(shown.caption)}{link}</figcaption></figure>\n"
    )


def page(
    title: str,
    links: Sequence[Sequence[tuple[str, str]]],
    body: str,
    figures: Mapping[str, Sequence[FigureSpec]],
) -> str:
    """The whole page.

    Args:
        title: in plain text.
        links: id and name of what the top of the page links to, line by line.
        body: everything below, as HTML.
        figures: by the place of their environment; each has its own in the body, made by `figure`.
    """
    from plotly.offline import get_plotlyjs

    data: dict[str, Any] = {
        f"plot-{figure_id(env, shown.name)}": {"env": env, "traces": shown.traces, "layout": shown.layout}
        for env, every in figures.items()
        for shown in every
    }
    lines = (
        "".join(f'<a href="#{escape(name)}">{escape(words)}</a>' for name, words in line) for line in links
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style_sheet()}{_resource('page.css')}</style>\n</head>\n<body>\n"
        f'<div class="top"><nav>{"".join(f"<div>{line}</div>" for line in lines)}</nav><button type="button" id="theme">dark</button></div>\n'
        f"{body}"
        f'<script type="application/json" id="figures">{as_json(data)}</script>\n'
        f"<script>{get_plotlyjs()}</script>\n<script>\n{_resource('page.js')}</script>\n</body>\n</html>\n"
    )


def as_json(value: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _resource(name: str) -> str:
    return files("heavytail.report").joinpath(name).read_text(encoding="utf-8")
