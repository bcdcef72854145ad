"""The rows of a log as arrays: labels of any kind become numbers, millions of rows at a time."""

import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Bools, Floats, Ints
from heavytail.errors import InputError, and_more, one_line, short_repr
from heavytail.tables import read_columns, require_columns

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = str | Sequence[str]


class LogColumns(NamedTuple):
    """The columns of a log, by their meaning."""

    state: Column
    action: Column
    reward: str
    next_state: Column | None = None  # each row is an episode of one step
    terminated: str | None = None
    episode: str | None = None

    def names(self) -> list[str]:
        """All named columns, in order."""
        return [name for column in self for name in _as_names(column)]


class LogRows(NamedTuple):
    """The rows of a log, states and actions counted from 0 in the order of their labels."""

    s: Ints
    a: Ints
    r: Floats
    s_next: Ints
    ended: Bools
    begins: Bools  # whether an episode begins with this row
    states: tuple[Hashable, ...]  # labels
    actions: tuple[Hashable, ...]


def read_log(source: Any, columns: LogColumns) -> LogRows:
    """Read a log from a table or a file."""
    _check_columns(columns)
    frame = _to_pandas(source, columns)
    require_columns("the log", columns.names(), [str(name) for name in frame.columns])
    if not len(frame):
        raise InputError("the log has no rows; it needs at least one transition")
    here = _as_names(columns.state)
    there = _as_names(columns.next_state) or here
    codes, states = _encode_pairs(frame, here, there)
    s, s_next = np.split(codes, 2)
    a, actions = _combine([_encode(frame, name) for name in _as_names(columns.action)])
    r = _rewards(frame[columns.reward])
    ended = _flags(frame, columns.terminated) | (columns.next_state is None)
    begins = _begins(frame, columns.episode, s, s_next, ended)
    return LogRows(s, a, r, s_next, ended, begins, states, actions)


def _as_names(column: Any) -> tuple[str, ...]:
    if column is None:
        return ()
    return (column,) if isinstance(column, str) else tuple(column)


def _check_columns(columns: LogColumns) -> None:
    for what, column in columns._asdict().items():
        several = what in ("state", "action", "next_state")
        optional = what in ("next_state", "terminated", "episode") and column is None
        names = column if several and isinstance(column, list | tuple) else [column]
        if not optional and not (names and all(isinstance(name, str) for name in names)):
            words = "the name of a column" + (", or a list of names" if several else "")
            raise InputError(f"{what} is {short_repr(column)}; it must be {words}")
    if columns.next_state is None:
        if extra := [name for name in ("terminated", "episode") if getattr(columns, name) is not None]:
            raise InputError(
                f"{extra[0]} is given and next_state is not; without it each row is an episode of one step"
            )
    elif len(_as_names(columns.state)) != len(_as_names(columns.next_state)):
        raise InputError(
            f"state is {short_repr(columns.state)} and next_state {short_repr(columns.next_state)}; they must"
            " have as many columns as each other"
        )


# Tables


def _to_pandas(source: Any, columns: LogColumns) -> "pd.DataFrame":
    import pandas as pd  # here, because it takes a third of a second

    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, str | os.PathLike):
        labels = [name for name in columns.names() if name != columns.reward]
        return read_columns(Path(source), [columns.reward], labels, guess_types=True).to_pandas()
    if hasattr(source, "to_pandas"):  # of pyarrow and of polars
        return source.to_pandas()
    if isinstance(source, Mapping):
        try:
            return pd.DataFrame(dict(source))
        except ValueError as error:
            raise InputError(f"the log is not a table: {one_line(error)}") from None
    raise InputError(
        f"the log is a {type(source).__name__}; it must be a DataFrame, a table of pyarrow, a dictionary of"
        " columns, or the path of a Parquet or CSV file"
    )


# Labels to numbers


def _encode_pairs(
    frame: "pd.DataFrame", here: Sequence[str], there: Sequence[str]
) -> tuple[Ints, tuple[Hashable, ...]]:
    """Number the states of two sets of columns, stacked."""
    return _combine([_encode(frame, *pair) for pair in zip(here, there, strict=True)])


