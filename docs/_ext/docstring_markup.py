"""Docstrings as reStructuredText.

heavytail's are plain text: names in backticks, formulas and tables indented, bars for absolute values. Here
formulas become literal blocks, and what reStructuredText would take for markup is escaped; Sphinx's
napoleon then does the sections.
"""

import re
from typing import Any

SECTION = re.compile(r"[A-Z]\w*:(?=\n|$)")
LIST_ITEM = re.compile(r"^( *)(?:[-*]|\d+\.) ", re.MULTILINE)
CODE = r"``.+?``"
NAME = r"`([^`]+)`"
EMPHASIS = r"(?<![\w*])\*{1,2}\w[^*\n]*\*{1,2}(?![\w*])"
BULLET = r"^ *\* "
MARKUP = r"[*|\\]|(?<=\w)_(?!\w)"
INLINE = re.compile(f"({CODE}|{EMPHASIS}|{BULLET})|{NAME}|({MARKUP})", re.MULTILINE | re.DOTALL)


def to_rst(doc: str) -> str:
    r"""Write a docstring, as `inspect.getdoc` gives it, as reStructuredText.

    >>> print(to_rst("The mean of `x`, at most |x|:\n\n    m = sum(x) / n,\n\nwith n its length."))
    The mean of ``x``, at most \|x\|:
    <BLANKLINE>
    ::
    <BLANKLINE>
        m = sum(x) / n,
    <BLANKLINE>
    with n its length.
    """
    written: list[str] = []
    text = 0  # where text is indented to; four more is a formula
    for block in re.split(r"\n\s*\n", doc.strip("\n")):
        indent = len(block) - len(block.lstrip())
        if indent >= text + 4:
            written.append(f"{' ' * text}::\n\n{block}")
            continue
        text = _text_after(block, indent)
        written.append(block if block.lstrip().startswith(">>>") else escape(block))
    return "\n\n".join(written)


def escape(text: str) -> str:
    r"""Escape what would be markup, and write names as code.

    >>> escape("*Not* |r| < b_, of `x`")
    '*Not* \\|r\\| < b\\_, of ``x``'
    """

    def replace(match: re.Match[str]) -> str:
        kept, name, markup = match.groups()
        return kept or (f"``{name}``" if name else f"\\{markup}")

    return INLINE.sub(replace, text)


def _text_after(block: str, indent: int) -> int:
    """Say where text is indented to after a block: in a section, or in the last item of a list."""
    if SECTION.match(block):
        return 4
    items = LIST_ITEM.findall(block)
    return len(items[-1]) + 2 if items else indent


def process_docstring(_app: Any, what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place, as autodoc wants it."""
    first = [""] if what in {"attribute", "property"} else []  # else napoleon looks there for "TYPE: text"
    lines[:] = [*first, *to_rst("\n".join(lines)).split("\n"), ""]


def setup(app: Any) -> dict[str, bool]:
    """Let autodoc rewrite docstrings, before napoleon sees them."""
    app.connect("autodoc-process-docstring", process_docstring, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
