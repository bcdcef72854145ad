"""Docstrings become reStructuredText: formulas stay as they are, and nothing is taken for markup."""

import pytest

import heavytail as ht
from docstring_markup import escape, to_rst


def test_a_formula_inside_a_list_is_literal_and_the_list_goes_on() -> None:
    doc = "Parts:\n\n- one:\n\n      m = |x|,\n\n  with x.\n- two"
    assert to_rst(doc) == "Parts:\n\n- one:\n\n  ::\n\n      m = |x|,\n\n  with x.\n- two"


def test_paragraphs_of_a_section_are_text_and_what_is_deeper_is_a_formula() -> None:
    doc = "Draw.\n\nSource:\n    A book of `x`.\n\n    Its page.\n\n        a | b\n\nArgs:\n    p: a |b|."
    assert to_rst(doc) == (
        "Draw.\n\nSource:\n    A book of ``x``.\n\n    Its page.\n\n    ::\n\n        a | b"
        "\n\nArgs:\n    p: a \\|b\\|."
    )


def test_doctests_are_left_alone() -> None:
    assert to_rst("Say.\n\n>>> 2**3 | 1\n9") == "Say.\n\n>>> 2**3 | 1\n9"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("``a|b`` and `c*d`", "``a|b`` and ``c*d``"),
        ("**Counts** and *rates*", "**Counts** and *rates*"),
        ("2**size, **others", r"2\*\*size, \*\*others"),
        ("columns sweep_, a_b", r"columns sweep\_, a_b"),
        ("* a bullet", "* a bullet"),
    ],
)
def test_escaping(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_bars_of_a_real_docstring_are_escaped() -> None:
    assert r"E\|r\|" in to_rst(ht.describe("heavy_q_learning").parameters[1].text)