def _encode(frame: "pd.DataFrame", *names: str) -> tuple[Ints, list[Hashable]]:
    """Number the values of stacked columns: by rank, or by first appearance if they cannot be ranked."""
    import pandas as pd
    from pandas.api.types import infer_dtype, is_numeric_dtype

    column = " and ".join(map(repr, dict.fromkeys(names)))
    try:
        codes, labels = zip(*(_factorize(frame[name]) for name in names), strict=True)
        if len({is_numeric_dtype(values) for values in labels}) > 1:
            kinds = " and ".join(str(values.dtype) for values in labels)
            raise InputError(
                f"the columns {column} of the log hold {kinds}; states must have the same type in both"
            )
        pooled = pd.Index(labels[0]).append(list(labels[1:]))
        if infer_dtype(pooled) == "mixed-integer":
            raise InputError(f"the column {column} of the log mixes numbers and text; use only one of them")
        try:
            ranks, ranked = pd.factorize(pooled, sort=True)
        except TypeError:  # labels without an order
            ranks, ranked = pd.factorize(pooled)
    except TypeError as error:
        raise InputError(
            f"the column {column} of the log holds what cannot be a label ({error}); a label is a number, a"
            " text or a tuple of them, or several columns"
        ) from None
    if (missing := np.flatnonzero(np.concatenate(codes) < 0)).size:
        rows = np.unique(missing % len(frame))
        raise InputError(
            f"the column {column} of the log has no value in row {rows[0]}{and_more(len(rows) - 1)}; every"
            " row needs one: leave such rows out, or fill them"
        )
    first = np.cumsum([0, *map(len, labels)])
    ranked_codes = [ranks[start + code] for start, code in zip(first[:-1], codes, strict=True)]
    return np.concatenate(ranked_codes).astype(np.int64), ranked.tolist()


def _factorize(values: "pd.Series[Any]") -> "tuple[Ints, pd.Index[Any]]":
    """Number the values of a column in order of appearance, without copying the texts of categories."""
    import pandas as pd

    if isinstance(values.dtype, pd.CategoricalDtype):
        used = values.cat.remove_unused_categories().cat
        return used.codes.to_numpy(), used.categories
    codes, labels = pd.factorize(values)
    return codes, pd.Index(labels)


def _combine(columns: Sequence[tuple[Ints, list[Hashable]]]) -> tuple[Ints, tuple[Hashable, ...]]:
    """Number the combinations of values of several columns; for a single column, its values."""
    import pandas as pd

    codes, labels = columns[0]
    if len(columns) == 1:
        return codes, tuple(labels)
    tuples: list[tuple[Hashable, ...]] = [(label,) for label in labels]
    for more, values in columns[1:]:
        codes, pairs = pd.factorize(codes * len(values) + more, sort=True)
        first, last = np.divmod(pairs, len(values))
        tuples = [(*tuples[i], values[k]) for i, k in zip(first, last, strict=True)]
    return codes.astype(np.int64), tuple(tuples)


# Numbers and flags


def _rewards(values: "pd.Series[Any]") -> Floats:
    from pandas.api.types import is_numeric_dtype

    if not is_numeric_dtype(values):
        row = int(np.argmax([isinstance(value, str) for value in values]))
        found = f"{values.dtype}, such as {short_repr(values.iloc[row])}"
        raise InputError(f"the column {values.name!r} of the log holds {found}; rewards are numbers")
    rewards = values.to_numpy(np.float64, na_value=np.nan)
    if (wrong := np.flatnonzero(~np.isfinite(rewards))).size:
        rows = f"row {wrong[0]}{and_more(len(wrong) - 1)}"
        raise InputError(
            f"the reward in {rows} of the log is {rewards[wrong[0]]}; every reward must be a finite number:"
            " leave such rows out"
        )
    return rewards


def _flags(frame: "pd.DataFrame", name: str | None) -> Bools:
    if name is None:
        return np.zeros(len(frame), np.bool_)
    values = frame[name]
    if not values.isin([0, 1]).all():
        row = int(np.flatnonzero(~values.isin([0, 1]))[0])
        raise InputError(
            f"the column {name!r} of the log is {short_repr(values.iloc[row])} in row {row}; it must be true"
            " or false"
        )
    return values.to_numpy(np.bool_)


def _begins(frame: "pd.DataFrame", episode: str | None, s: Ints, s_next: Ints, ended: Bools) -> Bools:
    """Find the rows with which episodes begin."""
    if episode is None:
        return np.concatenate([[True], ended[:-1] | (s[1:] != s_next[:-1])])
    codes, _ = _encode(frame, episode)
    begins = np.zeros(len(frame), np.bool_)
    begins[np.unique(codes, return_index=True)[1]] = True
    return begins
