"""Rewards in a file: one column of a CSV or Parquet file, whole or by the values of other columns."""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.checks import require_columns, require_memory
from heavytail.errors import InputError, and_more, one_line, short_repr
from heavytail.files import PARQUET
from heavytail.mdp.csv_dialect import find_dialect

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Table

Label: TypeAlias = tuple[str, ...]  # the values of the columns that rewards are grouped by
COPIES = 4  # of what is read, while it is put in order


def read_rewards(
    path: str | os.PathLike[str], column: str = "reward", by: Sequence[str] = (), *, skip_empty: bool = False
) -> dict[Label, Floats]:
    """Read rewards from a CSV or Parquet file, in the order of its rows.

    Args:
        path: the file.
        column: which of its columns holds the rewards.
        by: columns whose values tell groups of rewards apart, such as state and action.
        skip_empty: leave rows without a reward out, such as the first of a table of returns.

    Returns:
        The rewards of each group under the values of `by`, in their order; of all rows under ``()`` if there
        is none.

    Raises:
        InputError: the file cannot be read, has no such column, or a reward is not a finite number.
    """
    file = Path(path)
    with _one_line_errors(file):
        read = _read_parquet if _is_parquet(file) else _read_csv
        table = read(file, column, tuple(by))
        if skip_empty:
            table = _without_empty(table, column)
        rewards = _as_rewards(table[column], f"{file}: column {column!r}")
        labels, codes = _number_groups([table[name] for name in by], len(rewards))
    small = codes.astype(np.min_scalar_type(len(labels)))  # numbers of 16 bits are sorted in linear time
    order = np.argsort(small, kind="stable") if by else slice(None)
    ends = np.cumsum(np.bincount(codes, minlength=len(labels)))
    groups = dict(zip(labels, np.split(rewards[order], ends[:-1]), strict=True))
    return {label: groups[label] for label in sorted(labels, key=_natural)}


@contextmanager
def _one_line_errors(file: Path) -> Iterator[None]:
    from pyarrow import ArrowException  # here, because importing it takes a while

    try:
        yield
    except IsADirectoryError:
        raise InputError(f"{file} is a folder; name one CSV or Parquet file in it") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or one_line(error)}") from None
    except (ArrowException, UnicodeDecodeError) as error:
        raise InputError(
            f"{file} is no table as CSV or Parquet, or a damaged one: {one_line(error)}"
        ) from None


# Reading the columns that are asked for, and no others


def _without_empty(table: "Table", column: str) -> "Table":
    from pyarrow import compute

    return table.filter(compute.invert(table[column].is_null(nan_is_null=True)))


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        start = opened.read(len(PARQUET))
    if not start:
        raise InputError(f"{file} is empty; it must be a table as CSV or Parquet")
    return start == PARQUET


def _read_parquet(file: Path, column: str, by: Label) -> "Table":
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        require_columns(f"{file}", (column, *by), opened.schema_arrow.names)
        rows = opened.metadata.num_rows
        require_memory(f"{file}: {rows:,} rows", 8.0 * COPIES * rows * (1 + len(by)))
        return opened.read(columns=_unique((column, *by)))


def _read_csv(file: Path, column: str, by: Label) -> "Table":
    from pyarrow import ArrowInvalid, csv, float64, string

    require_memory(f"{file}", file.stat().st_size)
    dialect = find_dialect(file)
    parsing = csv.ParseOptions(delimiter=dialect.delimiter)
    with csv.open_csv(file, parse_options=parsing) as opened:
        require_columns(f"{file}", (column, *by), opened.schema.names)

    def read(reward_type: Any) -> "Table":
        types = {**dict.fromkeys(by, string()), column: reward_type}
        options = csv.ConvertOptions(
            include_columns=_unique((column, *by)), column_types=types, decimal_point=dialect.decimal
        )
        return csv.read_csv(file, parse_options=parsing, convert_options=options)

    try:
        return read(float64())
    except ArrowInvalid:  # which says of a word neither its row nor the name of its column
        words = read(string())[column].to_pylist()
        _check_words(words, dialect.decimal, f"{file}: column {column!r}")
        raise


def _check_words(words: Iterable[str | None], decimal: str, where: str) -> None:
    for i, word in enumerate(words):
        try:
            float((word or "0").replace(decimal, "."))
        except ValueError:
            raise InputError(f"{where} is {short_repr(word)} in row {i + 1}; it must be numbers") from None


def _unique(names: Label) -> list[str]:
    return list(dict.fromkeys(names))


# Columns as arrays


def _as_rewards(column: "ChunkedArray", where: str) -> Floats:
    from pyarrow import float64, types

    kind = column.type
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    if not any(is_kind(kind) for is_kind in numbers):
        raise InputError(f"{where} holds values of type {kind}; it must be numbers")
    if not len(column):
        raise InputError(f"{where} has no rows")
    rewards: Floats = (column.cast("int8") if types.is_boolean(kind) else column).cast(float64()).to_numpy()
    if (wrong := np.flatnonzero(~np.isfinite(rewards))).size:
        row = int(wrong[0])
        found = "empty" if column[row].as_py() is None else rewards[row]
        rows = f"row {row + 1}{and_more(len(wrong) - 1)}"
        how = "" if math.isinf(rewards[row]) else ", as --skip-empty does"
        raise InputError(
            f"{where} is {found} in {rows}; every reward must be a finite number: leave such rows out{how}"
        )
    return rewards


def _number_groups(columns: Sequence["ChunkedArray"], n: int) -> tuple[list[Label], Ints]:
    """Number the combinations of values that occur, and say which each row has."""
    import pyarrow as pa

    labels: list[Label] = [()]
    codes = np.zeros(n, np.int64)
    for column in columns:
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        encoded = plain.combine_chunks().dictionary_encode("encode")
        values = ["" if value is None else str(value) for value in encoded.dictionary.to_pylist()]
        pairs = pa.array(codes * len(values) + encoded.indices.to_numpy()).dictionary_encode()
        found = pairs.dictionary.to_numpy()
        labels = [(*labels[pair // len(values)], values[pair % len(values)]) for pair in found.tolist()]
        codes = pairs.indices.to_numpy().astype(np.int64)
    return labels, codes


def _natural(label: Label) -> list[tuple[float, str]]:
    """Sort numbers by their value, before words."""
    return [_number_first(value) for value in label]


def _number_first(value: str) -> tuple[float, str]:
    try:
        return float(value), value
    except ValueError:
        return np.inf, value
