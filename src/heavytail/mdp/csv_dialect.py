"""The dialect of a CSV file, told from how it begins: spreadsheets of many countries write 1,5;2,5."""

import re
from pathlib import Path
from typing import NamedTuple

from heavytail.errors import InputError, short_repr

DELIMITERS = (",", ";", "\t")
SAMPLE_BYTES = 1 << 16
QUOTED = re.compile('"[^"]*"')
NUMBERS = r"[\d\s.,;eE+-]*\d[\d\s.,;eE+-]*"
NUMBER = r"\s*[+-]?\d+{}\d+(?:[eE][+-]?\d+)?\s*"


class Dialect(NamedTuple):
    """How the fields of a CSV file are told apart, and what stands before decimals."""

    delimiter: str = ","
    decimal: str = "."


def find_dialect(file: Path) -> Dialect:
    """Tell the dialect of a file by its header and its first rows.

    The delimiter is the one that the header has most of; where it is no comma, a comma may stand before
    decimals.
    """
    with file.open("rb") as opened:
        sample = opened.read(SAMPLE_BYTES)
    whole = sample if len(sample) < SAMPLE_BYTES else sample[: sample.rfind(b"\n") + 1]
    try:
        lines = whole.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{file} is not text in UTF-8; save it as CSV in UTF-8") from None
    header = QUOTED.sub("", lines[0]) if lines else ""
    if re.fullmatch(NUMBERS, header):
        raise InputError(
            f"{file} begins with {short_repr(header)}; it must begin with the names of its columns"
        )
    delimiter = max(DELIMITERS, key=header.count)
    if delimiter not in header:  # a single column, in which a comma stands for decimals or is an error
        delimiter = ";"
    return Dialect(delimiter, "." if delimiter == "," else _find_decimal(lines[1:], delimiter))


def _find_decimal(rows: list[str], delimiter: str) -> str:
    fields = [field.strip('"') for row in rows for field in row.split(delimiter)]
    with_comma, with_point = (
        any(re.fullmatch(NUMBER.format(mark), field) for field in fields) for mark in (",", r"\.")
    )
    return "," if with_comma and not with_point else "."
