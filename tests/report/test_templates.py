"""All HTML is in templates, which escape whatever they show."""

import re
from pathlib import Path

import heavytail

ROOT = Path(heavytail.__file__).parent
TEMPLATES = ROOT / "report" / "templates"
# This file alone handles markup: that of matplotlib, which escapes the words of figures.
SVG = ROOT / "report" / "figures" / "svg.py"
TAGS = (
    "a|b|body|br|button|caption|code|dd|details|div|dl|dt|em|figcaption|figure|g|h[1-6]|head|html|i|nav|p|path"
    "|pre|script|section|small|span|style|summary|svg|table|tbody|td|th|thead|title|tr"
)
MARKUP = re.compile(
    rf"</?({TAGS})(\s[^<>\n]*)?/?>|<({TAGS})(\s+\w+=|\s*[\"'])|\bescape\(|\bMarkup\(|html import escape"
)


def test_no_html_in_python() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{i}: {line.strip()}"
        for path in sorted(ROOT.rglob("*.py"))
        if path != SVG
        for i, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if MARKUP.search(line)
    ]
    assert found == []


def test_everything_is_escaped() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in TEMPLATES.iterdir()}
    assert texts.keys() == {
        "page.html.j2",
        "sections.html.j2",
        "parts.html.j2",
        "page.css",
        "page.js",
    }
    assert not any(re.search(r"\|\s*safe\b", text) for text in texts.values())
    assert not any("autoescape" in text.replace("autoescape is on", "") for text in texts.values())
