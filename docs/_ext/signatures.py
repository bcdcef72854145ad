"""Signatures to read: aliases by their names, and fields of records by their comments."""

import inspect
import re
from pydoc import locate
from typing import Any, cast

from numpy.typing import ArrayLike

from heavytail import arrays, checks

FIELD = re.compile(r"^    (\w+): [^#\n]*#\s*(.+)$", re.MULTILINE)


def aliases() -> dict[str, str]:
    """Name the types of `heavytail.checks` and `heavytail.arrays`, by how Sphinx writes them."""
    from sphinx.util.typing import stringify_annotation

    named = {name: value for module in (arrays, checks) for name, value in vars(module).items()}
    types = {
        name: value
        for name, value in named.items()
        if name[0].isupper() and ("Annotated[" in str(value) or "ndarray[" in str(value))
    }
    types["ArrayLike"] = ArrayLike
    return {stringify_annotation(value, "smart"): name for name, value in types.items()}


def shorten(signature: str, names: dict[str, str]) -> str:
    """Write aliases by their names, the longest first.

    >>> shorten("(x: Annotated[float, Gt(gt=0)])", {"Annotated[float, Gt(gt=0)]": "Positive"})
    '(x: Positive)'
    """
    for written in sorted(names, key=len, reverse=True):
        signature = signature.replace(written, names[written])
    return signature


def field_comments(record: type) -> dict[str, str]:
    """Return what the source of a record says beside each of its fields."""
    return dict(FIELD.findall(inspect.getsource(record)))


def process_signature(
    _app: Any, _what: str, _name: str, _thing: Any, _options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Shorten a signature and what it returns, as autodoc wants it."""
    names = aliases()
    return signature and shorten(signature, names), returned and shorten(returned, names)


def describe_field(_app: Any, _what: str, name: str, thing: Any, _options: Any, lines: list[str]) -> None:
    """Say of a NamedTuple's field what its comment says, instead of its number."""
    if lines and lines[0].startswith("Alias for field number"):
        owner, _, field = name.rpartition(".")
        lines[:] = [field_comments(cast("type", locate(owner))).get(field, ""), ""]


def setup(app: Any) -> dict[str, bool]:
    """Let autodoc shorten signatures and describe fields."""
    app.connect("autodoc-process-signature", process_signature)
    app.connect("autodoc-process-docstring", describe_field, priority=50)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
