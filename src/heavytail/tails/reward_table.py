"""Rewards in a file: one column of a CSV or Parquet file, whole or by the values of other columns."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError, and_more
from heavytail.tables import read_columns

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Table

Label: TypeAlias = tuple[str, ...]  # the values of the columns that rewards are grouped by


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
    table = read_columns(Path(path), [column], by)
    if skip_empty:
        table = _without_empty(table, column)
    rewards = _as_rewards(table[column], f"{path}: column {column!r}")
    labels, codes = _number_groups([table[name] for name in by], len(rewards))
    small = codes.astype(np.min_scalar_type(len(labels)))  # numbers of 16 bits are sorted in linear time
    order = np.argsort(small, kind="stable") if by else slice(None)
    ends = np.cumsum(np.bincount(codes, minlength=len(labels)))
    groups = dict(zip(labels, np.split(rewards[order], ends[:-1]), strict=True))
    return {label: groups[label] for label in sorted(labels, key=_natural)}


def _without_empty(table: "Table", column: str) -> "Table":
    from pyarrow import compute

    return table.filter(compute.invert(table[column].is_null(nan_is_null=True)))


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
        values, encoded = _encode(column)
        pairs = pa.array(codes * len(values) + encoded).dictionary_encode()
        found = pairs.dictionary.to_numpy()
        labels = [(*labels[pair // len(values)], values[pair % len(values)]) for pair in found.tolist()]
        codes = pairs.indices.to_numpy().astype(np.int64)
    return labels, codes


def _encode(column: "ChunkedArray") -> tuple[list[str], Ints]:
    """Return the distinct values of a column as text, and the index of each row's."""
    from pyarrow import types

    if types.is_dictionary(column.type):  # whose values may be long texts: they are not repeated
        encoded = column.unify_dictionaries().combine_chunks()
    else:
        encoded = column.combine_chunks().dictionary_encode()
    words = ["" if value is None else str(value) for value in encoded.dictionary.to_pylist()] + [""]
    codes = encoded.indices.fill_null(len(words) - 1).to_numpy()  # what is missing is an empty text
    numbers = {word: i for i, word in enumerate(dict.fromkeys(words))}
    return list(numbers), np.array([numbers[word] for word in words])[codes]


def _natural(label: Label) -> list[tuple[float, str]]:
    """Sort numbers by their value, before words."""
    return [_number_first(value) for value in label]


def _number_first(value: str) -> tuple[float, str]:
    try:
        return float(value), value
    except ValueError:
        return np.inf, value
