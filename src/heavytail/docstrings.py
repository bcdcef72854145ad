"""Read docstrings: what they say of each parameter in their section ``Args:``."""

import re


def summary(doc: str) -> str:
    r"""Return what a docstring says before its sections and examples.

    >>> summary("Draw a law.\n\nAnd more.\n\nArgs:\n    mean: of the law.")
    'Draw a law.\n\nAnd more.'
    """
    sections = re.compile(r"^(?:Args:|Returns:|Raises:|Attributes:|>>> )", re.MULTILINE)
    return sections.split(doc, maxsplit=1)[0].strip()


def parameter_texts(doc: str) -> dict[str, str]:
    r"""Return what a docstring (as `inspect.getdoc` gives it) says of each parameter, each on one line.

    >>> parameter_texts("Draw.\n\nArgs:\n    mean: of the\n        law.\n    **others: its own.\n")
    {'mean': 'of the law.', 'others': 'its own.'}
    """
    section = re.search(r"^Args:\n((?: .*\n?|\n)*)", doc, re.MULTILINE)
    entries = re.split(r"^ {4}\*{0,2}(\w+):", section.group(1) if section else "", flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, text in zip(entries[::2], entries[1::2], strict=True)}
